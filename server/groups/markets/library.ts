// Fetches everything that the documents of some markets may show, each record once.
import { parseJson } from '#api/json.ts'
import { nextTurn } from '#io/clock.ts'
import type { StateReader } from '#store/state.ts'
import { Breath, statementSteps } from './breath.ts'
import type { Library, Shown, Stored } from './documents.ts'
import { type KindName, kinds, type Reference } from './kinds.ts'

/** Where records come from: the present, or a past. */
export interface Records {
  record(kind: KindName, id: string): Promise<Stored | undefined>
  /** Those of `reference.from` that link to this record, in order. */
  referring(reference: Reference, id: string): Promise<readonly Shown[]>
}

/** Far beyond any real market's, but a bound: what one answer may draw together. */
const recordsMax = 200_000

/** `rest`: how others get their turn meanwhile (breath.ts). */
export async function loadLibrary(
  source: Records,
  marketIds: readonly string[],
  rest: () => Promise<void> = nextTurn,
): Promise<Library> {
  const breath = new Breath(rest)
  const records = new Map<string, Stored | undefined>()
  const referring = new Map<string, readonly Shown[]>()
  const found: (readonly [KindName, string])[] = []
  const waiting: [KindName, string][] = marketIds.map((id) => ['market', id])
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [kind, id] = next
    const name = `${kind}/${id}`
    if (records.has(name)) continue
    if (records.size >= recordsMax) throw new Error(`more than ${recordsMax} records in one set of documents`)
    const record = await source.record(kind, id)
    await breath.take(statementSteps)
    records.set(name, record)
    if (!record) continue
    found.push(next)
    for (const [field, ids] of Object.entries(record.links)) {
      const to = kinds[kind].links[field]?.to
      if (to) for (const target of ids) waiting.push([to, target])
    }
    for (const reference of Object.values(kinds[kind].references)) {
      const shown = await source.referring(reference, id)
      await breath.take(statementSteps + shown.length)
      referring.set(`${reference.from}>${name}`, shown)
    }
  }
  return {
    record: (kind, id) => records.get(`${kind}/${id}`),
    referring: ({ from, to }, id) => referring.get(`${from}>${to}/${id}`) ?? [],
    names: () => found,
  }
}

export const presentRecords = (reader: StateReader): Records => ({
  async record(kind, id) {
    const row = await reader.get<{ fields: string; links: string }>(
      'select fields, links from market_records where kind = ? and id = ?',
      kind,
      id,
    )
    return row && storedOf(row)
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

export const storedOf = (row: { readonly fields: string; readonly links: string }): Stored => ({
  fields: parseJson(row.fields) as Stored['fields'],
  links: JSON.parse(row.links),
})
