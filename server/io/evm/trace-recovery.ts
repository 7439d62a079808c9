// What to do when a node cannot trace a block or one of its transactions: trace the transactions one by one, and take what
// a transaction to an address without code did from its receipt. Only then is the block unreadable.
import { Fault } from '#core/fault.ts'
import type { Untraced } from './readings.ts'
import { type AskOptions, CallFault, type Rpc, type RpcCall } from './rpc.ts'
import type { Block, Move, Receipt, TraceForm, Transaction } from './shapes.ts'
import type { TracedBlock } from './wrong.ts'

/** The moves of a transaction, or why there are none. */
export type TraceAnswer = readonly Move[] | Untraced | Fault

/** A block with a transaction that no way of tracing works for. Others can still be read. */
export class UnreadableBlock extends Fault {
  readonly block: number
  readonly reason: string

  constructor(block: number, { index, hash }: Transaction, reason: string) {
    super('explorer.node_unavailable', {
      detail: `block ${block} cannot be read: transaction ${index} (${hash}) cannot be traced: ${reason}`,
      retryAfterMs: 60_000,
    })
    this.block = block
    this.reason = `transaction ${index} (${hash}): ${reason}`
  }
}

export const traceCall = ({ hash }: Transaction): RpcCall => ({
  ...{ method: 'debug_traceTransaction', params: [hash], isTraced: true },
  reading: { as: 'frame' },
})

export const receiptCall = (block: TracedBlock, { hash }: Transaction): RpcCall => ({
  ...{ method: 'eth_getTransactionReceipt', params: [hash] },
  reading: { as: 'receipt', block, hash },
})

/** The same traces with what is missing of them. Throws UnreadableBlock, or the Fault of a node that cannot be asked at all. */
export async function completeTraces(
  rpc: Pick<Rpc, 'results'>,
  form: TraceForm,
  block: Block,
  traces: readonly TraceAnswer[],
  options: AskOptions,
): Promise<(readonly Move[])[]> {
  const found = [...traces]
  const missing = () => block.transactions.filter(({ index }) => !isMoves(found[index]))
  for (const { index } of missing()) {
    const failure = found[index]
    if (failure instanceof Fault && !(failure instanceof CallFault && failure.isOfCall)) throw failure
  }
  const fill = async (by: (txs: readonly Transaction[]) => Promise<readonly TraceAnswer[]>) => {
    const txs = missing()
    const answers = txs.length > 0 ? await by(txs) : []
    for (const [at, { index }] of txs.entries()) {
      const answer = answers[at]
      if (answer instanceof Fault && !(answer instanceof CallFault && isAnswer(answer))) throw answer
      const before = found[index]
      if (isMoves(answer) || (answer instanceof CallFault && answer.isOfCall)) found[index] = answer
      else if (answer instanceof CallFault && before && 'error' in before)
        found[index] = { error: `${before.error} (${answer.message})` }
    }
  }
  const asking: AskOptions = { ...options, keepsFailures: true }
  if (form !== 'debug_traceTransaction') {
    await fill(async (txs) => {
      const calls = txs.map((tx) => (form === 'trace_block' ? flatCall(block, tx) : traceCall(tx)))
      const answers = (await rpc.results(calls, asking)) as TraceAnswer[]
      return form === 'trace_block'
        ? answers.map((one) => (isMoves(one) ? (one[0] as unknown as readonly Move[]) : one))
        : answers
    })
  }
  await fill((txs) => plainTransfers(rpc, block, txs, asking))
  const [first] = missing()
  if (first) throw new UnreadableBlock(block.number, first, reasonOf(found[first.index]))
  return found as (readonly Move[])[]
}

const isMoves = (one: TraceAnswer | undefined): one is readonly Move[] => Array.isArray(one)

/** The node has answered that it cannot; it is neither busy nor out of reach, and knows the block. */
const isAnswer = ({ isOfCall, kind }: CallFault): boolean =>
  isOfCall || kind === 'unknown method' || kind === 'missing state'

const reasonOf = (answer: TraceAnswer | undefined): string =>
  answer instanceof Fault ? answer.message : isMoves(answer) ? '' : (answer?.error ?? 'no trace')

/** As little as a check needs: it may have to go to another thread. */
export const checkedBy = ({ hash }: Block, transactions: readonly Transaction[]): TracedBlock => ({
  hash,
  transactions: transactions.map((tx) => ({ hash: tx.hash, index: tx.index })),
})

const flatCall = (block: Block, tx: Transaction): RpcCall => ({
  ...{ method: 'trace_transaction', params: [tx.hash] },
  reading: { as: 'flat', block: checkedBy(block, [tx]) },
})

/**
 * A transaction to an address that had no code before the block and has none after it moves its own value and nothing else. Not
 * noticed: a contract that was created and destroyed within this block, which left no code only before Cancun.
 */
async function plainTransfers(
  rpc: Pick<Rpc, 'results'>,
  block: Block,
  txs: readonly Transaction[],
  asking: AskOptions,
): Promise<readonly TraceAnswer[]> {
  const plain = txs.filter(({ to }) => to !== null)
  const codeCalls = plain.flatMap(({ to }) =>
    [block.number, Math.max(0, block.number - 1)].map(
      (number): RpcCall => ({ method: 'eth_getCode', params: [to, `0x${number.toString(16)}`] }),
    ),
  )
  const codes = await rpc.results(codeCalls, asking)
  const withoutCode = plain.filter((_, at) => codes[2 * at] === '0x' && codes[2 * at + 1] === '0x')
  const receipts = await rpc.results(
    withoutCode.map((tx) => receiptCall(checkedBy(block, [tx]), tx)),
    asking,
  )
  return txs.map((tx) => {
    const receipt = receipts[withoutCode.indexOf(tx)] as Receipt | Fault | undefined
    if (!receipt || receipt instanceof Fault || receipt.succeeded === undefined) return { error: 'no trace' }
    const { from, to, valueWei } = tx
    return receipt.succeeded && valueWei > 0n ? [{ top: true, from, to: to as string, valueWei }] : []
  })
}
