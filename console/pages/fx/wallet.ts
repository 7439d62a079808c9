// The browser's wallet, by EIP-1193. Typed data goes as JSON text whose large integers are strings of digits: wallets
// read them with a parser that would round bare ones.
import type { TypedData } from '#api/wire/fx.ts'

interface Provider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

const provider = (): Provider | undefined => (window as { ethereum?: Provider }).ethereum

export const hasWallet = (): boolean => provider() !== undefined

/** The account the visitor lets us see. */
export async function accountOf(): Promise<string> {
  const wallet = provider()
  if (!wallet) throw new Error('This browser has no wallet; sign elsewhere and paste the signature.')
  const accounts = (await callWallet(wallet, 'eth_requestAccounts')) as readonly string[]
  const [account] = accounts
  if (account === undefined) throw new Error('The wallet shows no account.')
  return account
}

export interface Signed {
  readonly signature: string
  readonly signer: string
}

export async function signInWallet(typedData: TypedData): Promise<Signed> {
  const signer = await accountOf()
  const wallet = provider() as Provider
  await onChain(wallet, typedData.domain.chainId)
  const signature = await callWallet(wallet, 'eth_signTypedData_v4', [signer, walletText(typedData)])
  if (typeof signature !== 'string') throw new Error('The wallet gave no signature.')
  return { signature, signer }
}

/** Wallets refuse to sign for a chain they are not on. */
async function onChain(wallet: Provider, chainId: number): Promise<void> {
  const present = Number((await callWallet(wallet, 'eth_chainId')) as string)
  if (present === chainId) return
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
    if (code === 4001) throw new Error('You refused it in the wallet.')
    throw new Error(`The wallet failed at ${method}: ${message ?? String(error)}`)
  }
}
