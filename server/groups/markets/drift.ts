// Fields that sources state and the contract does not know: counted by source, kind and name (decision 0044), so that an
// operator sees a source change before a caller does. Only records that are new or different are counted.
import { stringifyJson } from '#api/json.ts'
import type { StateReader, StateWriter } from '#store/state.ts'
import type { KindName } from './kinds.ts'

const sampleCharsMax = 80
const nameCharsMax = 128
/** A source that invents a name per record must not fill the disk. */
const fieldsMax = 2000

export interface Drift {
  readonly source: string
  readonly kind: KindName
  readonly field: string
  /** Records that carried it when they were new or different. */
  readonly records: number
  readonly firstMs: number
  readonly lastMs: number
  /** The beginning of one value. */
  readonly sample: string
}

export class DriftCount {
  readonly #counts = new Map<string, { kind: KindName; field: string; records: number; sample: string }>()

  add(kind: KindName, aside: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(aside)) {
      const field = name.slice(0, nameCharsMax)
      const found = this.#counts.get(`${kind}/${field}`)
      if (found) found.records += 1
      else {
        const sample = (stringifyJson(value) ?? 'null').slice(0, sampleCharsMax)
        this.#counts.set(`${kind}/${field}`, { kind, field, records: 1, sample })
      }
    }
  }

  async store(tx: StateWriter, source: string, nowMs: number): Promise<void> {
    if (this.#counts.size === 0) return
    const known = await tx.get<{ n: number }>('select count(*) as n from market_drift where source = ?', source)
    const full = (known?.n ?? 0) >= fieldsMax
    for (const { kind, field, records, sample } of this.#counts.values()) {
      await tx.run(full ? updateOnly : upsert, ...row(full, source, kind, field, records, nowMs, sample))
    }
  }
}

const upsert = `
  insert into market_drift (source, kind, field, records, first_ms, last_ms, sample) values (?, ?, ?, ?, ?, ?, ?)
  on conflict (source, kind, field) do update set records = market_drift.records + excluded.records,
    last_ms = excluded.last_ms, sample = excluded.sample`
const updateOnly = `
  update market_drift set records = records + ?, last_ms = ?, sample = ? where source = ? and kind = ? and field = ?`

const row = (
  full: boolean,
  source: string,
  kind: string,
  field: string,
  records: number,
  nowMs: number,
  sample: string,
) => (full ? [records, nowMs, sample, source, kind, field] : [source, kind, field, records, nowMs, nowMs, sample])

export async function listDrift(reader: StateReader): Promise<Drift[]> {
  return reader.all<Drift & Record<string, string | number>>(
    `select source, kind, field, records, first_ms as "firstMs", last_ms as "lastMs", sample
     from market_drift order by source, kind, records desc, field`,
  )
}
