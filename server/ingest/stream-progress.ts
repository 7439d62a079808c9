// Records when each stream of data last made progress. A stream that is behind and makes progress is catching up, which
// takes hours or days at first. One that is behind without progress is stale (behaviour/operations.md#stream-status).
import type { Clock } from '#runtime/clock.ts'

export const createStreamProgress = () => ({
  /** Time of the last step, by stream, on the monotonic clock. */
  stepMs: new Map<string, number>(),
  /** Position of the stream at the last check. */
  positions: new Map<string, number>(),
})

export type StreamProgress = ReturnType<typeof createStreamProgress>

export interface StreamContext {
  readonly streams: StreamProgress
  readonly clock: Pick<Clock, 'monotonicMs'>
}

/** Longer than the slowest step: a range of blocks, an hour of epochs, a page with all retries. */
export const stalledAfterMs = 900_000

/** Call it after every step, and at the start. */
export function recordStep({ streams, clock }: StreamContext, stream: string): void {
  streams.stepMs.set(stream, clock.monotonicMs())
}

/** If `position` has changed since the last call, another process made a step. */
export function isProgressing(context: StreamContext, stream: string, position: number): boolean {
  const { streams, clock } = context
  const before = streams.positions.get(stream)
  streams.positions.set(stream, position)
  if (before !== undefined && before !== position) recordStep(context, stream)
  const atMs = streams.stepMs.get(stream)
  return atMs !== undefined && clock.monotonicMs() - atMs <= stalledAfterMs
}
