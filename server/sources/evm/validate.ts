// What can be wrong with what a node tells: each check says it in words, or undefined when the answer can be used. A block
// and its traces must belong together and be whole; that they are true is the node's affair.
import type { CallFrame, FlatTrace, TraceWithBlock } from './types.ts'

/** What a block's traces and receipts are held against. */
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
    ? `asked for block ${expected}, got ${Number(number)}`
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
      return `transaction ${at} is not complete`
    }
  }
  return undefined
}

/** Every transaction has a step of its own at the top, and every step names this very block. */
export function validateFlatTraces(raw: unknown, block: TracedBlock): string | undefined {
  if (!Array.isArray(raw)) return 'no list of traces'
  const traces = raw as FlatTrace[]
  if (traces.some((one) => !one?.action || !Array.isArray(one.traceAddress) || !one.type))
    return 'a trace is not complete'
  if (traces.some(({ blockHash }) => blockHash != null && lower(blockHash) !== block.hash))
    return 'traces of another block'
  const traced = new Set(traces.filter((one) => one.traceAddress.length === 0).map((one) => lower(one.transactionHash)))
  const missing = block.transactions.find(({ hash }) => !traced.has(hash))
  return missing ? `transaction ${missing.index} has no trace` : validateTraceTree(traces)
}

/** Each step says how many it called: a list that was cut off lacks some of them. */
function validateTraceTree(traces: readonly FlatTrace[]): string | undefined {
  const called = new Map<string, number>()
  const nameOf = ({ transactionHash }: FlatTrace, path: readonly number[]) => `${transactionHash}/${path.join('.')}`
  for (const trace of traces) {
    if (trace.traceAddress.length === 0) continue
    const parent = nameOf(trace, trace.traceAddress.slice(0, -1))
    called.set(parent, (called.get(parent) ?? 0) + 1)
  }
  const short = traces.find(
    (one) => one.subtraces != null && one.subtraces !== (called.get(nameOf(one, one.traceAddress)) ?? 0),
  )
  return short && 'steps are missing from the traces'
}

/** A transaction in the answer of debug_traceBlockByNumber. `error`: the node could not trace this one. */
export interface NestedTrace {
  readonly txHash?: string | null
  readonly result?: CallFrame | null
  readonly error?: unknown
}

export function validateNestedTraces(raw: unknown, block: TracedBlock): string | undefined {
  if (!Array.isArray(raw) || raw.length !== block.transactions.length) return 'not one trace for every transaction'
  const problem = (raw as (NestedTrace | null)[]).findIndex(
    (one, at) =>
      (one?.txHash != null && lower(one.txHash) !== block.transactions[at]?.hash) ||
      (validateFrame(one?.result) !== undefined && !one?.error),
  )
  return problem < 0 ? undefined : `transaction ${problem} has no trace of its own`
}

export function validateFrame(raw: unknown): string | undefined {
  const { type, from } = (raw ?? {}) as Partial<CallFrame>
  return typeof type === 'string' && address.test(String(from)) ? undefined : 'a trace is not complete'
}

export function validateReceipt(raw: unknown, block: TracedBlock, hash: string): string | undefined {
  const { transactionHash, blockHash } = raw as Record<string, string | undefined>
  return lower(transactionHash) === hash && lower(blockHash) === block.hash ? undefined : 'a receipt of another block'
}

export function validateReceipts(raw: unknown, block: TracedBlock): string | undefined {
  if (!Array.isArray(raw) || raw.length !== block.transactions.length) return 'not one receipt for every transaction'
  const problem = block.transactions.find(({ hash }, at) => validateReceipt(raw[at] ?? {}, block, hash) !== undefined)
  return problem && `transaction ${problem.index} has no receipt of its own`
}

/** A list of steps found in [from, until), oldest first. */
export function validateTraceList(raw: unknown, from: number, until: number): string | undefined {
  if (!Array.isArray(raw) || !raw.every(hasBlockNumber)) return 'no list of traces'
  const blocks = (raw as TraceWithBlock[]).map(({ blockNumber }) => blockNumber)
  if (blocks.some((block) => block < from || block >= until)) return 'traces of other blocks than were asked for'
  return blocks.some((block, at) => block < (blocks[at - 1] ?? 0)) ? 'the traces are out of order' : undefined
}

const hasBlockNumber = (raw: Partial<TraceWithBlock> | null): boolean =>
  Number.isSafeInteger(raw?.blockNumber) && typeof raw?.action === 'object' && raw.action !== null
