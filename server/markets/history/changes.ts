// The log of versions as callers read it: a market's own changes running back in time, and everybody's running forward
// from a cursor. Each read is bounded (behaviour/markets.md#history-limits): a page that finds nothing within the bound says where to go on.
import type { MarketChange } from '#api/wire/market-changes.ts'
import { Fault } from '#core/fault.ts'
import type { StateReader } from '#storage/state.ts'
import { EventLoopYielder, statementSteps, yieldInOrder } from '../event-loop-yielder.ts'
import type { KindName } from '../records/kinds.ts'
import { currentRecords, loadRecordGraph } from '../records/record-graph.ts'
import { parseVersion, readLogHead, type VersionRow } from './versions.ts'

/** Entries looked at for one page, whatever is asked for. */
const scanMax = 5000
/** Records whose changes are drawn together for one market. */
const relatedMax = 1000

type ChangeRow = VersionRow & { readonly slug: string | null }

const columns = 'select v.seq, v.at_ms, v.kind, v.id, v.what, v.diff, r.slug from'
const withSlug = 'left join market_records r on r.kind = v.kind and r.id = v.id'

export interface ChangeFilter {
  readonly kinds?: readonly KindName[] | undefined
  /** Markets by id; other kinds are then left out. */
  readonly marketIds?: ReadonlySet<string> | undefined
}

export interface ForwardPage {
  readonly changes: MarketChange[]
  readonly next: number
  readonly more: boolean
}

/** Changes after a cursor, oldest first. */
export async function listChangesAfter(
  reader: StateReader,
  after: number,
  limit: number,
  filter: ChangeFilter,
): Promise<ForwardPage> {
  const { kinds, marketIds } = filter
  const { seq: head } = await readLogHead(reader)
  const until = kinds || marketIds ? Math.min(after + scanMax, head) : head
  const [wanted, values] = conditionOf(filter)
  const rows = await reader.all<ChangeRow>(
    // The stretch first, then what is wanted of it: otherwise a kind is looked up in the whole log and put in order.
    `${columns} (select * from market_versions where seq > ? and seq <= ? order by seq limit ?) v ${withSlug} ${wanted} order by v.seq limit ?`,
    ...[after, until, wanted === '' ? limit + 1 : scanMax, ...values, limit + 1],
  )
  const shown = rows.slice(0, limit)
  const isFull = rows.length > limit
  const next = isFull ? shown.at(-1)?.seq : until
  return {
    changes: shown.map((row) => toMarketChange(row)),
    next: Math.max(after, next ?? 0),
    more: isFull || until < head,
  }
}

function conditionOf({ kinds, marketIds }: ChangeFilter): [sql: string, values: readonly string[]] {
  if (marketIds) return [`where v.kind = 'market' and ${isOneOf('v.id', marketIds.size)}`, [...marketIds]]
  return kinds ? [`where ${isOneOf('v.kind', kinds.length)}`, kinds] : ['', []]
}

const isOneOf = (column: string, count: number): string =>
  count === 0 ? '1 = 0' : `${column} in (${Array(count).fill('?').join()})`

/**
 * The cursor to start from. Without one: before the oldest entry that is kept. One that points to entries that were
 * dropped, or to ones that are not there yet, is refused: nobody shall believe to have seen everything (behaviour/markets.md#history-boundaries).
 */
export async function resolveCursor(reader: StateReader, after: string | undefined): Promise<number> {
  const { seq, horizonMs } = await readLogHead(reader)
  const oldest = await reader.get<{ seq: number | null }>('select min(seq) as seq from market_versions')
  const first = (oldest?.seq ?? seq + 1) - 1
  if (after === undefined) return first
  const cursor = Number(after)
  if (horizonMs !== undefined && cursor < first) throw historyGone(`Changes up to ${first} are no longer kept.`, seq)
  if (cursor > seq)
    throw historyGone(`${cursor} is ahead of the newest change here, so it is no cursor of this history.`, seq)
  return cursor
}

const historyGone = (what: string, head: number): Fault =>
  new Fault('markets.history_gone', { message: `${what} Read the markets anew and go on with after=${head}.` })

/** Ids of markets by slug, present or past; unknown slugs name nobody. */
export async function findMarketIds(reader: StateReader, slugs: readonly string[]): Promise<Set<string>> {
  const ids = new Set<string>()
  for (const slug of slugs) {
    const id = await findMarketId(reader, slug)
    if (id !== undefined) ids.add(id)
  }
  return ids
}

/** behaviour/markets.md#past-slugs. */
export const findMarketId = async (reader: StateReader, slug: string): Promise<string | undefined> =>
  (
    await reader.get<{ market_id: string }>(
      'select market_id from market_slugs where slug = ? order by past, seq desc, market_id limit 1',
      slug,
    )
  )?.market_id

export interface BackwardPage {
  readonly changes: MarketChange[]
  readonly next: number | undefined
}

/** Changes of one market from `cursor` back, newest first. */
export async function listMarketChanges(
  reader: StateReader,
  marketId: string,
  options: { cursor?: number | undefined; limit: number; fields?: readonly string[] | undefined; related: boolean },
): Promise<BackwardPage> {
  const { limit, related, fields } = options
  const names = related ? await listShownRecords(reader, marketId) : [['market', marketId] as const]
  const only = fields && new Set(fields)
  const changes: MarketChange[] = []
  let scanned = 0
  // What is committed while this reads stays out, or it would be there in parts.
  const { seq: head } = await readLogHead(reader)
  for await (const row of mergeNewestFirst(reader, names, Math.min(options.cursor ?? head, head))) {
    if (changes.length >= limit || scanned >= scanMax) return { changes, next: row.seq }
    scanned += 1
    const change = toMarketChange(row, only)
    if (!only || change.fields.length > 0) changes.push(change)
  }
  return { changes, next: undefined }
}

type RecordName = readonly [KindName, string]

/** What has been read of one record, oldest first, and how much to read next. */
interface RecordBuffer {
  readonly name: RecordName
  readonly rows: ChangeRow[]
  readonly block: number
}

/** A record that changes often is read in larger and larger blocks, one that does not in a small one. */
const [blockMin, blockMax, blockGrowth] = [4, 256, 4]

/** The entries of all these records as one list. */
async function* mergeNewestFirst(
  reader: StateReader,
  names: readonly RecordName[],
  from: number,
): AsyncGenerator<ChangeRow> {
  const yielder = new EventLoopYielder(yieldInOrder)
  const read = async (name: RecordName, until: number, block: number): Promise<RecordBuffer> => {
    const sql = `${columns} market_versions v ${withSlug} where v.kind = ? and v.id = ? and v.seq <= ? order by v.seq desc limit ?`
    const rows = await reader.all<ChangeRow>(sql, ...name, until, block)
    await yielder.spend(statementSteps + rows.length)
    return { name, rows: rows.reverse(), block }
  }
  const buffers: RecordBuffer[] = []
  for (const name of names) buffers.push(await read(name, from, names.length === 1 ? blockMax : blockMin))
  for (;;) {
    const at = indexOfNewest(buffers)
    const buffer = buffers[at]
    const row = buffer?.rows.pop()
    if (!buffer || !row) return
    yield row
    if (buffer.rows.length > 0) continue
    buffers[at] = await read(buffer.name, row.seq - 1, Math.min(buffer.block * blockGrowth, blockMax))
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

/** The market and every record its answer shows now. */
async function listShownRecords(reader: StateReader, marketId: string): Promise<RecordName[]> {
  const present = currentRecords(reader)
  let count = 0
  const bounded = (kind: KindName, id: string) => {
    count += 1
    if (count > relatedMax) throw new Fault('markets.too_much', { message: tooManyRelated })
    return present.record(kind, id)
  }
  // What is only referred to is not shown as a record.
  const graph = await loadRecordGraph({ record: bounded, referring: async () => [] }, [marketId], yieldInOrder)
  return graph.names()
}

const tooManyRelated = `This market shows more than ${relatedMax} records; leave \`related\` out.`

function toMarketChange(row: ChangeRow, only?: ReadonlySet<string>): MarketChange {
  const { seq, atMs, kind, id, what, diff } = parseVersion(row)
  const entries = Object.entries(diff).filter(([field]) => !only || only.has(field))
  return {
    cursor: String(seq),
    at: new Date(atMs).toISOString(),
    kind,
    id,
    ...(row.slug !== null && { slug: row.slug }),
    change: what,
    fields: entries.map(([field, [before, after]]) => ({
      field,
      ...(before !== null && { before }),
      ...(after !== null && { after }),
    })),
  }
}
