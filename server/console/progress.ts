// How fast things come in: what the loops tell, kept in memory for whoever looks on. Only the process that reads knows, and
// only since its start.
import type { ProgressView } from '#api/console.ts'
import type { Group } from '#api/routes.ts'
import type { Progress as ChainProgress } from '#groups/explorer/index-chain.ts'
import type { RateNotice } from '#groups/fx/rates.ts'
import type { MarketNotice } from '#groups/markets/feeds.ts'
import type { Progress as NetworkProgress } from '#groups/validators/ingest/follow.ts'
import type { Clock } from '#io/clock.ts'

/** Speed is that of the last minute. */
const windowMs = 60_000
/** Marks closer together than this become one, so there are at most a hundred. */
const markMs = windowMs / 100

/** What went wrong with a source when it was last asked. */
export interface Trouble {
  readonly failures: number
  readonly reason: string
  readonly atMs: number
}

/** How much of one stream was read, and when. */
class Reading {
  readonly group: Group
  readonly unit: ProgressView['unit']
  done = 0
  remaining: number | null = null
  lastMs: number | undefined
  readonly #clock: Clock
  #marks: { atMs: number; done: number }[]

  constructor(group: Group, unit: ProgressView['unit'], clock: Clock, sinceMs: number) {
    this.group = group
    this.unit = unit
    this.#clock = clock
    this.#marks = [{ atMs: sinceMs, done: 0 }]
  }

  add(count: number): void {
    if (count <= 0) return
    const atMs = this.#clock.monotonicMs()
    this.done += count
    this.lastMs = this.#clock.now()
    if (this.remaining !== null) this.remaining = Math.max(0, this.remaining - count)
    const last = this.#marks.at(-1)
    if (last && this.#marks.length > 1 && atMs - last.atMs < markMs) last.done = this.done
    else this.#marks.push({ atMs, done: this.done })
    this.#forget(atMs)
  }

  perSecond(): number {
    const atMs = this.#clock.monotonicMs()
    this.#forget(atMs)
    const [first] = this.#marks
    if (!first || atMs <= first.atMs) return 0
    return ((this.done - first.done) * 1000) / (atMs - first.atMs)
  }

  /** The last mark from before the window stays: it is what the rest is counted from. */
  #forget(atMs: number): void {
    const begin = this.#marks.findLastIndex((mark) => mark.atMs <= atMs - windowMs)
    if (begin > 0) this.#marks = this.#marks.slice(begin)
  }
}

export class Board {
  readonly #clock: Clock
  readonly #sinceMs: number
  readonly #readings = new Map<string, Reading>()
  readonly #troubles = new Map<string, Trouble>()
  readonly #tookMs = new Map<string, number>()
  /** How far a stream had come when it was last told of. */
  readonly #places = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#sinceMs = clock.monotonicMs()
  }

  /** For the loop that follows the chain. */
  chain(id: string): (progress: ChainProgress) => void {
    const reading = this.#reading(`chain ${id}`, 'explorer', 'blocks')
    let head: number | undefined
    return (progress) => {
      if (progress.is === 'plan') reading.remaining = progress.blocks
      if (progress.is === 'range') reading.add(progress.range.until - progress.range.from)
      if (progress.is !== 'near') return
      // What lies above the final blocks is counted as the head moves on.
      if (head !== undefined) reading.add(progress.head - head)
      head = progress.head
      reading.remaining = 0
    }
  }

  network(network: string, { until, finalizedEpoch, written }: NetworkProgress): void {
    const name = `network ${network}`
    const reading = this.#reading(name, 'validators', 'epochs')
    const place = this.#places.get(name)
    reading.add(place === undefined ? written : until - place)
    this.#places.set(name, until)
    // The votes of the last final epoch are still coming in.
    reading.remaining = Math.max(0, finalizedEpoch - 1 - until)
  }

  feed(notice: MarketNotice): void {
    const name = `feed ${notice.source}`
    const reading = this.#reading(name, 'markets', 'records')
    if (notice.is === 'page') {
      const before = this.#places.get(name) ?? 0
      reading.add(notice.report.records - before)
      this.#places.set(name, notice.report.records)
      return
    }
    this.#places.delete(name)
    if (notice.is === 'done') this.#troubles.delete(name)
    else this.#troubles.set(name, { failures: notice.failures, reason: notice.reason, atMs: this.#clock.now() })
  }

  /** How long the source took when it was last asked. */
  rates({ source, tookMs }: RateNotice): void {
    this.#tookMs.set(source, Math.round(tookMs))
  }

  ratesTookMs(source: string): number | null {
    return this.#tookMs.get(source) ?? null
  }

  trouble(stream: string): Trouble | undefined {
    return this.#troubles.get(stream)
  }

  views(): ProgressView[] {
    return [...this.#readings].map(([stream, reading]) => {
      const perSecond = reading.perSecond()
      const { group, unit, done, remaining, lastMs } = reading
      const eta = remaining === null ? null : remaining === 0 ? 0 : perSecond > 0 ? remaining / perSecond : null
      return {
        ...{ group, stream, unit, done, remaining },
        perSecond: Number(perSecond.toFixed(3)),
        etaSeconds: eta === null ? null : Math.ceil(eta),
        lastAt: lastMs === undefined ? null : new Date(lastMs).toISOString(),
      }
    })
  }

  /** Streams are those of the configuration, so there are few. */
  #reading(name: string, group: Group, unit: ProgressView['unit']): Reading {
    const known = this.#readings.get(name)
    if (known) return known
    const reading = new Reading(group, unit, this.#clock, this.#sinceMs)
    this.#readings.set(name, reading)
    return reading
  }
}
