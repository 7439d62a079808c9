// Prepares Hardhat's node for docs/fx.md: Permit2 at its usual address, two test tokens, and the settlement contract, which
// only the first account of Hardhat may call. The second account is the taker: it gets tokens, and lets Permit2 take them.
// Prints settings for tetrad.yaml. The chain must not have the id 31337: the code of Permit2 has another domain there.
//   node deploy.ts [http://127.0.0.1:8545]
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import solc from 'solc'
import { type Abi, createTestClient, type Hex, http, publicActions, walletActions } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'

const [, , url = 'http://127.0.0.1:8545'] = process.argv
const phrase = 'test test test test test test test test test test test junk'
const operator = mnemonicToAccount(phrase)
const taker = mnemonicToAccount(phrase, { addressIndex: 1 })
const permit2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const plenty = 10n ** 15n

const chain = createTestClient({ mode: 'hardhat', transport: http(url) })
  .extend(publicActions)
  .extend(walletActions)

function compile(name: string): { readonly abi: Abi; readonly bytecode: Hex } {
  const input = {
    language: 'Solidity',
    sources: { [name]: { content: readFileSync(`${import.meta.dirname}/${name}.sol`, 'utf8') } },
    settings: { evmVersion: 'cancun', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
  }
  const { contracts } = JSON.parse(solc.compile(JSON.stringify(input)))
  const { abi, evm } = contracts[name][name]
  return { abi, bytecode: `0x${evm.bytecode.object}` }
}

async function deploy(name: string, args: readonly unknown[]): Promise<{ readonly abi: Abi; readonly address: Hex }> {
  const { abi, bytecode } = compile(name)
  const hash = await chain.deployContract({ abi, bytecode, args, account: operator, chain: null })
  const { contractAddress } = await chain.waitForTransactionReceipt({ hash })
  if (!contractAddress) throw new Error(`${name} was not deployed`)
  return { abi, address: contractAddress }
}

/** The code of Permit2 is in a package of its authors. */
const source = createRequire(import.meta.url).resolve('@uniswap/v4-periphery/lib/permit2/test/utils/DeployPermit2.sol')
const [, code = ''] = /hex"([0-9a-f]+)"/.exec(readFileSync(source, 'utf8')) ?? []
await chain.setCode({ address: permit2, bytecode: `0x${code}` })

const settlement = await deploy('Settlement', [permit2, operator.address, [operator.address]])
const lines: string[] = []
for (const [symbol, tracks] of [
  ['USDC', 'USD'],
  ['EURC', 'EUR'],
]) {
  const { abi, address } = await deploy('TestToken', [symbol])
  const call = async (account: typeof operator, functionName: string, args: readonly unknown[]) =>
    chain.waitForTransactionReceipt({
      hash: await chain.writeContract({ abi, address, functionName, args, account, chain: null }),
    })
  for (const owner of [taker.address, settlement.address]) await call(operator, 'mint', [owner, plenty])
  await call(taker, 'approve', [permit2, plenty])
  lines.push(`    - { code: ${symbol}, tracks: ${tracks}, decimals: 6, contract: '${address}' }`)
}

process.stdout.write(`  chainId: ${await chain.getChainId()}
  rpcUrl: ${url}
  rpcHeadMaxAgeMs: 0    # Hardhat's node makes no blocks while nothing happens
  spender: '${settlement.address}'
  tokens:
${lines.join('\n')}
`)
