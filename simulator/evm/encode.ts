// Encodes blocks, receipts and call trees of the simulated chain as JSON-RPC results.
import type { SimulatedBlock, SimulatedTransaction } from './chain.ts'
import type { Frame } from './execute.ts'

export const hex = (value: number | bigint): string => `0x${value.toString(16)}`

const emptyRoot = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

/** Any hash that belongs to the transactions. */
const rootOf = ({ transactions }: SimulatedBlock): string => transactions[0]?.hash ?? emptyRoot

export const blockJson = (block: SimulatedBlock, full: boolean) => ({
  number: hex(block.number),
  hash: block.hash,
  parentHash: block.parentHash,
  timestamp: hex(block.timeUnix),
  miner: block.miner,
  transactionsRoot: block.transactions.length === 0 ? emptyRoot : rootOf(block),
  transactions: block.transactions.map((tx, at) => (full ? transactionJson(block, tx, at) : tx.hash)),
  withdrawals: block.withdrawals.map(({ address, gwei }, at) => ({
    index: hex(at),
    validatorIndex: hex(at),
    address,
    amount: hex(gwei),
  })),
})

const transactionJson = (block: SimulatedBlock, tx: SimulatedTransaction, at: number) => ({
  hash: tx.hash,
  blockHash: block.hash,
  blockNumber: hex(block.number),
  transactionIndex: hex(at),
  from: tx.from,
  to: tx.to,
  value: hex(tx.value),
  nonce: hex(tx.nonce),
})

export const receiptJson = (block: SimulatedBlock, tx: SimulatedTransaction, at: number) => ({
  transactionHash: tx.hash,
  transactionIndex: hex(at),
  blockHash: block.hash,
  blockNumber: hex(block.number),
  status: tx.frame.failed ? '0x0' : '0x1',
  contractAddress: tx.to === null ? tx.frame.to : null,
})

/** trace_block: a flat list, parents first. Only the failed call has the error, not its inner calls. */
export function flatJson(block: SimulatedBlock, input = '0x'): object[] {
  const steps = block.transactions.flatMap((tx, at) => {
    const location = {
      blockHash: block.hash,
      blockNumber: block.number,
      transactionHash: tx.hash,
      transactionPosition: at,
    }
    return flatSteps(tx.frame, [], input).map((step) => ({ ...step, ...location }))
  })
  const reward = { type: 'reward', action: { author: block.miner, rewardType: 'block', value: '0x1bc16d674ec80000' } }
  return [...steps, { ...reward, traceAddress: [], result: null, blockHash: block.hash, blockNumber: block.number }]
}

function flatSteps(frame: Frame, traceAddress: readonly number[], input: string): object[] {
  const step = { ...flatStep(frame, input), subtraces: frame.calls.length, traceAddress }
  return [step, ...frame.calls.flatMap((inner, at) => flatSteps(inner, [...traceAddress, at], input))]
}

function flatStep({ type, from, to, value, failed }: Frame, input: string): object {
  const failure = failed ? { error: 'Reverted' } : {}
  switch (type) {
    case 'CREATE':
    case 'CREATE2':
      return {
        type: 'create',
        action: { from, value: hex(value), init: input, creationMethod: type.toLowerCase() },
        ...(failed ? failure : { result: { address: to, code: '0x' } }),
      }
    case 'SELFDESTRUCT':
      return { type: 'suicide', action: { address: from, refundAddress: to, balance: hex(value) }, result: null }
    default:
      return {
        type: 'call',
        action: { callType: type.toLowerCase(), from, to, value: hex(value), input },
        ...(failed ? failure : { result: { gasUsed: '0x0', output: '0x' } }),
      }
  }
}
