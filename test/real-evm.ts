// A real EVM with JSON-RPC over HTTP: hardhat's native node. Tests that need it are skipped if its native package is
// missing.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createWalletClient, custom, defineChain, type Hex } from 'viem'
import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'

export const evmChainId = '31337'

const phrase = 'test test test test test test test test test test test junk'
const chainOf = (id: number) =>
  defineChain({
    id,
    name: 'Real EVM',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [] } },
  })

interface Provider {
  request(args: { method: string; params?: unknown }): Promise<unknown>
}

export type RealEvm = Awaited<ReturnType<typeof openEvm>>

/** Why it is not available, or undefined. */
export async function evmMissing(): Promise<string | undefined> {
  try {
    await import('@nomicfoundation/edr')
    return undefined
  } catch (error) {
    return `no native EVM on this machine: ${(error as Error).message.split('\n')[0]}`
  }
}

/** Mines only on request. The first ten accounts of the test phrase have a balance at genesis. */
export async function openEvm(chainId = Number(evmChainId), hardfork: 'prague' | 'amsterdam' = 'prague') {
  const chain = chainOf(chainId)
  const { createHardhatRuntimeEnvironment } = await import('hardhat/hre')
  const settings = { type: 'edr-simulated', chainType: 'l1', hardfork, chainId: chain.id }
  const mining = { auto: false, interval: 0 }
  const hre = await createHardhatRuntimeEnvironment({ networks: { real: { ...settings, mining } } } as never)
  const connection = await hre.network.connect({ network: 'real' } as never)
  const provider = connection.provider as unknown as Provider
  const request = <T>(method: string, ...params: unknown[]) => provider.request({ method, params }) as Promise<T>
  const server = createServer((incoming, response) => {
    // For example the HEAD request that `tetrad doctor` reads the time from.
    if (incoming.method !== 'POST') return void response.writeHead(405).end()
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', async () => {
      const body = JSON.parse(Buffer.concat(chunks).toString())
      for (const { method, params = [] } of [body].flat()) evm.onCall(method, params)
      const replies = Array.isArray(body) ? await Promise.all(body.map(reply)) : await reply(body)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(replies))
    })
  })
  async function reply({ id, method, params = [] }: { id: number; method: string; params?: unknown[] }) {
    try {
      return { jsonrpc: '2.0', id, result: await request(method, ...params) }
    } catch (error) {
      const { code = -32603, message } = error as { code?: number; message: string }
      return { jsonrpc: '2.0', id, error: { code, message } }
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const transport = custom(provider as never)
  const rich = [0, 1, 2].map((addressIndex) => {
    const account = mnemonicToAccount(phrase, { addressIndex })
    return createWalletClient({ account, chain, transport })
  })
  const evm = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    /** Is told what the node is called with over HTTP. */
    onCall: (_method: string, _params: readonly unknown[]): void => {},
    request,
    rich: rich as [(typeof rich)[number], (typeof rich)[number], (typeof rich)[number]],
    wallet: (key: Hex) => createWalletClient({ account: privateKeyToAccount(key), chain, transport }),
    /** One by one: the node keeps no state of blocks that are mined together. */
    async mine(blocks = 1) {
      for (let at = 0; at < blocks; at++) await request('evm_mine')
    },
    blockNumber: async () => Number(await request<string>('eth_blockNumber')),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await connection.close()
    },
  }
  return evm
}

/** Compiles a Solidity source and returns its contracts by name. */
export async function compile(source: string): Promise<Record<string, { abi: readonly unknown[]; bytecode: Hex }>> {
  const { default: solc } = (await import('solc' as string)) as { default: { compile(input: string): string } }
  const input = {
    language: 'Solidity',
    sources: { 'source.sol': { content: source } },
    settings: { evmVersion: 'prague', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as {
    errors?: { severity: string; formattedMessage: string }[]
    contracts: Record<string, Record<string, { abi: readonly unknown[]; evm: { bytecode: { object: string } } }>>
  }
  const failure = output.errors?.find(({ severity }) => severity === 'error')
  if (failure) throw new Error(failure.formattedMessage)
  return Object.fromEntries(
    Object.entries(output.contracts['source.sol'] ?? {}).map(([name, { abi, evm }]) => [
      name,
      { abi, bytecode: `0x${evm.bytecode.object}` as Hex },
    ]),
  )
}
