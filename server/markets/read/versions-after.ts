// Reads the versions of all records after one of them, in order: those of market_versions and those of ticks.
import type { StateReader, Value } from '#storage/state.ts'
import type { KindName } from '../records/kinds.ts'
import { type TickRow, unpackTicks } from '../ticks/block-values.ts'
import type { TimedChange } from '../ticks/read-values.ts'
import { type VersionRow, versionColumns } from './versions.ts'

export type NamedVersion = VersionRow & { readonly slug: string | null }

export interface VersionFilter {
  readonly kinds?: readonly KindName[] | undefined
  /** Only versions of these markets, and of no other kind of record. */
  readonly marketIds?: ReadonlySet<string> | undefined
}

interface SeqRange {
  /** Exclusive. */
  readonly after: number
  readonly until: number
}

/** The first `limit` versions of the range. `scanMax`: how many it has at most, if there is a filter. */
export async function readVersionsAfter(
  reader: StateReader,
  range: SeqRange,
  limit: number,
  filter: VersionFilter,
  scanMax: number,
): Promise<NamedVersion[]> {
  const [condition, values] = conditionOf(filter)
  const rows = await reader.all<NamedVersion>(
    // Select the range first, then filter it. Otherwise the planner filters and sorts the whole table.
    `select ${versionColumns}, r.slug from
       (select * from market_versions where seq > ? and seq <= ? order by seq limit ?) v
     left join market_records r on r.kind = v.kind and r.id = v.id ${condition} order by v.seq limit ?`,
    ...[range.after, range.until, condition === '' ? limit : scanMax, ...values, limit],
  )
  const fast = await readFastVersions(reader, range, limit, filter)
  return [...rows, ...fast].sort((a, b) => a.seq - b.seq).slice(0, limit)
}

function conditionOf({ kinds, marketIds }: VersionFilter): [sql: string, values: readonly Value[]] {
  if (marketIds) return [`where v.kind = 'market' and v.id in (select atom from json_each(?))`, [toList(marketIds)]]
  return kinds ? ['where v.kind in (select atom from json_each(?))', [toList(kinds)]] : ['', []]
}

const toList = (values: Iterable<unknown>): string => JSON.stringify([...values])

/** Rows of ticks per query. A commit has one for each block that it changes. */
const rowsAtOnce = 16

async function readFastVersions(
  reader: StateReader,
  { after, until }: SeqRange,
  limit: number,
  filter: VersionFilter,
): Promise<NamedVersion[]> {
  const found: NamedVersion[] = []
  // The commit of the version `after` may have later ones in any of its rows.
  const commit = await reader.get<{ from: number }>(
    'select after_seq as "from" from market_ticks where seq <= ? order by seq desc limit 1',
    after,
  )
  for (let from = commit?.from ?? 0; ; ) {
    const rows = await reader.all<TickRow>(
      `select block, seq, at_ms as "atMs", changes from market_ticks where seq > ? and seq <= ? order by seq limit ?`,
      ...[from, until, rowsAtOnce],
    )
    const changes = rows.flatMap((row) => unpackTicks(row).map((change) => ({ ...change, atMs: row.atMs })))
    const whole = changes.filter(({ seq, isPart }) => seq > after && seq <= until && !isPart)
    found.push(...(await nameVersions(reader, whole, filter)))
    if (rows.length < rowsAtOnce) return found
    // The rows after this one have later versions than it begins with.
    from = rows.at(-1)?.seq ?? until
    if (found.filter(({ seq }) => seq <= from).length >= limit) return found.filter(({ seq }) => seq <= from)
  }
}

async function nameVersions(
  reader: StateReader,
  changes: readonly TimedChange[],
  { kinds, marketIds }: VersionFilter,
): Promise<NamedVersion[]> {
  if (changes.length === 0) return []
  const rows = await reader.all<{ number: number; kind: KindName; id: string; slug: string | null }>(
    'select number, kind, id, slug from market_records where number in (select value from json_each(?))',
    toList(new Set(changes.map(({ number }) => number))),
  )
  const isWanted = ({ kind, id }: (typeof rows)[number]) =>
    marketIds ? kind === 'market' && marketIds.has(id) : (kinds?.includes(kind) ?? true)
  const records = new Map(rows.filter(isWanted).map(({ number, ...name }) => [number, name]))
  return changes.flatMap(({ number, seq, atMs, diff }) => {
    const record = records.get(number)
    return record ? [{ seq, atMs, changeType: 'changed', diff, ...record } as const] : []
  })
}
