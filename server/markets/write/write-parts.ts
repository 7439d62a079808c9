// Divides market records into transactions, which write what was prepared before them. On SQLite all other writes of ingest wait for each of them, and
// so do requests that store a funding, so they are short. On PostgreSQL each statement is a round trip, so they have many
// rows (decisions/pass-many-rows-as-arrays.md).
import type { State } from '#storage/state.ts'
import type { Accepted } from './accept-records.ts'

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

/** A record that only changes fast values takes this share of the time of others. */
const fastShare = 1 / 20

/** The records of the next transaction. Those of one source record stay together. */
export class WritePart {
  readonly sources: Accepted[] = []
  readonly #sizes: PartSizes
  #records = 0
  #markets = 0

  constructor(engine: State['engine']) {
    this.#sizes = partSizes[engine]
  }

  add(source: Accepted): void {
    this.sources.push(source)
    const share = source.accepted.every(({ fast }) => fast) ? fastShare : 1
    this.#records += source.accepted.length * share
    this.#markets += source.marketIds.length * share
  }

  get isFull(): boolean {
    return this.#records >= this.#sizes.records || this.#markets >= this.#sizes.markets
  }
}
