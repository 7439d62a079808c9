// What the steps of a transaction moved of the chain's own coin, from either trace form: what the two mean is settled here and
// nowhere else. Pure.
//
// 1. A call, a creation or a self-destruct with value moves it. A delegate, static or code call moves nothing: the value
//    such a step shows is its caller's, or stays where it is.
// 2. What a step that failed did, and all that it called, did not happen.
// 3. Moves come in the order they happened.
// 4. Some nodes write `"error": null` for a step that succeeded.
import type { CallFrame, FlatTrace, TraceTransfer } from './types.ts'

/** Steps in the order they are listed, each before all that it called, and that before the next; what is below a failed one is left out. */
export function flatTransfers(traces: readonly FlatTrace[]): TraceTransfer[] {
  // The last that failed: what it called is listed right after it.
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

/** Whether a listed step moved value, as far as it tells by itself: what called it may have failed. */
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
