// What the steps of a transaction moved of the chain's own coin, from either trace form: what the two mean is settled here and
// nowhere else. Pure.
//
// 1. A call, a creation or a self-destruct with value moves it. A delegate, static or code call moves nothing: the value
//    such a step shows is its caller's, or stays where it is.
// 2. What a step that failed did, and all that it called, did not happen.
// 3. Moves come in the order they happened.
// 4. Some nodes write `"error": null` for a step that succeeded.
import type { CallFrame, FlatTrace, Move } from './shapes.ts'

/** Steps in the order they are listed, each before all that it called, and that before the next; what is below a failed one is left out. */
export function flatMoves(traces: readonly FlatTrace[]): Move[] {
  // The last that failed: what it called is listed right after it.
  let failed: readonly number[] | undefined
  const moves: Move[] = []
  for (const trace of traces) {
    const { traceAddress } = trace
    if (failed?.every((step, depth) => traceAddress[depth] === step)) continue
    if (trace.error) failed = traceAddress
    else {
      const move = flatMove(trace)
      if (move) moves.push({ top: traceAddress.length === 0, ...move })
    }
  }
  return moves
}

/** Whether a listed step moved value, as far as it tells by itself: what called it may have failed. */
export const movesValue = (trace: FlatTrace): boolean => !trace.error && flatMove(trace) !== undefined

function flatMove({ type, action, result }: FlatTrace): Omit<Move, 'top'> | undefined {
  switch (type) {
    case 'call':
      return action.callType === 'call' ? move(action.from, action.to, action.value) : undefined
    case 'create':
      return move(action.from, result?.address, action.value)
    case 'suicide':
    case 'selfdestruct':
      return move(action.address, action.refundAddress, action.balance)
    default:
      return undefined
  }
}

const movingFrames: ReadonlySet<string> = new Set(['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT'])

export function nestedMoves(frame: CallFrame | undefined, top = true, moves: Move[] = []): Move[] {
  if (!frame || frame.error) return moves
  const own = movingFrames.has(frame.type.toUpperCase()) ? move(frame.from, frame.to, frame.value ?? '0x0') : undefined
  if (own) moves.push({ top, ...own })
  for (const inner of frame.calls ?? []) nestedMoves(inner, false, moves)
  return moves
}

function move(from: unknown, to: unknown, value: unknown): Omit<Move, 'top'> | undefined {
  if (typeof from !== 'string' || typeof to !== 'string' || typeof value !== 'string') return undefined
  const valueWei = BigInt(value)
  return valueWei > 0n ? { from: from.toLowerCase(), to: to.toLowerCase(), valueWei } : undefined
}
