// A market as it was known at a time: its records, and all it shows, taken back along the log of versions and written
// by the same hand that writes today's document. What was answered then is answered again, byte for byte.
//
// 1. Nothing is said about a time before the oldest entry that is kept (behaviour/markets.md#history, behaviour/markets.md#history-boundaries).
// 2. A slug is looked up among the names of that time first, then among today's: whoever knows a market by its present
//    name may ask about its past.
// 3. What one answer may read is bounded; beyond that it is refused in words (behaviour/markets.md#history-limits).
import { Fault } from '#core/fault.ts'
import type { StateReader } from '#storage/state.ts'
import { EventLoopYielder, yieldInOrder } from '../event-loop-yielder.ts'
import { type Document, type RecordReference, type StoredRecord, writeMarket } from '../records/documents.ts'
import { type KindName, kinds } from '../records/kinds.ts'
import { parsePastSlugs } from '../records/normalize.ts'
import { slugRanks } from '../records/put-markets.ts'
import { loadRecordGraph, type RecordSource } from '../records/record-graph.ts'
import { readRecordAfter } from './snapshots.ts'
import { readHistoryStartMs } from './versions.ts'

export interface PastMarket extends Document {
  readonly id: string
  /** Its name at that time. */
  readonly slug: string
}

/** Versions and records read for one answer; an event of 300 markets takes some 20 000. */
const usualReadsMax = 100_000
/** What looking for a record costs, in versions. */
const recordReads = 10

export async function marketAsOf(
  reader: StateReader,
  slug: string,
  asOfMs: number,
  readsMax = usualReadsMax,
): Promise<PastMarket | undefined> {
  await refuseDropped(reader, asOfMs)
  const last = await reader.get<{ seq: number }>(
    'select seq from market_versions where at_ms <= ? order by at_ms desc, seq desc limit 1',
    asOfMs,
  )
  const until = last?.seq ?? 0
  const records = recordsAsOf(reader, until, readsMax)
  const id = (await findMarketIdAsOf(reader, records, slug, until)) ?? (await findCurrentMarketId(reader, slug))
  const graph = id === undefined ? undefined : await loadRecordGraph(records, [id], yieldInOrder)
  // Versions may have been dropped meanwhile (1).
  await refuseDropped(reader, asOfMs)
  if (!graph || id === undefined) return undefined
  const document = writeMarket(graph, id, new Map())
  return document && { ...document, id, slug: textOrNull(graph.record('market', id)?.fields.slug) ?? '' }
}

async function refuseDropped(reader: StateReader, asOfMs: number): Promise<void> {
  const fromMs = await readHistoryStartMs(reader)
  if (fromMs === undefined || asOfMs >= fromMs) return
  const begins = new Date(fromMs).toISOString()
  throw new Fault('markets.history_gone', { message: `What is kept here begins at ${begins}; ask for then or later.` })
}

/** Records as they were after the entry with this number. */
function recordsAsOf(reader: StateReader, seq: number, readsMax: number): RecordSource {
  const yielder = new EventLoopYielder(yieldInOrder)
  let reads = 0
  const spend = async (more: number): Promise<void> => {
    reads += more
    if (reads >= readsMax) throw new Fault('markets.too_much')
    await yielder.spend(more)
  }
  const read = new Map<string, StoredRecord | undefined>()
  const record = async (kind: KindName, id: string): Promise<StoredRecord | undefined> => {
    const name = `${kind}/${id}`
    if (read.has(name)) return read.get(name)
    await spend(recordReads)
    const stored = await readRecordAfter(reader, kind, id, seq, spend)
    read.set(name, stored)
    return stored
  }
  return {
    record,
    async referring({ from, to }, id) {
      const through = kinds[from].shownThrough ?? ''
      const shown: RecordReference[] = []
      const rows = await reader.all<Candidate>(selectCandidates, seq, ...[to, id, from], ...[to, id, from], readsMax)
      await spend(rows.length)
      for (const { id: other, linked, later, slug, title } of rows) {
        if (later === 0) {
          if (linked === 1) shown.push({ id: other, slug, title })
          continue
        }
        const then = await record(from, other)
        if (!then?.links[through]?.includes(id)) continue
        shown.push({
          id: other,
          slug: textOrNull(then.fields.slug),
          title: textOrNull(then.fields.question ?? then.fields.title),
        })
      }
      return shown
    },
  }
}

interface Candidate extends RecordReference {
  /** 1: it links there now. */
  readonly linked: number
  /** 1: it changed after that time. */
  readonly later: number
}

/** Whoever links there now or did once, in the order of the document. */
const selectCandidates = `
  select r.id, r.slug, r.title, l.linked,
    case when exists (select 1 from market_versions v where v.kind = r.kind and v.id = r.id and v.seq > ?)
      then 1 else 0 end as later
  from (select from_kind, from_id, max(linked) as linked from
         (select from_kind, from_id, 1 as linked from market_links where to_kind = ? and to_id = ? and from_kind = ?
          union all select from_kind, from_id, 0 from market_former_links
          where to_kind = ? and to_id = ? and from_kind = ?) as links
        group by from_kind, from_id) as l
  join market_records r on r.kind = l.from_kind and r.id = l.from_id
  order by length(r.id), r.id limit ?`

/** The rule of behaviour/markets.md#past-slugs, held against the names of that time. */
async function findMarketIdAsOf(
  reader: StateReader,
  records: RecordSource,
  slug: string,
  seq: number,
): Promise<string | undefined> {
  const rows = await reader.all<{ market_id: string; since: number }>(
    'select market_id, since from market_slugs where slug = ? order by market_id',
    slug,
  )
  let best: { id: string; past: number; changed: number } | undefined
  for (const { market_id: id, since } of rows) {
    const then = await records.record('market', id)
    if (!then || since > seq) continue
    const past = slugRank(then, slug)
    const last = await reader.get<{ seq: number }>(
      `select seq from market_versions
       where kind = 'market' and id = ? and seq <= ? and what in ('created', 'changed') order by seq desc limit 1`,
      id,
      seq,
    )
    const changed = last?.seq ?? 0
    if (!best || past < best.past || (past === best.past && changed > best.changed)) best = { id, past, changed }
  }
  return best?.id
}

function slugRank({ fields }: StoredRecord, slug: string): number {
  if (fields.slug === slug) return slugRanks.present
  return parsePastSlugs(fields.pastSlugs).includes(slug) ? slugRanks.listed : slugRanks.former
}

const findCurrentMarketId = async (reader: StateReader, slug: string): Promise<string | undefined> =>
  (
    await reader.get<{ market_id: string }>(
      'select market_id from market_slugs where slug = ? order by past, seq desc, market_id limit 1',
      slug,
    )
  )?.market_id

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
