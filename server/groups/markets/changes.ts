// The log of versions as callers read it: a market's own changes running back in time, and everybody's running forward
// from a cursor. Each read is bounded: a page that finds nothing within the bound says where to go on.
import type { MarketChange } from '#api/wire/market-changes.ts'
import { Fault } from '#core/fault.ts'
import type { StateReader } from '#store/state.ts'
import type { KindName } from './kinds.ts'
import { loadLibrary, presentRecords } from './library.ts'
import { logHead, type VersionRow, versionOf } from './versions.ts'

/** Entries looked at for one page, whatever is asked for. */
const scanMax = 5000
/** Records whose changes are drawn together for one market. */
const relatedMax = 500

type Row = VersionRow & { readonly slug: string | null }

const columns = 'select v.seq, v.at_ms, v.kind, v.id, v.what, v.diff, r.slug from market_versions v'
const withSlug = 'left join market_records r on r.kind = v.kind and r.id = v.id'

export interface Filter {
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
export async function changesAfter(
  reader: StateReader,
  after: number,
  limit: number,
  filter: Filter,
): Promise<ForwardPage> {
  const unfiltered = filter.kinds === undefined && filter.marketIds === undefined
  const rowsMax = unfiltered ? limit + 1 : scanMax
  const rows = await reader.all<Row>(`${columns} ${withSlug} where v.seq > ? order by v.seq limit ?`, after, rowsMax)
  const changes: MarketChange[] = []
  let next = after
  for (const row of rows) {
    if (changes.length >= limit) return { changes, next, more: true }
    next = row.seq
    if (fits(row, filter)) changes.push(changeOf(row))
  }
  return { changes, next, more: rows.length === rowsMax }
}

const fits = ({ kind, id }: Row, { kinds, marketIds }: Filter): boolean =>
  marketIds ? kind === 'market' && marketIds.has(id) : kinds === undefined || kinds.includes(kind)

/**
 * The cursor to start from. Without one: before the oldest entry that is kept. One that points to entries that were
 * dropped is refused, so that nobody believes to have seen everything.
 */
export async function startOf(reader: StateReader, after: string | undefined): Promise<number> {
  const { seq, horizonMs } = await logHead(reader)
  const oldest = await reader.get<{ seq: number | null }>('select min(seq) as seq from market_versions')
  const first = (oldest?.seq ?? seq + 1) - 1
  if (after === undefined) return first
  const asked = Number(after)
  if (horizonMs !== undefined && asked < first) throw new Fault('markets.history_gone')
  return asked
}

/** Ids of markets by slug, present or past; unknown slugs name nobody. */
export async function marketIdsOf(reader: StateReader, slugs: readonly string[]): Promise<Set<string>> {
  const ids = new Set<string>()
  for (const slug of slugs) {
    const id = await marketIdOf(reader, slug)
    if (id !== undefined) ids.add(id)
  }
  return ids
}

/** Decision 0042. */
export const marketIdOf = async (reader: StateReader, slug: string): Promise<string | undefined> =>
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
export async function changesOf(
  reader: StateReader,
  marketId: string,
  options: { cursor?: number | undefined; limit: number; fields?: readonly string[] | undefined; related: boolean },
): Promise<BackwardPage> {
  const { limit, related, fields } = options
  const names = related ? await shownBy(reader, marketId) : [['market', marketId] as const]
  const only = fields && new Set(fields)
  const changes: MarketChange[] = []
  let from = options.cursor ?? Number.MAX_SAFE_INTEGER
  for (let scanned = 0; scanned < scanMax; ) {
    const rows = await newestOf(reader, names, from, limit + 1)
    for (const row of rows) {
      if (changes.length >= limit) return { changes, next: row.seq }
      const change = changeOf(row, only)
      if (!only || change.fields.length > 0) changes.push(change)
      from = row.seq - 1
    }
    scanned += Math.max(1, rows.length)
    if (rows.length <= limit) return { changes, next: undefined }
  }
  return { changes, next: from }
}

async function newestOf(
  reader: StateReader,
  names: readonly (readonly [KindName, string])[],
  from: number,
  rowsMax: number,
): Promise<Row[]> {
  const sql = `${columns} ${withSlug} where v.kind = ? and v.id = ? and v.seq <= ? order by v.seq desc limit ?`
  const lists = []
  for (const [kind, id] of names) lists.push(await reader.all<Row>(sql, kind, id, from, rowsMax))
  const rows = lists.flat().sort((a, b) => b.seq - a.seq)
  return rows.slice(0, rowsMax)
}

/** The market and every record its answer shows now. */
async function shownBy(reader: StateReader, marketId: string): Promise<(readonly [KindName, string])[]> {
  const library = await loadLibrary(presentRecords(reader), [marketId])
  return library.names().slice(0, relatedMax)
}

function changeOf(row: Row, only?: ReadonlySet<string>): MarketChange {
  const { seq, atMs, kind, id, what, diff } = versionOf(row)
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
