// Records when each stream of data last made progress. A stream that is behind and makes progress is catching up, which
// takes hours or days at first. One that is behind without progress is stale (behaviour/operations.md#stream-status).
// Also measures the rate of a stream (behaviour/operations.md#progress).
import type { Clock } from '#runtime/clock.ts'

export const createStreamProgress = () => ({
  /** Time of the last step, by stream, on the monotonic clock. */
  stepMs: new Map<string, number>(),
  /** Position of the stream at the last check. */
  positions: new Map<string, number>(),
  /** What was stored of the stream, and what was left, at some times of the last minutes. Oldest first. */
  samples: new Map<string, readonly ProgressSample[]>(),
})

interface ProgressSample {
  readonly atMs: number
  readonly read: number
  readonly remaining: number
}

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

/** Rates are averages over this time. */
const rateWindowMs = 900_000
/** Samples that are closer together are left out, so there are at most 61. */
const sampleEveryMs = rateWindowMs / 60
/** Over a shorter time, a single large step would look like a high rate. */
const rateMinMs = 10_000

export interface ReadRate {
  readonly perSecond: number | null
  readonly remainingSeconds: number | null
}

/** From what is stored, so it does not matter which process reads the stream. Null: not known. */
export function measureRate(
  { streams, clock }: StreamContext,
  stream: string,
  { read, remaining }: Omit<ProgressSample, 'atMs'>,
): ReadRate {
  const atMs = clock.monotonicMs()
  const stored = streams.samples.get(stream) ?? []
  // Less than before: data was removed, so that earlier samples cannot be compared.
  const isReduced = read < (stored.at(-1)?.read ?? 0)
  const recent = isReduced ? [] : stored.filter((sample) => atMs - sample.atMs <= rateWindowMs)
  const isDue = atMs - (recent.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) >= sampleEveryMs
  streams.samples.set(stream, isDue ? [...recent, { atMs, read, remaining }] : recent)
  const [first] = recent
  if (!first || atMs - first.atMs < rateMinMs) return { perSecond: null, remainingSeconds: null }
  const seconds = (atMs - first.atMs) / 1000
  const reducedPerSecond = (first.remaining - remaining) / seconds
  return {
    perSecond: Number(((read - first.read) / seconds).toFixed(3)),
    remainingSeconds: remaining === 0 ? 0 : reducedPerSecond > 0 ? Math.ceil(remaining / reducedPerSecond) : null,
  }
}
