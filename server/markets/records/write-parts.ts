// Divides bulk writes of market records into short transactions, because other writers wait for each of them.
import type { MarketRecord } from './normalize.ts'

/** Approximate number of records, and of markets among them, per transaction. */
const partRecords = 100
const partMarkets = 25
/** Documents that a transaction may write. A new event of a series changes the documents of all its markets. */
export const documentsPerPart = 25

/** The records of the next transaction. Those of one source record stay together. */
export class WritePart {
  readonly records: MarketRecord[] = []
  #markets = 0

  add(records: Iterable<MarketRecord>): void {
    for (const record of records) {
      this.records.push(record)
      if (record.kind === 'market') this.#markets += 1
    }
  }

  get isFull(): boolean {
    return this.records.length >= partRecords || this.#markets >= partMarkets
  }
}
