// Counts drift: fields in which a source differs from the contract, by source, kind, field and problem
// (behaviour/markets.md#unknown-fields). It shows operators that a source has changed. Only new or changed records count.
import { stringifyJson } from '#api/contract/json.ts'
import type { StateReader, StateWriter, Value } from '#storage/state.ts'
import type { KindName } from '../records/kinds.ts'
import type { DriftProblem, FieldProblem } from '../records/normalize.ts'

const sampleCharsMax = 80
const nameCharsMax = 128
/** A source with a different field name in every record must not fill the disk. */
const fieldsMax = 2000

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
    const stored = await tx.all<Pick<Count, 'kind' | 'field' | 'problem'>>(
      'select kind, field, problem from market_drift where source = ?',
      source,
    )
    const names = new Set(stored.map(({ kind, field, problem }) => `${kind}/${problem}/${field}`))
    let capacity = fieldsMax - names.size
    const rows: Value[][] = []
    for (const [name, { kind, field, problem, records, sample }] of this.#counts) {
      if (!names.has(name)) capacity -= 1
      if (!names.has(name) && capacity < 0) continue
      rows.push([source, kind, field, problem, records, nowMs, nowMs, sample])
    }
    await tx.insertMany('market_drift', columns, rows, addToExisting)
  }
}

const columns = ['source', 'kind', 'field', 'problem', 'records', 'first_ms', 'last_ms', 'sample']
const addToExisting = `on conflict (source, kind, field, problem) do update
  set records = market_drift.records + excluded.records, last_ms = excluded.last_ms, sample = excluded.sample`

export const listDrift = (reader: StateReader) =>
  reader.all<Count & { source: string; firstMs: number; lastMs: number }>(
    `select source, kind, field, problem, records, first_ms as "firstMs", last_ms as "lastMs", sample
     from market_drift order by source, kind, records desc, field, problem`,
  )
