// The current records, for documents: read one by one for a request, or with a few queries for many documents.
import type { StateReader } from '#storage/state.ts'
import type { RecordGraph, RecordReference, StoredRecord } from '../records/documents.ts'
import { type KindName, shownReferences } from '../records/kinds.ts'
import {
  linkTargets,
  parseStoredRecord,
  type RecordName,
  type RecordSource,
  recordsMax,
} from '../records/record-graph.ts'
import { currentValues } from '../ticks/read-values.ts'
import type { VersionedRecord } from './versions.ts'

/** Use it for one snapshot only, because it keeps the values of blocks. */
export const currentRecords = (reader: StateReader): RecordSource => ({
  record: createRecordReader(reader),
  referring: ({ from, to }, id) =>
    reader.all<{ id: string; slug: string | null; title: string | null }>(
      `select r.id, r.slug, r.title from market_links l
       join market_records r on r.kind = l.from_kind and r.id = l.from_id
       where l.to_kind = ? and l.to_id = ? and l.from_kind = ?
       order by length(r.id), r.id`,
      to,
      id,
      from,
    ),
})

function createRecordReader(reader: StateReader): RecordSource['record'] {
  const addValues = valuesAdder(reader)
  return async (kind, id) => {
    const sql = `select fields, links, number, changed_ms as "changedMs" from market_records where kind = ? and id = ?`
    const row = await reader.get<CurrentRow>(sql, kind, id)
    return row && (await addValues([row]))[0]?.record
  }
}

export interface CurrentRow {
  readonly fields: string
  readonly links: string
  readonly number: number | null
  readonly changedMs: number
}

/** Adds the fast values to rows of records. Reads each block once. */
export function valuesAdder(reader: StateReader) {
  const readValues = currentValues(reader)
  return async <Row extends CurrentRow>(rows: readonly Row[]) => {
    const valuesOf = await readValues(rows.flatMap(({ number }) => number ?? []))
    return rows.map((row) => {
      const values = row.number === null ? undefined : valuesOf(row.number)
      const { fields, links } = parseStoredRecord(row)
      const changedMs = Math.max(row.changedMs, values?.changedMs ?? 0)
      return { ...row, record: { fields: { ...fields, ...values?.fields }, links }, changedMs }
    })
  }
}

export const findVersioned = async (
  reader: StateReader,
  kind: KindName,
  id: string,
): Promise<VersionedRecord | undefined> => {
  const row = await reader.get<{ number: number | null }>(
    'select number from market_records where kind = ? and id = ?',
    ...[kind, id],
  )
  return row && { kind, id, number: row.number }
}

/** Names per query. The documents of one transaction on SQLite show fewer records. */
const namesPerQuery = 2000

/** The current records that some documents show. */
export interface CurrentGraph extends RecordGraph {
  /** Of the records with fast values. */
  numbers(): readonly number[]
  /** When this record, or one that it shows, last changed. */
  lastChangeMs(kind: KindName, id: string): number
}

/**
 * The current records that the documents of these records show, read with a few queries for all of them. The reader needs
 * one snapshot. `only`: the links that are followed; default: all.
 */
export async function readCurrentRecords(
  reader: StateReader,
  starts: readonly RecordName[],
  only?: readonly string[],
): Promise<CurrentGraph> {
  const records = new Map<string, { readonly record: StoredRecord; readonly changedMs: number } | undefined>()
  const referring = new Map<string, readonly RecordReference[]>()
  const names: RecordName[] = []
  const numbers: number[] = []
  const addValues = valuesAdder(reader)
  let wanted = starts
  while (wanted.length > 0) {
    const next = new Map<string, RecordName>()
    for (let from = 0; from < wanted.length; from += namesPerQuery) {
      const part = wanted.slice(from, from + namesPerQuery)
      for (const [kind, id] of part) records.set(`${kind}/${id}`, undefined)
      if (records.size > recordsMax) throw new Error(`more than ${recordsMax} records in one set of documents`)
      for (const { kind, id, number, changedMs, record } of await addValues(await selectRecords(reader, part))) {
        records.set(`${kind}/${id}`, { record, changedMs })
        names.push([kind, id])
        if (number !== null) numbers.push(number)
        for (const [name, target] of linkTargets(kind, record.links, only)) next.set(name, target)
      }
      if (!only) for (const [name, shown] of await selectReferring(reader, part)) referring.set(name, shown)
    }
    wanted = [...next].flatMap(([name, target]) => (records.has(name) ? [] : [target]))
  }
  const lastChanges = new Map<string, number>()
  const lastChangeMs = (kind: KindName, id: string): number =>
    lastChanges.getOrInsertComputed(`${kind}/${id}`, (name) => {
      const found = records.get(name)
      if (!found) return 0
      const targets = [...linkTargets(kind, found.record.links).values()]
      return Math.max(found.changedMs, ...targets.map((target) => lastChangeMs(...target)))
    })
  return {
    record: (kind, id) => records.get(`${kind}/${id}`)?.record,
    referring: ({ from, to }, id) => referring.get(`${from}>${to}/${id}`) ?? [],
    names: () => names,
    numbers: () => numbers,
    lastChangeMs,
  }
}

const selectRecords = (reader: StateReader, names: readonly RecordName[]) =>
  reader.all<CurrentRow & { kind: KindName; id: string }>(
    `select r.kind, r.id, r.fields, r.links, r.number, r.changed_ms as "changedMs" from json_each(?) as k
     join market_records r on r.kind = k.value ->> 0 and r.id = k.value ->> 1`,
    JSON.stringify(names),
  )

/** All references to these records, by reference and record. */
async function selectReferring(
  reader: StateReader,
  names: readonly RecordName[],
): Promise<ReadonlyMap<string, readonly RecordReference[]>> {
  const keys = names.flatMap(([kind, id]) => shownReferences(kind).map(({ from }) => [kind, id, from] as const))
  if (keys.length === 0) return new Map()
  const rows = await reader.all<RecordReference & { to: string; target: string; from: string }>(
    `select l.to_kind as "to", l.to_id as "target", l.from_kind as "from", r.id, r.slug, r.title from json_each(?) as k
     join market_links l on l.to_kind = k.value ->> 0 and l.to_id = k.value ->> 1 and l.from_kind = k.value ->> 2
     join market_records r on r.kind = l.from_kind and r.id = l.from_id
     order by length(r.id), r.id`,
    JSON.stringify(keys),
  )
  const referring = new Map<string, RecordReference[]>()
  for (const { to, target, from, ...shown } of rows)
    referring.getOrInsertComputed(`${from}>${to}/${target}`, () => []).push(shown)
  return referring
}
