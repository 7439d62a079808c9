// Collects the progress of ingesters for the console: speed, remaining work and failures. It is kept in memory, since
// the start of this process.

import type { IndexProgress as ChainProgress } from '#explorer/funding/index/index-chain.ts'
import type { FeedReport } from '#markets/feeds/start-markets.ts'
import type { Clock } from '#runtime/clock.ts'
import type { ProgressView, StreamView } from '#shared/console-calls.ts'
import type { IngestProgress as NetworkProgress } from '#validators/ingest/status/ingest-progress.ts'

/** Speed is averaged over the last minute. */
const windowMs = 60_000
/** Samples that are closer together are merged, so there are at most a hundred. */
const sampleMs = windowMs / 100

/** Counts what was read of one stream. */
function createStreamProgress(unit: ProgressView['unit'], clock: Clock, sinceMs: number) {
  let samples = [{ atMs: sinceMs, done: 0 }]

  /** Keeps the last sample before the window, as the starting point. */
  function dropOld(atMs: number): void {
    const startIndex = samples.findLastIndex((sample) => sample.atMs <= atMs - windowMs)
    if (startIndex > 0) samples = samples.slice(startIndex)
  }

  const progress = {
    unit,
    done: 0,
    remaining: null as number | null,
    /** At the last report. */
    position: undefined as number | undefined,
    /** Why the last pass of a feed failed. */
    problem: undefined as string | undefined,
    add(count: number): void {
      if (count <= 0) return
      const atMs = clock.monotonicMs()
      progress.done += count
      if (progress.remaining !== null) progress.remaining = Math.max(0, progress.remaining - count)
      const last = samples.at(-1)
      if (last && samples.length > 1 && atMs - last.atMs < sampleMs) last.done = progress.done
      else samples.push({ atMs, done: progress.done })
      dropOld(atMs)
    },
    perSecond(): number {
      const atMs = clock.monotonicMs()
      dropOld(atMs)
      const [first] = samples
      if (!first || atMs <= first.atMs) return 0
      return ((progress.done - first.done) * 1000) / (atMs - first.atMs)
    },
  }
  return progress
}

export type ProgressBoard = ReturnType<typeof createProgressBoard>

export function createProgressBoard(clock: Clock) {
  const sinceMs = clock.monotonicMs()
  const progressByStream = new Map<string, ReturnType<typeof createStreamProgress>>()

  /** Streams come from the configuration, so the map stays small. */
  const progressOf = (name: string, unit: ProgressView['unit']) =>
    progressByStream.getOrInsertComputed(name, () => createStreamProgress(unit, clock, sinceMs))

  return {
    /** The progress callback for the indexing loop of a chain. */
    chain(id: string): (progress: ChainProgress) => void {
      const reading = progressOf(`chain ${id}`, 'blocks')
      // Another process may have read on since this one stopped.
      reading.position = undefined
      return (progress) => {
        if (progress.is === 'plan') reading.remaining = progress.blocks
        if (progress.is === 'written') reading.add(progress.blocks)
        if (progress.is !== 'unfinalized') return
        // Unfinalized blocks are counted as the head advances.
        if (reading.position !== undefined) reading.add(progress.head - reading.position)
        reading.position = progress.head
        reading.remaining = 0
      }
    },

    network(network: string, { until, finalizedEpoch, written }: NetworkProgress): void {
      const reading = progressOf(`network ${network}`, 'epochs')
      reading.add(reading.position === undefined ? written : until - reading.position)
      reading.position = until
      // The last finalized epoch is not complete: its votes arrive in the next one.
      reading.remaining = Math.max(0, finalizedEpoch - 1 - until)
    },

    feed(report: FeedReport): void {
      const reading = progressOf(`feed ${report.source}`, 'records')
      if (report.is === 'page') {
        reading.add(report.report.records - (reading.position ?? 0))
        reading.position = report.report.records
        return
      }
      reading.position = undefined
      reading.problem = report.is === 'done' ? undefined : report.reason
    },

    /** Empty if this process does not read the stream. */
    view(stream: string): Pick<StreamView, 'progress' | 'problem'> {
      const reading = progressByStream.get(stream)
      if (!reading) return {}
      const { unit, done, remaining, problem } = reading
      const perSecond = Number(reading.perSecond().toFixed(3))
      return { progress: { unit, done, remaining, perSecond }, ...(problem !== undefined && { problem }) }
    },
  }
}
