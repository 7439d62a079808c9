// The records of one pass over a feed, by which a page that repeats is recognized (behaviour/markets.md#pages-that-repeat).
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { recordKey } from './feed-page.ts'

/** Bounds the memory of a pass to about 100 MB. Of longer passes, only the last records are known. */
const recordsPerSet = 500_000

export class SeenRecords {
  readonly #feed: MarketFeed
  readonly #recordsPerSet: number
  #recent = new Set<string>()
  #older: ReadonlySet<string> = new Set()

  constructor(feed: MarketFeed, perSet = recordsPerSet) {
    this.#feed = feed
    this.#recordsPerSet = perSet
  }

  hasNew(records: readonly unknown[]): boolean {
    return records.some((record) => !this.#has(recordKey(record, this.#feed)))
  }

  /** Returns how many of the records are new. */
  add(records: readonly unknown[]): number {
    let count = 0
    for (const record of records) {
      const key = recordKey(record, this.#feed)
      if (this.#has(key)) continue
      if (this.#recent.size >= this.#recordsPerSet) {
        this.#older = this.#recent
        this.#recent = new Set()
      }
      this.#recent.add(key)
      count += 1
    }
    return count
  }

  #has(key: string): boolean {
    return this.#recent.has(key) || this.#older.has(key)
  }
}
