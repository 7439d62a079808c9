// Counts drift: fields in which a source differs from the contract, by source, kind, field and problem
// (behaviour/markets.md#unknown-fields). It shows operators that a source has changed. Only new or changed records count.
import { stringifyJson } from '#api/json.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { KindName } from './kinds.ts'

const sampleCharsMax = 80
const nameCharsMax = 128
/** A source with a different field name in every record must not fill the disk. */
const fieldsMax = 2000

/** `unknown`: not in the contract. `converted`: served in the contract's type. `left out`: cannot be used, not served. */
export type DriftProblem = 'unknown' | 'converted' | 'left out'

/** A value that differs from the contract; `field` is `name.member` inside an object. */
export interface FieldProblem {
  readonly field: string
  readonly value: unknown
  readonly problem: DriftProblem
}

type Count = {
  readonly kind: KindName
  readonly field: string
  readonly problem: DriftProblem
  /** New or changed records with this problem. */
  records: number
  /** The beginning of one value. */
  readonly sample: string
}

export class DriftCount {
  readonly #counts = new Map<string, Count>()

  /** Adds the drift of one record. A field counts once per problem. */
  add(kind: KindName, drift: readonly FieldProblem[]): void {
    const counted = new Set<string>()
    for (const { field: name, value, problem } of drift) {
      const field = name.slice(0, nameCharsMax)
      const key = `${kind}/${problem}/${field}`
      if (counted.has(key)) continue
      counted.add(key)
      const count = this.#counts.get(key)
      if (count) count.records += 1
      else {
        const sample = (stringifyJson(value) ?? 'null').slice(0, sampleCharsMax)
        this.#counts.set(key, { kind, field, problem, records: 1, sample })
      }
    }
  }

  async store(tx: StateWriter, source: string, nowMs: number): Promise<void> {
    if (this.#counts.size === 0) return
    const known = await tx.get<{ n: number }>('select count(*) as n from market_drift where source = ?', source)
    let capacity = fieldsMax - (known?.n ?? 0)
    for (const { kind, field, problem, records, sample } of this.#counts.values()) {
      const key = [source, kind, field, problem]
      if ((await tx.run(update, records, nowMs, sample, ...key)) > 0 || capacity <= 0) continue
      await tx.run(insert, ...key, records, nowMs, nowMs, sample)
      capacity -= 1
    }
  }
}

const insert = `
  insert into market_drift (source, kind, field, problem, records, first_ms, last_ms, sample)
  values (?, ?, ?, ?, ?, ?, ?, ?)`
const update = `
  update market_drift set records = records + ?, last_ms = ?, sample = ?
  where source = ? and kind = ? and field = ? and problem = ?`

export const listDrift = (reader: StateReader) =>
  reader.all<Count & { source: string; firstMs: number; lastMs: number }>(
    `select source, kind, field, problem, records, first_ms as "firstMs", last_ms as "lastMs", sample
     from market_drift order by source, kind, records desc, field, problem`,
  )
