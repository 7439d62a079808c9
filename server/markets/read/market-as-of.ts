// Builds the response about a market as of a past time. Undoes later changes of the market and of all records it shows,
// then writes the document with the current code, so the result is byte for byte what was returned at that time.
//
// 1. Times before the oldest stored version are refused (behaviour/markets.md#history-boundaries).
// 2. A slug is looked up among the slugs of that time first, then among the current ones.
// 3. The number of reads per request is limited (behaviour/markets.md#history-limits).
import { Fault } from '#core/fault.ts'
import { EventLoopYielder, yieldInOrder } from '#runtime/event-loop-yielder.ts'
import type { StateReader } from '#storage/state.ts'
import { type Document, type RecordReference, type StoredRecord, writeMarket } from '../records/documents.ts'
import { type KindName, kinds, type MarketKey } from '../records/kinds.ts'
import { textOrNull } from '../records/merge-record.ts'
import { parsePastSlugs } from '../records/normalize.ts'
import { loadRecordGraph, marketNames, type RecordSource } from '../records/record-graph.ts'
import { recordsAfter } from './record-after.ts'
import { compareCandidates, findMarketId, type SlugCandidate, slugRanks } from './slug-precedence.ts'
import { lastVersionAt, readHistoryStartMs } from './versions.ts'

export interface PastMarket extends Document {
  readonly id: string
  /** The slug at that time. */
  readonly slug: string
}

/** Versions and records read for one response. An event of 300 markets takes about 20 000. */
const usualReadsMax = 100_000
/** The cost of looking up a record, in versions. */
const recordReads = 10

export interface AsOfOptions {
  readonly readsMax?: number
  /** How to yield to the event loop (event-loop-yielder.ts). */
  readonly yieldOnce?: (() => Promise<void>) | undefined
}

export async function marketAsOf(
  reader: StateReader,
  key: MarketKey,
  asOfMs: number,
  { readsMax = usualReadsMax, yieldOnce = yieldInOrder }: AsOfOptions = {},
): Promise<PastMarket | undefined> {
  await refuseDeleted(reader, asOfMs)
  const until = await lastVersionAt(reader, asOfMs)
  const records = recordsAsOf(reader, until, readsMax, yieldOnce)
  const id =
    typeof key === 'string'
      ? ((await findMarketIdAsOf(reader, records, key, until)) ?? (await findMarketId(reader, key)))
      : key.id
  const graph = id === undefined ? undefined : await loadRecordGraph(records, marketNames([id]), yieldOnce)
  // Versions may have been deleted meanwhile (1).
  await refuseDeleted(reader, asOfMs)
  if (!graph || id === undefined) return undefined
  const document = writeMarket(graph, id, new Map())
  return document && { ...document, id, slug: textOrNull(graph.record('market', id)?.fields.slug) ?? '' }
}

async function refuseDeleted(reader: StateReader, asOfMs: number): Promise<void> {
  const fromMs = await readHistoryStartMs(reader)
  if (fromMs === undefined || asOfMs >= fromMs) return
  const begins = new Date(fromMs).toISOString()
  throw new Fault('markets.history_expired', {
    message: `The stored history starts at ${begins}. Use this time or later.`,
  })
}

/** Records as they were after the version `seq`. */
function recordsAsOf(reader: StateReader, seq: number, readsMax: number, yieldOnce: () => Promise<void>): RecordSource {
  const yielder = new EventLoopYielder(yieldOnce)
  let reads = 0
  const spend = async (more: number): Promise<void> => {
    reads += more
    if (reads >= readsMax) throw new Fault('markets.too_many_changes')
    await yielder.spend(more)
  }
  const read = new Map<string, StoredRecord | undefined>()
  const readRecord = recordsAfter(reader, seq, spend)
  const record = async (kind: KindName, id: string): Promise<StoredRecord | undefined> => {
    const name = `${kind}/${id}`
    if (read.has(name)) return read.get(name)
    await spend(recordReads)
    const stored = await readRecord(kind, id)
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
        const past = await record(from, other)
        if (!past?.links[through]?.includes(id)) continue
        shown.push({
          id: other,
          slug: textOrNull(past.fields.slug),
          title: textOrNull(past.fields.question ?? past.fields.title),
        })
      }
      return shown
    },
  }
}

interface Candidate extends RecordReference {
  /** 1: the link exists now. */
  readonly linked: number
  /** 1: it changed after that time. */
  readonly later: number
}

/** Records with a current or former link to this one, in the order of the document. */
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

/**
 * Applies the rule of behaviour/markets.md#past-slugs to the slugs of that time. It depends only on versions after that
 * time, because earlier ones may have been deleted.
 */
async function findMarketIdAsOf(
  reader: StateReader,
  records: RecordSource,
  slug: string,
  seq: number,
): Promise<string | undefined> {
  const sql = 'select market_id as id, since_seq as "sinceSeq" from market_slugs where slug = ? and since_seq <= ?'
  const candidates: SlugCandidate[] = []
  for (const { id, sinceSeq } of await reader.all<{ id: string; sinceSeq: number }>(sql, slug, seq)) {
    const past = await records.record('market', id)
    if (!past) continue
    candidates.push({ id, sinceSeq, rank: slugRank(past, slug), isVanished: await wasVanished(reader, id, seq) })
  }
  return candidates.sort(compareCandidates)[0]?.id
}

/** Reads the current state first, so that a commit in between is undone. */
export async function wasVanished(reader: StateReader, id: string, seq: number): Promise<boolean> {
  const current = `select vanished_ms as "vanishedMs" from market_records where kind = 'market' and id = ?`
  const document = await reader.get<{ vanishedMs: number | null }>(current, id)
  const next = await reader.get<{ change_type: string }>(
    `select change_type from market_versions
     where kind = 'market' and id = ? and seq > ? and change_type in ('vanished', 'returned') order by seq limit 1`,
    ...[id, seq],
  )
  return next ? next.change_type === 'returned' : document !== undefined && document.vanishedMs !== null
}

function slugRank({ fields }: StoredRecord, slug: string): number {
  if (fields.slug === slug) return slugRanks.present
  return parsePastSlugs(fields.pastSlugs).includes(slug) ? slugRanks.listed : slugRanks.former
}
