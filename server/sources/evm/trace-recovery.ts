// Recovers traces that a node cannot produce for a block: traces the transactions one by one, and reads a transaction
// to an address without code from its receipt. If that fails too, the block is unreadable.
import { Fault } from '#core/fault.ts'
import { recoverAuthority } from './authorizations.ts'
import type { Untraced } from './large-results.ts'
import { CallFault, type Rpc, type RpcCall, type RpcCallOptions } from './rpc.ts'
import type { Block, Receipt, TraceForm, TraceTransfer, Transaction } from './types.ts'
import type { TracedBlock, TracedTransaction } from './validate.ts'

/** The transfers of a transaction, or why they could not be read. */
export type TraceResult = readonly TraceTransfer[] | Untraced | Fault

/** A block that no node returns in a form that can be read, often because of one trace. Other blocks can still be read. */
export class UnreadableBlock extends Fault {
  readonly block: number
  /** The transaction, if it is known, the node and the problem. */
  readonly reason: string

  constructor(block: number, problem: string, transaction?: Transaction) {
    const reason = transaction ? `transaction ${transaction.index} (${transaction.hash}): ${problem}` : problem
    super('explorer.node_unavailable', {
      // Not a momentary failure: the calls were repeated at every node.
      message: `Block ${block} cannot be read: no node of this chain returns it with usable traces. Add another node (explorer.chains[].rpc).`,
      detail: `block ${block} cannot be read: ${reason}`,
      retryAfterMs: 60_000,
    })
    this.block = block
    this.reason = reason
  }
}

export const traceCall = (tx: Transaction): RpcCall => ({
  method: 'debug_traceTransaction',
  params: [tx.hash],
  isTraced: true,
  resultKind: { as: 'frame', transaction: toTracedTransaction(tx) },
})

export const receiptCall = (block: TracedBlock, { hash }: Transaction): RpcCall => ({
  method: 'eth_getTransactionReceipt',
  params: [hash],
  resultKind: { as: 'receipt', block, hash },
})

/** Fills in missing traces. Throws UnreadableBlock, or the Fault of an unreachable node. */
export async function completeTraces(
  rpc: Pick<Rpc, 'results'>,
  form: TraceForm,
  block: Block,
  traces: readonly TraceResult[],
  options: RpcCallOptions,
): Promise<(readonly TraceTransfer[])[]> {
  const completed = [...traces]
  const missing = () => block.transactions.filter(({ index }) => !isTransfers(completed[index]))
  for (const { index } of missing()) {
    const failure = completed[index]
    if (failure instanceof Fault && !(failure instanceof CallFault && failure.isOfCall)) throw failure
  }
  const fill = async (by: (txs: readonly Transaction[]) => Promise<readonly TraceResult[]>) => {
    const txs = missing()
    const results = txs.length > 0 ? await by(txs) : []
    for (const [at, { index }] of txs.entries()) {
      const result = results[at]
      if (result instanceof Fault && !(result instanceof CallFault && isDefinite(result))) throw result
      const before = completed[index]
      if (isTransfers(result) || (result instanceof CallFault && result.isOfCall)) completed[index] = result
      else if (result instanceof CallFault && before && 'error' in before)
        completed[index] = { error: `${before.error} (${result.reason})` }
    }
  }
  const callOptions: RpcCallOptions = { ...options, keepsFailures: true }
  if (form !== 'debug_traceTransaction') {
    await fill(async (txs) => {
      const calls = txs.map((tx) => (form === 'trace_block' ? flatCall(block, tx) : traceCall(tx)))
      const results = (await rpc.results(calls, callOptions)) as TraceResult[]
      return form === 'trace_block'
        ? results.map((result) => (isTransfers(result) ? (result[0] as unknown as readonly TraceTransfer[]) : result))
        : results
    })
  }
  await fill((txs) => plainTransfers(rpc, block, txs, callOptions))
  const [first] = missing()
  if (first) throw new UnreadableBlock(block.number, reasonOf(completed[first.index]), first)
  return completed as (readonly TraceTransfer[])[]
}

const isTransfers = (result: TraceResult | undefined): result is readonly TraceTransfer[] => Array.isArray(result)

/** The node cannot trace it; it is neither busy nor unreachable, and knows the block. */
const isDefinite = ({ isOfCall, kind }: CallFault): boolean =>
  isOfCall || kind === 'unknown method' || kind === 'missing state'

const reasonOf = (result: TraceResult | undefined): string =>
  result instanceof CallFault
    ? result.reason
    : result instanceof Fault
      ? result.message
      : isTransfers(result)
        ? ''
        : (result?.error ?? 'no trace')

/** Only what validation needs, because it may be passed to another thread. */
export const toTracedBlock = ({ number, hash }: Block, transactions: readonly Transaction[]): TracedBlock => ({
  number,
  hash,
  transactions: transactions.map(toTracedTransaction),
})

const toTracedTransaction = ({ hash, index, from, to, valueWei }: Transaction): TracedTransaction => ({
  hash,
  index,
  from,
  to,
  valueWei,
})

const flatCall = (block: Block, tx: Transaction): RpcCall => ({
  method: 'trace_transaction',
  params: [tx.hash],
  resultKind: { as: 'flat', block: toTracedBlock(block, [tx]) },
})

/**
 * A transaction to an address without code before and after the block transfers its own value and nothing else, unless
 * the block has an authorization of the address (EIP-7702). This misses a contract that was created and destroyed within
 * the block, which was possible before Cancun.
 */
async function plainTransfers(
  rpc: Pick<Rpc, 'results'>,
  block: Block,
  txs: readonly Transaction[],
  callOptions: RpcCallOptions,
): Promise<readonly TraceResult[]> {
  // Such a recipient may have had code within the block only.
  const authorities = new Set(
    block.transactions.flatMap(({ authorizations = [] }) => authorizations.map((one) => recoverAuthority(one))),
  )
  const plain = txs.filter(({ to }) => to !== null && !authorities.has(to))
  const codeCalls = plain.flatMap(({ to }) =>
    [block.number, Math.max(0, block.number - 1)].map(
      (number): RpcCall => ({ method: 'eth_getCode', params: [to, `0x${number.toString(16)}`] }),
    ),
  )
  const codes = await rpc.results(codeCalls, callOptions)
  const withoutCode = plain.filter((_, at) => codes[2 * at] === '0x' && codes[2 * at + 1] === '0x')
  const receipts = await rpc.results(
    withoutCode.map((tx) => receiptCall(toTracedBlock(block, [tx]), tx)),
    callOptions,
  )
  return txs.map((tx) => {
    const receipt = receipts[withoutCode.indexOf(tx)] as Receipt | Fault | undefined
    if (!receipt || receipt instanceof Fault || receipt.succeeded === undefined) return { error: 'no trace' }
    const { from, to, valueWei } = tx
    return receipt.succeeded && valueWei > 0n && to !== from ? [{ top: true, from, to: to as string, valueWei }] : []
  })
}
