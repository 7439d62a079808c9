// Loads all records that the documents of some markets or events show, each record once.
import { parseJson } from '#api/contract/json.ts'
import type { StateReader } from '#storage/state.ts'
import { EventLoopYielder, statementSteps } from '../event-loop-yielder.ts'
import type { RecordGraph, RecordReference, StoredRecord } from './documents.ts'
import { type KindName, kinds, type Reference } from './kinds.ts'

/** The current records, or those of a past time. */
export interface RecordSource {
  record(kind: KindName, id: string): Promise<StoredRecord | undefined>
  /** The records of kind `reference.from` that link to this one, in order. */
  referring(reference: Reference, id: string): Promise<readonly RecordReference[]>
}

export type RecordName = readonly [KindName, string]

export const marketNames = (ids: readonly string[]): RecordName[] => ids.map((id) => ['market', id])

/** Limit of the records loaded for one set of documents; far more than real markets have. */
const recordsMax = 200_000

/** `yieldOnce`: how to yield to the event loop (event-loop-yielder.ts). */
export async function loadRecordGraph(
  source: RecordSource,
  starts: readonly RecordName[],
  yieldOnce?: () => Promise<void>,
): Promise<RecordGraph> {
  const yielder = new EventLoopYielder(yieldOnce)
  const records = new Map<string, StoredRecord | undefined>()
  const referring = new Map<string, readonly RecordReference[]>()
  const names: RecordName[] = []
  const queue: RecordName[] = [...starts]
  for (let next = queue.pop(); next; next = queue.pop()) {
    const [kind, id] = next
    const name = `${kind}/${id}`
    if (records.has(name)) continue
    if (records.size >= recordsMax) throw new Error(`more than ${recordsMax} records in one set of documents`)
    const record = await source.record(kind, id)
    await yielder.spend(statementSteps)
    records.set(name, record)
    if (!record) continue
    names.push(next)
    for (const [field, ids] of Object.entries(record.links)) {
      const to = kinds[kind].links[field]?.to
      if (to) for (const target of ids) queue.push([to, target])
    }
    for (const reference of Object.values(kinds[kind].references)) {
      const shown = await source.referring(reference, id)
      await yielder.spend(statementSteps + shown.length)
      referring.set(`${reference.from}>${name}`, shown)
    }
  }
  return {
    record: (kind, id) => records.get(`${kind}/${id}`),
    referring: ({ from, to }, id) => referring.get(`${from}>${to}/${id}`) ?? [],
    names: () => names,
  }
}

/** Names per query. The documents of one transaction on SQLite show fewer records. */
const namesPerQuery = 2000

/** The current records that the documents of these records show, read with a few queries for all of them. */
export async function readCurrentRecords(reader: StateReader, starts: readonly RecordName[]): Promise<RecordSource> {
  const records = new Map<string, StoredRecord | undefined>()
  const referring = new Map<string, readonly RecordReference[]>()
  let names = starts
  while (names.length > 0) {
    const next = new Map<string, RecordName>()
    for (let from = 0; from < names.length; from += namesPerQuery) {
      const part = names.slice(from, from + namesPerQuery)
      for (const [kind, id] of part) records.set(`${kind}/${id}`, undefined)
      if (records.size > recordsMax) throw new Error(`more than ${recordsMax} records in one set of documents`)
      for (const { kind, id, ...row } of await selectRecords(reader, part)) {
        const record = parseStoredRecord(row)
        records.set(`${kind}/${id}`, record)
        for (const [name, target] of linkTargets(kind, record.links)) next.set(name, target)
      }
      for (const [name, shown] of await selectReferring(reader, part)) referring.set(name, shown)
    }
    names = [...next].flatMap(([name, target]) => (records.has(name) ? [] : [target]))
  }
  return {
    record: async (kind, id) => records.get(`${kind}/${id}`),
    referring: async ({ from, to }, id) => referring.get(`${from}>${to}/${id}`) ?? [],
  }
}

const selectRecords = (reader: StateReader, names: readonly RecordName[]) =>
  reader.all<{ kind: KindName; id: string; fields: string; links: string }>(
    `select r.kind, r.id, r.fields, r.links from json_each(?) as k
     join market_records r on r.kind = k.value ->> 0 and r.id = k.value ->> 1`,
    JSON.stringify(names),
  )

/** All references to these records, by reference and record. */
async function selectReferring(
  reader: StateReader,
  names: readonly RecordName[],
): Promise<ReadonlyMap<string, readonly RecordReference[]>> {
  const keys = names.flatMap(([kind, id]) =>
    Object.values(kinds[kind].references).map(({ from }) => [kind, id, from] as const),
  )
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

/** The records that a record links to, each once. */
export function linkTargets(kind: KindName, links: StoredRecord['links']): ReadonlyMap<string, RecordName> {
  const targets = new Map<string, RecordName>()
  for (const [field, ids] of Object.entries(links)) {
    const to = kinds[kind].links[field]?.to
    if (to) for (const id of ids) targets.set(`${to}/${id}`, [to, id])
  }
  return targets
}

export const currentRecords = (reader: StateReader): RecordSource => ({
  async record(kind, id) {
    const sql = 'select fields, links from market_records where kind = ? and id = ?'
    const row = await reader.get<{ fields: string; links: string }>(sql, kind, id)
    return row && parseStoredRecord(row)
  },
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

export const parseStoredRecord = (row: { readonly fields: string; readonly links: string }): StoredRecord => ({
  fields: parseJson(row.fields) as StoredRecord['fields'],
  links: JSON.parse(row.links),
})
