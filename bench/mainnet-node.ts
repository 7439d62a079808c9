// A simulated node after the Amsterdam fork whose blocks are as large as those of Ethereum's mainnet in 2023: as many
// steps, logs and bytes per transaction, most of them of tokens. Prints its URL.
//   node bench/mainnet-node.ts BLOCKS
import { hex } from '#simulator/evm/encode.ts'
import { createAmsterdamChain } from '#test/simulator/amsterdam.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'

/**
 * What ten transactions do with tokens. Recorded blocks of mainnet have 2.0 to 3.2 logs, 5.0 to 6.7 steps and 3.0 to 6.6 kB
 * of calldata per transaction, in few large ones.
 */
const tokenUses = [
  { logs: 0, steps: 0, inputBytes: 0 },
  { logs: 1, steps: 1, inputBytes: 68 },
  { logs: 1, steps: 2, inputBytes: 68 },
  { logs: 0, steps: 0, inputBytes: 0 },
  { logs: 7, steps: 15, inputBytes: 644 },
  { logs: 1, steps: 1, inputBytes: 68 },
  { logs: 2, steps: 4, inputBytes: 228 },
  { logs: 0, steps: 0, inputBytes: 4 },
  { logs: 12, steps: 24, inputBytes: 1060 },
  { logs: 1, steps: 2, inputBytes: 4836 },
] as const
const useOf = (txIndex: number) => tokenUses[txIndex % tokenUses.length] as (typeof tokenUses)[number]

type Fields = Record<string, unknown>
interface FlatStep extends Fields {
  readonly action: Fields
  readonly traceAddress: readonly number[]
  readonly transactionPosition?: number
}

const bytes = (count: number): string => `0x${'5a'.repeat(count)}`
const gas = { gas: '0x31597' }
const inputOfCall = bytes(200)

class MainnetNode extends LimitedNode {
  readonly #results = new Map<string, unknown>()

  protected override resultOf(method: string, params: readonly unknown[]): unknown {
    return this.#results.getOrInsertComputed(`${method} ${params}`, () => this.#enlarge(method, params))
  }

  #enlarge(method: string, params: readonly unknown[]): unknown {
    const result = super.resultOf(method, params)
    if (method === 'trace_block') return (result as FlatStep[]).flatMap(withTokenSteps)
    if (method === 'eth_getBlockReceipts') return (result as Fields[]).map(withReceiptFields)
    if (method !== 'eth_getBlockByNumber' || params[1] !== true || !result) return result
    const { transactions, ...block } = result as { transactions: Fields[] }
    return { ...block, transactions: transactions.map(withTransactionFields) }
  }
}

/** Tokens are called by the first step. The steps of others keep their places behind them. */
function withTokenSteps(step: FlatStep): FlatStep[] {
  const { action, traceAddress, transactionPosition, ...rest } = step
  if (transactionPosition === undefined || step.type === 'reward') return [step]
  const { steps } = useOf(transactionPosition)
  const at = { transactionPosition, ...rest }
  const result = { result: { gasUsed: '0x216', output: bytes(26) } }
  const [first, ...others] = traceAddress
  if (first !== undefined) return [{ ...step, traceAddress: [first + steps, ...others] }]
  const callTypes = ['staticcall', 'call', 'delegatecall']
  const called = Array.from(
    { length: steps },
    (_, index): FlatStep => ({
      ...at,
      type: 'call',
      action: {
        callType: callTypes[index % callTypes.length],
        from: action.to ?? action.from,
        to: `0x${'70'.repeat(20)}`,
        ...gas,
        input: inputOfCall,
        value: '0x0',
      },
      ...result,
      subtraces: 0,
      traceAddress: [index],
      transactionPosition,
    }),
  )
  const own = { ...step, action: { ...action, ...gas }, subtraces: Number(step.subtraces) + steps }
  return [own, ...called]
}

const withReceiptFields = (receipt: Fields): Fields => ({
  ...receipt,
  effectiveGasPrice: '0x3b93b51f9',
  from: `0x${'35'.repeat(20)}`,
  to: `0x${'3d'.repeat(20)}`,
  logs: (receipt.logs as Fields[]).map((log) => ({ ...log, blockTimestamp: '0x64fc9d4b' })),
})

const withTransactionFields = (tx: Fields, at: number): Fields => ({
  ...tx,
  ...gas,
  accessList: [],
  chainId: '0x1',
  gasPrice: '0xb011ccd2',
  input: bytes(useOf(at).inputBytes),
  maxFeePerGas: '0xdd0fa3a5',
  maxPriorityFeePerGas: '0x4184262',
  r: bytes(32),
  s: bytes(32),
  type: hex(at % 5),
  v: '0x1',
  yParity: '0x1',
})

const [blocks = 0] = process.argv.slice(2).map(Number)
const chain = createAmsterdamChain(
  { seed: 'bench mainnet', finalLag: 64, busy: 240, accounts: 2000, amsterdamFrom: 0 },
  { tokenLogs: (txIndex) => useOf(txIndex).logs },
)
chain.mine(blocks)
const node = new MainnetNode(chain, { traces: ['trace_block'], receipts: true, accessLists: true })
const transactions = chain.blocks.reduce((sum, block) => sum + block.transactions.length, 0)
console.log(JSON.stringify({ url: await node.listen(), blocks: chain.blocks.length, transactions }))
