// Calls to a wallet (EIP-1193). Large integers of the typed data are sent as strings, because wallets parse the JSON
// with a parser that would round numbers.
import type { TypedData } from '#api/contract/wire/fx.ts'
import type { Provider } from './announced-wallets.ts'

/** The address of the account that the user selects in the wallet. */
export async function requestAccount(wallet: Provider): Promise<string> {
  const accounts = await callWallet(wallet, 'eth_requestAccounts')
  const account: unknown = Array.isArray(accounts) ? accounts[0] : undefined
  if (typeof account !== 'string') throw new Error('The wallet returned no account. Unlock it and select an account.')
  return account
}

export async function signInWallet(wallet: Provider, typedData: TypedData) {
  const signer = await requestAccount(wallet)
  await switchChain(wallet, typedData.domain.chainId)
  const signature = await callWallet(wallet, 'eth_signTypedData_v4', [signer, walletText(typedData)])
  if (typeof signature !== 'string') throw new Error('The wallet returned no signature. Try again.')
  return { signature, signer }
}

/** Wallets sign only for the chain they are connected to. */
async function switchChain(wallet: Provider, chainId: number): Promise<void> {
  const current = Number((await callWallet(wallet, 'eth_chainId')) as string)
  if (current === chainId) return
  await callWallet(wallet, 'wallet_switchEthereumChain', [{ chainId: `0x${chainId.toString(16)}` }])
}

export function walletText(typedData: TypedData): string {
  return JSON.stringify(typedData, (_name, value: unknown) =>
    typeof value === 'bigint' || (typeof value === 'number' && value > 0xffff_ffff) ? String(value) : value,
  )
}

async function callWallet(wallet: Provider, method: string, params: readonly unknown[] = []): Promise<unknown> {
  try {
    return await wallet.request({ method, params })
  } catch (error) {
    const { code, message } = error as { code?: number; message?: string }
    if (code === 4001) throw new Error('You rejected the request in the wallet.')
    throw new Error(`The wallet failed to run ${method}: ${message ?? String(error)}`)
  }
}
