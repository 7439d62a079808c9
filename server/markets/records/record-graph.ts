// Fetches everything that the documents of some markets may show, each record once.
import { parseJson } from '#api/json.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { StateReader } from '#storage/state.ts'
import { EventLoopYielder, statementSteps } from '../event-loop-yielder.ts'
import type { RecordGraph, RecordReference, StoredRecord } from './documents.ts'
import { type KindName, kinds, type Reference } from './kinds.ts'

/** Where records come from: the present, or a past. */
export interface RecordSource {
  record(kind: KindName, id: string): Promise<StoredRecord | undefined>
  /** Those of `reference.from` that link to this record, in order. */
  referring(reference: Reference, id: string): Promise<readonly RecordReference[]>
}

/** Far beyond any real market's, but a bound: what one answer may draw together. */
const recordsMax = 200_000

/** `rest`: how others get their turn meanwhile (breath.ts). */
export async function loadRecordGraph(
  source: RecordSource,
  marketIds: readonly string[],
  yieldOnce: () => Promise<void> = nextEventLoopTurn,
): Promise<RecordGraph> {
  const yielder = new EventLoopYielder(yieldOnce)
  const records = new Map<string, StoredRecord | undefined>()
  const referring = new Map<string, readonly RecordReference[]>()
  const found: (readonly [KindName, string])[] = []
  const waiting: [KindName, string][] = marketIds.map((id) => ['market', id])
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [kind, id] = next
    const name = `${kind}/${id}`
    if (records.has(name)) continue
    if (records.size >= recordsMax) throw new Error(`more than ${recordsMax} records in one set of documents`)
    const record = await source.record(kind, id)
    await yielder.spend(statementSteps)
    records.set(name, record)
    if (!record) continue
    found.push(next)
    for (const [field, ids] of Object.entries(record.links)) {
      const to = kinds[kind].links[field]?.to
      if (to) for (const target of ids) waiting.push([to, target])
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
    names: () => found,
  }
}

export const currentRecords = (reader: StateReader): RecordSource => ({
  async record(kind, id) {
    const row = await reader.get<{ fields: string; links: string }>(
      'select fields, links from market_records where kind = ? and id = ?',
      kind,
      id,
    )
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
