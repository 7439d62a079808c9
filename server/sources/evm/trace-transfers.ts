// Derives transfers of the chain's coin from both trace formats. Pure.
//
// 1. A call, a creation or a self-destruct with value transfers it. A delegate, static or code call transfers nothing:
//    its value is the caller's, or does not move.
// 2. A failed step and everything it called have no effect.
// 3. Transfers are in the order in which they happened.
// 4. Some nodes write `"error": null` for a successful step.
import type { CallFrame, FlatTrace, TraceTransfer } from './types.ts'

/** Steps are listed depth-first: each step before the steps it called. Steps below a failed one are skipped. */
export function flatTransfers(traces: readonly FlatTrace[]): TraceTransfer[] {
  // The last failed step; the steps it called follow.
  let failed: readonly number[] | undefined
  const transfers: TraceTransfer[] = []
  for (const trace of traces) {
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

/** Whether a single step transfers value. Its caller may still have failed. */
export const transfersValue = (trace: FlatTrace): boolean => !trace.error && flatTransfer(trace) !== undefined

function flatTransfer({ type, action, result }: FlatTrace): Omit<TraceTransfer, 'top'> | undefined {
  switch (type) {
    case 'call':
      return action.callType === 'call' ? toTransfer(action.from, action.to, action.value) : undefined
    case 'create':
      return toTransfer(action.from, result?.address, action.value)
    case 'suicide':
    case 'selfdestruct':
      return toTransfer(action.address, action.refundAddress, action.balance)
    default:
      return undefined
  }
}

const transferringFrames: ReadonlySet<string> = new Set(['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT'])

export function nestedTransfers(
  frame: CallFrame | undefined,
  top = true,
  transfers: TraceTransfer[] = [],
): TraceTransfer[] {
  if (!frame || frame.error) return transfers
  const own = transferringFrames.has(frame.type.toUpperCase())
    ? toTransfer(frame.from, frame.to, frame.value ?? '0x0')
    : undefined
  if (own) transfers.push({ top, ...own })
  for (const inner of frame.calls ?? []) nestedTransfers(inner, false, transfers)
  return transfers
}

function toTransfer(from: unknown, to: unknown, value: unknown): Omit<TraceTransfer, 'top'> | undefined {
  if (typeof from !== 'string' || typeof to !== 'string' || typeof value !== 'string') return undefined
  const valueWei = BigInt(value)
  return valueWei > 0n ? { from: from.toLowerCase(), to: to.toLowerCase(), valueWei } : undefined
}
