// Divides market records into transactions. On SQLite all other writes of ingest wait for each of them, and
// so do requests that store a funding, so they are short. On PostgreSQL each statement is a round trip, so they have many
// rows (decisions/pass-many-rows-as-arrays.md).
import type { State } from '#storage/state.ts'
import type { MarketRecord } from '../records/normalize.ts'

interface PartSizes {
  /** Approximate number of records, and of markets among them. */
  readonly records: number
  readonly markets: number
}

/** Rows of one transaction. */
const partSizes: Readonly<Record<State['engine'], PartSizes>> = {
  sqlite: { records: 400, markets: 100 },
  postgres: { records: 20_000, markets: 1000 },
}

/** The records of the next transaction. Those of one source record stay together. */
export class WritePart {
  readonly records: MarketRecord[] = []
  readonly #sizes: PartSizes
  #markets = 0

  constructor(engine: State['engine']) {
    this.#sizes = partSizes[engine]
  }

  add(records: Iterable<MarketRecord>): void {
    for (const record of records) {
      this.records.push(record)
      if (record.kind === 'market') this.#markets += 1
    }
  }

  get isFull(): boolean {
    return this.records.length >= this.#sizes.records || this.#markets >= this.#sizes.markets
  }
}
