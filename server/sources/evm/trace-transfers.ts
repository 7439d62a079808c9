// Derives transfers of the chain's coin from both trace formats. Pure.
//
// 1. A call, a creation or a self-destruct with value transfers it. A delegate, static or code call transfers nothing:
//    its value is the caller's, or does not move. Neither does a transfer to the sender itself, which has no log either
//    (amsterdam.ts).
// 2. A failed step and everything it called have no effect.
// 3. Transfers are in the order in which they happened.
// 4. Some nodes write `"error": null` for a successful step.
// 5. A self-destruct without heir and value is one to the contract itself, which transfers nothing (validate-frames.ts).
import type { CallFrame, FlatTrace, TraceTransfer } from './types.ts'

/** The steps of one transaction, in any order. Steps below a failed one are skipped. */
export function flatTransfers(traces: readonly FlatTrace[]): TraceTransfer[] {
  // The last failed step; the steps it called follow.
  let failed: readonly number[] | undefined
  const transfers: TraceTransfer[] = []
  for (const trace of traces.toSorted(byExecution)) {
    const { traceAddress } = trace
    if (failed?.every((step, depth) => traceAddress[depth] === step)) continue
    if (trace.error) failed = traceAddress
    else {
      const transfer = flatTransfer(trace)
      if (transfer) transfers.push({ top: traceAddress.length === 0, ...transfer })
    }
  }
  return transfers
}

/** Depth-first: each step before the steps it called. */
function byExecution({ traceAddress: a }: FlatTrace, { traceAddress: b }: FlatTrace): number {
  for (let depth = 0; depth < a.length && depth < b.length; depth++) {
    const difference = (a[depth] as number) - (b[depth] as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Whether a single step transfers value. Its caller may still have failed. */
export const transfersValue = (trace: FlatTrace): boolean => !trace.error && flatTransfer(trace) !== undefined

/** Where a step begins; undefined for a reward. */
export const traceSender = ({ action }: FlatTrace): unknown => action.from ?? action.address

/** Where a step ends; undefined for a creation that failed. */
export const traceRecipient = ({ action, result }: FlatTrace): unknown =>
  action.to ?? action.refundAddress ?? result?.address

function flatTransfer(trace: FlatTrace): Omit<TraceTransfer, 'top'> | undefined {
  const { type, action } = trace
  const isTransfer = type === 'call' ? action.callType === 'call' : type !== 'reward'
  return isTransfer ? toTransfer(traceSender(trace), traceRecipient(trace), action.value ?? action.balance) : undefined
}

const transferringFrames: ReadonlySet<string> = new Set(['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT'])

export function nestedTransfers(
  frame: CallFrame | undefined,
  top = true,
  transfers: TraceTransfer[] = [],
): TraceTransfer[] {
  if (!frame || frame.error) return transfers
  const transfer = transferringFrames.has(frame.type.toUpperCase())
    ? toTransfer(frame.from, frame.to, frame.value)
    : undefined
  if (transfer) transfers.push({ top, ...transfer })
  for (const inner of frame.calls ?? []) nestedTransfers(inner, false, transfers)
  return transfers
}

function toTransfer(from: unknown, to: unknown, value: unknown): Omit<TraceTransfer, 'top'> | undefined {
  if (typeof from !== 'string' || typeof to !== 'string' || typeof value !== 'string') return undefined
  const transfer = { from: from.toLowerCase(), to: to.toLowerCase(), valueWei: BigInt(value) }
  return transfer.valueWei > 0n && transfer.from !== transfer.to ? transfer : undefined
}
