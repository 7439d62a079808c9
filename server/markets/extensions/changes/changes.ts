// Reads the history of versions: the changes of one market, newest first, and the changes of all records after a cursor, oldest
// first. Each read is limited (behaviour/markets.md#history-limits); an empty page has a cursor to continue from.
import type { MarketChange } from '#api/contract/wire/market-changes.ts'
import { Fault } from '#core/fault.ts'
import { EventLoopYielder, statementSteps, yieldInOrder } from '#runtime/event-loop-yielder.ts'
import type { StateReader } from '#storage/state.ts'
import { currentRecords } from '../../read/current-records.ts'
import { findMarketId } from '../../read/slug-precedence.ts'
import { readHistoryHead, readVersionsBack, type VersionedRecord } from '../../read/versions.ts'
import { type NamedVersion, readVersionsAfter, type VersionFilter } from '../../read/versions-after.ts'
import { mayChangeOneOf, parseDiff } from '../../records/diff-records.ts'
import type { KindName } from '../../records/kinds.ts'
import { loadRecordGraph, marketNames, type RecordName } from '../../records/record-graph.ts'

/** Versions scanned for one page. */
const scanMax = 5000
/** Records whose changes are merged for one market. */
const relatedMax = 1000

/** Changes after a cursor, oldest first. */
export async function listChangesAfter(
  reader: StateReader,
  after: number,
  limit: number,
  filter: VersionFilter,
): Promise<{ changes: MarketChange[]; next: number; more: boolean }> {
  const { kinds, marketIds } = filter
  const { seq: head } = await readHistoryHead(reader)
  const until = kinds || marketIds ? Math.min(after + scanMax, head) : head
  const rows = await readVersionsAfter(reader, { after, until }, limit + 1, filter, scanMax)
  const shown = rows.slice(0, limit)
  const isFull = rows.length > limit
  const next = isFull ? shown.at(-1)?.seq : until
  return {
    changes: shown.map((row) => toMarketChange(row)),
    next: Math.max(after, next ?? 0),
    more: isFull || until < head,
  }
}

/**
 * The cursor to start from. Default: before the oldest version. A cursor before deleted versions or after the newest one
 * is refused, because the caller would miss changes (behaviour/markets.md#history-boundaries).
 */
export async function resolveCursor(reader: StateReader, after: string | undefined): Promise<number> {
  const { seq, horizonSeq, fullSeq } = await readHistoryHead(reader)
  if (after === undefined) return fullSeq
  const cursor = Number(after)
  if (cursor < horizonSeq) throw historyGone(`Changes up to ${horizonSeq} have been deleted.`, seq)
  if (cursor < fullSeq) throw historyGone(`Changes of all markets up to ${fullSeq} are not listed any more.`, seq)
  if (cursor > seq) throw historyGone(`${cursor} is not a cursor of this history: it is after the newest change.`, seq)
  return cursor
}

const historyGone = (what: string, head: number): Fault =>
  new Fault('markets.history_expired', { message: `${what} Read all markets again and continue with after=${head}.` })

/** Ids of markets by current or past slug. Unknown slugs are ignored. */
export async function findMarketIds(reader: StateReader, slugs: readonly string[]): Promise<Set<string>> {
  const ids = new Set<string>()
  for (const slug of slugs) {
    const id = await findMarketId(reader, slug)
    if (id !== undefined) ids.add(id)
  }
  return ids
}

/** Changes of one market from `cursor` backwards, newest first. */
export async function listMarketChanges(
  reader: StateReader,
  marketId: string,
  options: { cursor?: number | undefined; limit: number; fields?: readonly string[] | undefined; related: boolean },
): Promise<{ changes: MarketChange[]; next: number | undefined }> {
  const { limit, related, fields } = options
  const names = related ? await listShownRecords(reader, marketId) : marketNames([marketId])
  const only = fields && new Set(fields)
  const changes: MarketChange[] = []
  let scanned = 0
  // Exclude changes that are committed during the read: only some of them would be seen.
  const { seq: head, horizonSeq } = await readHistoryHead(reader)
  for await (const row of mergeNewestFirst(reader, names, Math.min(options.cursor ?? head, head))) {
    // These are being deleted.
    if (row.seq <= horizonSeq) break
    if (changes.length >= limit || scanned >= scanMax) return { changes, next: row.seq }
    scanned += 1
    if (fields && !mayChangeOneOf(row.diff, fields)) continue
    const change = toMarketChange(row, only)
    if (!only || change.fields.length > 0) changes.push(change)
  }
  return { changes, next: undefined }
}

interface ShownRecord extends VersionedRecord {
  readonly slug: string | null
}

/** Versions of one record that have been read, oldest first. */
interface RecordBuffer {
  readonly record: ShownRecord
  readonly rows: NamedVersion[]
  readonly block: number
}

/** The block size grows for records with many changes. */
const [blockMin, blockMax, blockGrowth] = [4, 256, 4]

/** Merges the versions of several records, newest first. */
async function* mergeNewestFirst(
  reader: StateReader,
  names: readonly RecordName[],
  from: number,
): AsyncGenerator<NamedVersion> {
  const yielder = new EventLoopYielder(yieldInOrder)
  const read = async (record: ShownRecord, until: number, block: number): Promise<RecordBuffer> => {
    const rows = await readVersionsBack(reader, record, until, block)
    await yielder.spend(statementSteps + rows.length)
    return { record, rows: rows.map((row) => ({ ...row, slug: record.slug })).reverse(), block }
  }
  const records = await reader.all<ShownRecord>(
    `select r.kind, r.id, r.number, r.slug from json_each(?) as k
     join market_records r on r.kind = k.value ->> 0 and r.id = k.value ->> 1`,
    JSON.stringify(names),
  )
  const buffers: RecordBuffer[] = []
  for (const record of records) buffers.push(await read(record, from, records.length === 1 ? blockMax : blockMin))
  for (;;) {
    const at = indexOfNewest(buffers)
    const buffer = buffers[at]
    const row = buffer?.rows.pop()
    if (!buffer || !row) return
    yield row
    if (buffer.rows.length > 0) continue
    buffers[at] = await read(buffer.record, row.seq - 1, Math.min(buffer.block * blockGrowth, blockMax))
  }
}

function indexOfNewest(buffers: readonly RecordBuffer[]): number {
  let [newest, seq] = [0, -1]
  for (const [at, { rows }] of buffers.entries()) {
    const last = rows.at(-1)?.seq ?? -1
    if (last > seq) [newest, seq] = [at, last]
  }
  return newest
}

/** The market and every record that its response contains now. */
async function listShownRecords(reader: StateReader, marketId: string): Promise<RecordName[]> {
  const current = currentRecords(reader)
  let count = 0
  const bounded = (kind: KindName, id: string) => {
    count += 1
    if (count > relatedMax) throw new Fault('markets.too_many_changes', { message: tooManyRelated })
    return current.record(kind, id)
  }
  // Referring records are only shown as references, so their changes do not count.
  const graph = await loadRecordGraph(
    { record: bounded, referring: async () => [] },
    marketNames([marketId]),
    yieldInOrder,
  )
  return graph.names()
}

const tooManyRelated = `This market has more than ${relatedMax} related records. Repeat the request without \`related\`.`

function toMarketChange(row: NamedVersion, only?: ReadonlySet<string>): MarketChange {
  const { seq, atMs, kind, id, changeType, diff } = row
  const entries = Object.entries(parseDiff(diff)).filter(([field]) => !only || only.has(field))
  return {
    cursor: String(seq),
    at: new Date(atMs).toISOString(),
    kind,
    id,
    ...(row.slug !== null && { slug: row.slug }),
    change: changeType,
    fields: entries.map(([field, [before, after]]) => ({
      field,
      ...(before !== null && { before }),
      ...(after !== null && { after }),
    })),
  }
}
