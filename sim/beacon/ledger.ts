// The truth that a world acts out, written down as it happens: every validator's measures by epoch, in the words of
// docs/methodology.md.
import type { Measure } from '#groups/validators/measures.ts'

export type TruthRow = Partial<Record<Measure, number>>

export class Ledger {
  readonly #epochs: Map<number, TruthRow>[] = []

  add(epoch: number, validator: number, name: Measure, value: number | bigint): void {
    const row = this.row(epoch, validator)
    row[name] = (row[name] ?? 0) + Number(value)
  }

  /** The validator has a row, whatever it does. */
  row(epoch: number, validator: number): TruthRow {
    this.#epochs[epoch] ??= new Map()
    const rows = this.#epochs[epoch] as Map<number, TruthRow>
    const row = rows.get(validator) ?? {}
    rows.set(validator, row)
    return row
  }

  rows(epoch: number): ReadonlyMap<number, TruthRow> {
    return this.#epochs[epoch] ?? new Map()
  }
}
