// Collects the progress of ingesters for the console: speed, remaining work and failures. It is kept in memory, since
// the start of this process.
import type { ProgressView } from '#api/console.ts'
import type { Group } from '#api/routes.ts'
import type { IndexProgress as ChainProgress } from '#explorer/funding/index/index-chain.ts'
import type { RatePollReport } from '#fx/rates/poll-rates.ts'
import type { FeedReport } from '#markets/feeds/start-markets.ts'
import type { Clock } from '#runtime/clock.ts'
import type { IngestProgress as NetworkProgress } from '#validators/ingest/ingest-progress.ts'

/** Speed is averaged over the last minute. */
const windowMs = 60_000
/** Samples that are closer together are merged, so there are at most a hundred. */
const sampleMs = windowMs / 100

/** The last failure of a source. */
export interface SourceProblem {
  readonly failures: number
  readonly reason: string
}

/** Counts what was read of one stream. */
class StreamProgress {
  readonly group: Group
  readonly unit: ProgressView['unit']
  done = 0
  remaining: number | null = null
  readonly #clock: Clock
  #samples: { atMs: number; done: number }[]

  constructor(group: Group, unit: ProgressView['unit'], clock: Clock, sinceMs: number) {
    this.group = group
    this.unit = unit
    this.#clock = clock
    this.#samples = [{ atMs: sinceMs, done: 0 }]
  }

  add(count: number): void {
    if (count <= 0) return
    const atMs = this.#clock.monotonicMs()
    this.done += count
    if (this.remaining !== null) this.remaining = Math.max(0, this.remaining - count)
    const last = this.#samples.at(-1)
    if (last && this.#samples.length > 1 && atMs - last.atMs < sampleMs) last.done = this.done
    else this.#samples.push({ atMs, done: this.done })
    this.#dropOld(atMs)
  }

  perSecond(): number {
    const atMs = this.#clock.monotonicMs()
    this.#dropOld(atMs)
    const [first] = this.#samples
    if (!first || atMs <= first.atMs) return 0
    return ((this.done - first.done) * 1000) / (atMs - first.atMs)
  }

  /** Keeps the last sample before the window, as the starting point. */
  #dropOld(atMs: number): void {
    const first = this.#samples.findLastIndex((sample) => sample.atMs <= atMs - windowMs)
    if (first > 0) this.#samples = this.#samples.slice(first)
  }
}

export class ProgressBoard {
  readonly #clock: Clock
  readonly #sinceMs: number
  readonly #progress = new Map<string, StreamProgress>()
  readonly #problems = new Map<string, SourceProblem>()
  readonly #tookMs = new Map<string, number>()
  /** Position of each stream at its last report. */
  readonly #positions = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#sinceMs = clock.monotonicMs()
  }

  /** The progress callback for the indexing loop of a chain. */
  chain(id: string): (progress: ChainProgress) => void {
    const reading = this.#progressOf(`chain ${id}`, 'explorer', 'blocks')
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
  }

  network(network: string, { until, finalizedEpoch, written }: NetworkProgress): void {
    const name = `network ${network}`
    const reading = this.#progressOf(name, 'validators', 'epochs')
    const position = this.#positions.get(name)
    reading.add(position === undefined ? written : until - position)
    this.#positions.set(name, until)
    // The last finalized epoch is not complete: its votes arrive in the next one.
    reading.remaining = Math.max(0, finalizedEpoch - 1 - until)
  }

  feed(report: FeedReport): void {
    const name = `feed ${report.source}`
    const reading = this.#progressOf(name, 'markets', 'records')
    if (report.is === 'page') {
      const before = this.#positions.get(name) ?? 0
      reading.add(report.report.records - before)
      this.#positions.set(name, report.report.records)
      return
    }
    this.#positions.delete(name)
    if (report.is === 'done') this.#problems.delete(name)
    else this.#problems.set(name, { failures: report.failures, reason: report.reason })
  }

  /** Records how long the last poll of the source took. */
  rates({ source, tookMs }: RatePollReport): void {
    this.#tookMs.set(source, Math.round(tookMs))
  }

  ratesTookMs(source: string): number | null {
    return this.#tookMs.get(source) ?? null
  }

  problem(stream: string): SourceProblem | undefined {
    return this.#problems.get(stream)
  }

  views(): ProgressView[] {
    return [...this.#progress].map(([stream, reading]) => {
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
    })
  }

  /** Streams come from the configuration, so the map stays small. */
  #progressOf(name: string, group: Group, unit: ProgressView['unit']): StreamProgress {
    return this.#progress.getOrInsertComputed(name, () => new StreamProgress(group, unit, this.#clock, this.#sinceMs))
  }
}
