// A market as it was known at a time: its records, and all it shows, taken back along the log of versions and written
// by the same hand that writes today's document. What was answered then is answered again, byte for byte.
//
// 1. Nothing is said about a time before the oldest entry that is kept (decision 0047).
// 2. A slug is looked up among the names of that time first, then among today's: whoever knows a market by its present
//    name may ask about its past.
import { Fault } from '#core/fault.ts'
import type { StateReader } from '#store/state.ts'
import { type Document, type Shown, type Stored, writeMarket } from './documents.ts'
import { type KindName, kinds } from './kinds.ts'
import { loadLibrary, presentRecords, type Records, storedOf } from './library.ts'
import { pastSlugsOf } from './refine.ts'
import { logHead, undo, type VersionRow, versionOf } from './versions.ts'

export interface PastMarket extends Document {
  readonly id: string
  /** Its name at that time. */
  readonly slug: string
}

export async function marketAsOf(reader: StateReader, slug: string, asOfMs: number): Promise<PastMarket | undefined> {
  const { horizonMs } = await logHead(reader)
  if (horizonMs !== undefined && asOfMs < horizonMs) throw new Fault('markets.history_gone', { terms: { horizonMs } })
  const until = await reader.get<{ seq: number | null }>(
    'select max(seq) as seq from market_versions where at_ms <= ?',
    asOfMs,
  )
  const records = pastRecords(reader, until?.seq ?? 0)
  const id = (await namedThen(reader, records, slug, until?.seq ?? 0)) ?? (await namedNow(reader, slug))
  if (id === undefined) return undefined
  const library = await loadLibrary(records, [id])
  const document = writeMarket(library, id, new Map())
  return document && { ...document, id, slug: textOf(library.record('market', id)?.fields.slug) ?? '' }
}

/** Records as they were after the entry with this number. */
export function pastRecords(reader: StateReader, seq: number): Records {
  const present = presentRecords(reader)
  const record = async (kind: KindName, id: string): Promise<Stored | undefined> => {
    let stored = await present.record(kind, id)
    const later = await reader.all<VersionRow>(
      'select * from market_versions where kind = ? and id = ? and seq > ? order by seq desc',
      kind,
      id,
      seq,
    )
    for (const { what, diff } of later.map(versionOf)) {
      if (!stored || what === 'created') return undefined
      stored = undo(kind, stored, diff)
    }
    return stored
  }
  return {
    record,
    async referring({ from, to }, id) {
      const through = kinds[from].shownThrough ?? ''
      const shown: Shown[] = []
      for (const row of await reader.all<Candidate>(candidates, seq, to, id, from, to, id, from)) {
        const then = row.later === 0 ? storedOf(row) : await record(from, row.id)
        if (!then?.links[through]?.includes(id)) continue
        const title = textOf(then.fields.question ?? then.fields.title)
        shown.push({ id: row.id, slug: textOf(then.fields.slug), title })
      }
      return shown
    },
  }
}

interface Candidate {
  readonly id: string
  readonly fields: string
  readonly links: string
  /** 1: it changed after that time. */
  readonly later: number
}

/** Whoever links there now or did once, in the order of the document. */
const candidates = `
  select r.id, r.fields, r.links,
    case when exists (select 1 from market_versions v where v.kind = r.kind and v.id = r.id and v.seq > ?)
      then 1 else 0 end as later
  from (select from_kind, from_id from market_links where to_kind = ? and to_id = ? and from_kind = ?
        union select from_kind, from_id from market_former_links where to_kind = ? and to_id = ? and from_kind = ?) l
  join market_records r on r.kind = l.from_kind and r.id = l.from_id
  order by length(r.id), r.id`

/** The rule of decision 0042, held against the names of that time. */
async function namedThen(
  reader: StateReader,
  records: Records,
  slug: string,
  seq: number,
): Promise<string | undefined> {
  const rows = await reader.all<{ market_id: string }>(
    `select market_id from market_slugs where slug = ?
     union select market_id from market_former_slugs where slug = ? order by market_id`,
    slug,
    slug,
  )
  let best: { id: string; past: number; changed: number } | undefined
  for (const { market_id: id } of rows) {
    const then = await records.record('market', id)
    const past = then ? rankOf(then, slug) : undefined
    if (past === undefined) continue
    const last = await reader.get<{ seq: number | null }>(
      `select max(seq) as seq from market_versions
       where kind = 'market' and id = ? and seq <= ? and what in ('created', 'changed')`,
      id,
      seq,
    )
    const changed = last?.seq ?? 0
    if (!best || past < best.past || (past === best.past && changed > best.changed)) best = { id, past, changed }
  }
  return best?.id
}

/** 0: its slug, 1: one it had before. */
function rankOf({ fields }: Stored, slug: string): 0 | 1 | undefined {
  if (fields.slug === slug) return 0
  return pastSlugsOf(fields.pastSlugs).includes(slug) ? 1 : undefined
}

const namedNow = async (reader: StateReader, slug: string): Promise<string | undefined> =>
  (
    await reader.get<{ market_id: string }>(
      'select market_id from market_slugs where slug = ? order by past, seq desc, market_id limit 1',
      slug,
    )
  )?.market_id

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
