// Validates results of nodes: each function returns a problem, or undefined. A block and its traces must match and be
// complete. Whether they are true is not checked here.
import type { CallFrame, FlatTrace, TraceWithBlock } from './types.ts'

/** The block that traces and receipts must match. */
export interface TracedBlock {
  readonly hash: string
  readonly transactions: readonly { readonly hash: string; readonly index: number }[]
}

export const lower = (text: string | null | undefined): string => (text ?? '').toLowerCase()

const quantity = /^0x[0-9a-f]{1,64}$/i
const hashPattern = /^0x[0-9a-f]{64}$/i
const address = /^0x[0-9a-f]{40}$/i

export const validateQuantity = (raw: unknown): string | undefined =>
  typeof raw === 'string' && quantity.test(raw) ? undefined : 'not a number'

export function validateHeader(raw: unknown, expected: number | string): string | undefined {
  const { number, hash, parentHash, timestamp } = raw as Record<string, unknown>
  if (validateQuantity(number) || validateQuantity(timestamp)) return 'a block without number or time'
  if (!hashPattern.test(String(hash)) || !hashPattern.test(String(parentHash))) return 'a block without hash or parent'
  return typeof expected === 'number' && Number(number) !== expected
    ? `requested block ${expected}, got ${Number(number)}`
    : undefined
}

export function validateTransactions(raw: unknown): string | undefined {
  const { transactions } = raw as { transactions?: unknown }
  if (!Array.isArray(transactions)) return 'a block without transactions'
  for (const [at, tx] of transactions.entries()) {
    if (
      !hashPattern.test(tx?.hash) ||
      Number(tx.transactionIndex) !== at ||
      !address.test(tx.from) ||
      validateQuantity(tx.value)
    ) {
      return `transaction ${at} is incomplete`
    }
  }
  return undefined
}

/** Every transaction must have a top-level step, and every step must belong to this block. */
export function validateFlatTraces(raw: unknown, block: TracedBlock): string | undefined {
  if (!Array.isArray(raw)) return 'not a list of traces'
  const traces = raw as FlatTrace[]
  if (traces.some((trace) => !trace?.action || !Array.isArray(trace.traceAddress) || !trace.type))
    return 'a trace is incomplete'
  if (traces.some(({ blockHash }) => blockHash != null && lower(blockHash) !== block.hash))
    return 'traces of another block'
  const traced = new Set(
    traces.filter(({ traceAddress }) => traceAddress.length === 0).map(({ transactionHash }) => lower(transactionHash)),
  )
  const missing = block.transactions.find(({ hash }) => !traced.has(hash))
  return missing ? `transaction ${missing.index} has no trace` : validateTraceTree(traces)
}

/** Each step contains the number of its calls, so a truncated list is detected. */
function validateTraceTree(traces: readonly FlatTrace[]): string | undefined {
  const called = new Map<string, number>()
  const nameOf = ({ transactionHash }: FlatTrace, path: readonly number[]) => `${transactionHash}/${path.join('.')}`
  for (const trace of traces) {
    if (trace.traceAddress.length === 0) continue
    const parent = nameOf(trace, trace.traceAddress.slice(0, -1))
    called.set(parent, (called.get(parent) ?? 0) + 1)
  }
  const incomplete = traces.find(
    (trace) => trace.subtraces != null && trace.subtraces !== (called.get(nameOf(trace, trace.traceAddress)) ?? 0),
  )
  return incomplete && 'steps are missing from the traces'
}

/** A transaction in the result of debug_traceBlockByNumber. `error`: the node could not trace it. */
export interface NestedTrace {
  readonly txHash?: string | null
  readonly result?: CallFrame | null
  readonly error?: unknown
}

export function validateNestedTraces(raw: unknown, block: TracedBlock): string | undefined {
  if (!Array.isArray(raw) || raw.length !== block.transactions.length) return 'not one trace for every transaction'
  const problem = (raw as (NestedTrace | null)[]).findIndex(
    (trace, at) =>
      (trace?.txHash != null && lower(trace.txHash) !== block.transactions[at]?.hash) ||
      (validateFrame(trace?.result) !== undefined && !trace?.error),
  )
  return problem < 0 ? undefined : `transaction ${problem} has no trace`
}

export function validateFrame(raw: unknown): string | undefined {
  const { type, from } = (raw ?? {}) as Partial<CallFrame>
  return typeof type === 'string' && address.test(String(from)) ? undefined : 'a trace is incomplete'
}

export function validateReceipt(raw: unknown, block: TracedBlock, hash: string): string | undefined {
  const { transactionHash, blockHash } = raw as Record<string, string | undefined>
  return lower(transactionHash) === hash && lower(blockHash) === block.hash ? undefined : 'receipt of another block'
}

export function validateReceipts(raw: unknown, block: TracedBlock): string | undefined {
  if (!Array.isArray(raw) || raw.length !== block.transactions.length) return 'not one receipt for every transaction'
  const problem = block.transactions.find(({ hash }, at) => validateReceipt(raw[at] ?? {}, block, hash) !== undefined)
  return problem && `transaction ${problem.index} has no receipt`
}

/** Steps in [from, until), oldest first. */
export function validateTraceList(raw: unknown, from: number, until: number): string | undefined {
  if (!Array.isArray(raw) || !raw.every(hasBlockNumber)) return 'not a list of traces'
  const blocks = (raw as TraceWithBlock[]).map(({ blockNumber }) => blockNumber)
  if (blocks.some((block) => block < from || block >= until)) return 'traces outside the requested range'
  return blocks.some((block, at) => block < (blocks[at - 1] ?? 0)) ? 'the traces are out of order' : undefined
}

const hasBlockNumber = (raw: Partial<TraceWithBlock> | null): boolean =>
  Number.isSafeInteger(raw?.blockNumber) && typeof raw?.action === 'object' && raw.action !== null
