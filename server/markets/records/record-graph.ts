// Loads all records that the documents of some markets or events show, each record once.
import { parseJson } from '#api/json.ts'
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

type RecordName = readonly [KindName, string]

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
