// Collects the progress of ingesters for the console: speed, remaining work and failures. It is kept in memory, since
// the start of this process.
import type { ProgressView } from '#api/console.ts'
import type { Group } from '#api/routes.ts'
import type { IndexProgress as ChainProgress } from '#explorer/funding/index/index-chain.ts'
import type { FeedReport } from '#markets/feeds/start-markets.ts'
import type { Clock } from '#runtime/clock.ts'
import type { IngestProgress as NetworkProgress } from '#validators/ingest/ingest-progress.ts'

/** Speed is averaged over the last minute. */
const windowMs = 60_000
/** Samples that are closer together are merged, so there are at most a hundred. */
const sampleMs = windowMs / 100

/** Counts what was read of one stream. */
function createStreamProgress(group: Group, unit: ProgressView['unit'], clock: Clock, sinceMs: number) {
  let samples = [{ atMs: sinceMs, done: 0 }]

  /** Keeps the last sample before the window, as the starting point. */
  function dropOld(atMs: number): void {
    const first = samples.findLastIndex((sample) => sample.atMs <= atMs - windowMs)
    if (first > 0) samples = samples.slice(first)
  }

  const progress = {
    group,
    unit,
    done: 0,
    remaining: null as number | null,
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
  /** Why the last pass of a feed failed. */
  const problems = new Map<string, string>()
  /** Position of each stream at its last report. */
  const positions = new Map<string, number>()

  /** Streams come from the configuration, so the map stays small. */
  const progressOf = (name: string, group: Group, unit: ProgressView['unit']) =>
    progressByStream.getOrInsertComputed(name, () => createStreamProgress(group, unit, clock, sinceMs))

  return {
    /** The progress callback for the indexing loop of a chain. */
    chain(id: string): (progress: ChainProgress) => void {
      const reading = progressOf(`chain ${id}`, 'explorer', 'blocks')
      let head: number | undefined
      return (progress) => {
        if (progress.is === 'plan') reading.remaining = progress.blocks
        if (progress.is === 'written') reading.add(progress.blocks)
        if (progress.is !== 'unfinalized') return
        // Unfinalized blocks are counted as the head advances.
        if (head !== undefined) reading.add(progress.head - head)
        head = progress.head
        reading.remaining = 0
      }
    },

    network(network: string, { until, finalizedEpoch, written }: NetworkProgress): void {
      const name = `network ${network}`
      const reading = progressOf(name, 'validators', 'epochs')
      const position = positions.get(name)
      reading.add(position === undefined ? written : until - position)
      positions.set(name, until)
      // The last finalized epoch is not complete: its votes arrive in the next one.
      reading.remaining = Math.max(0, finalizedEpoch - 1 - until)
    },

    feed(report: FeedReport): void {
      const name = `feed ${report.source}`
      const reading = progressOf(name, 'markets', 'records')
      if (report.is === 'page') {
        reading.add(report.report.records - (positions.get(name) ?? 0))
        positions.set(name, report.report.records)
        return
      }
      positions.delete(name)
      if (report.is === 'done') problems.delete(name)
      else problems.set(name, report.reason)
    },

    problem: (stream: string) => problems.get(stream),

    views: () =>
      [...progressByStream].map(([stream, reading]): ProgressView => {
        const perSecond = reading.perSecond()
        const { group, unit, done, remaining } = reading
        const eta = remaining === null ? null : remaining === 0 ? 0 : perSecond > 0 ? remaining / perSecond : null
        return {
          group,
          stream,
          unit,
          done,
          remaining,
          perSecond: Number(perSecond.toFixed(3)),
          etaSeconds: eta === null ? null : Math.ceil(eta),
        }
      }),
  }
}
