// Reads the versions of all records after one of them, in order: those of market_versions, and those of ticks and packs.
import type { StateReader, Value } from '#storage/state.ts'
import type { KindName } from '../records/kinds.ts'
import { type TickRow, unpackTicks } from '../ticks/block-values.ts'
import { type CommitRow, unpackBlocks } from '../ticks/commit-blocks.ts'
import { type BlockHistory, unpackBlock } from '../ticks/pack-codec.ts'
import { blockOf, numberAt } from '../ticks/packed-lines.ts'
import { describeChanges, type VersionRange } from '../ticks/packs.ts'
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

/** Commits per query. Each has a row of ticks for each block that it changes. */
const commitsAtOnce = 4

interface Commit {
  readonly seq: number
  readonly afterSeq: number
  readonly blocks: Uint8Array
}

async function readFastVersions(
  reader: StateReader,
  { after, until }: SeqRange,
  limit: number,
  filter: VersionFilter,
): Promise<NamedVersion[]> {
  const found: NamedVersion[] = []
  const wanted = filter.marketIds && (await readBlocksOf(reader, filter.marketIds))
  for (let from = after; ; ) {
    const commits = await reader.all<Commit>(
      `select seq, after_seq as "afterSeq", blocks from market_commits where seq > ? and after_seq < ?
       order by seq limit ?`,
      ...[from, until, commitsAtOnce],
    )
    for (const commit of commits) {
      const range = { from: Math.max(after, commit.afterSeq), until: Math.min(until, commit.seq) }
      const rows = unpackBlocks(commit).filter(({ block }) => wanted?.has(block) ?? true)
      found.push(...(await readCommit(reader, rows, range, limit - found.length, filter)))
      if (found.length >= limit) return found
    }
    const last = commits.at(-1)
    if (!last || commits.length < commitsAtOnce) return found
    from = last.seq
  }
}

/** Rows of ticks of one commit that are read together. */
const rowsAtOnce = 16

/** The first versions of a commit, in order, from rows of ticks or from the packs that have replaced them. */
async function readCommit(
  reader: StateReader,
  rows: readonly CommitRow[],
  range: VersionRange,
  limit: number,
  filter: VersionFilter,
): Promise<NamedVersion[]> {
  const found: NamedVersion[] = []
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    const changes = await readRows(reader, rows.slice(at, at + rowsAtOnce), range)
    found.push(...(await nameVersions(reader, changes, filter)))
    // The rows after these have later versions than they begin with.
    const next = rows[at + rowsAtOnce]?.seq ?? Number.MAX_SAFE_INTEGER
    if (found.filter(({ seq }) => seq < next).length >= limit) break
  }
  return found.sort((a, b) => a.seq - b.seq).slice(0, limit)
}

type Describe = (kind: KindName) => readonly TimedChange[]

/** The changes of records by their numbers. Ticks are read first, so those that are merged meanwhile are found in packs. */
async function readRows(
  reader: StateReader,
  rows: readonly CommitRow[],
  range: VersionRange,
): Promise<ReadonlyMap<number, Describe>> {
  const ticks = await reader.all<TickRow>(
    `select block, seq, at_ms as "atMs", changes from market_ticks where seq in (select value from json_each(?))`,
    JSON.stringify(rows.map(({ seq }) => seq)),
  )
  const changes = new Map<number, TimedChange[]>()
  for (const row of ticks)
    for (const change of unpackTicks(row))
      if (change.seq > range.from && change.seq <= range.until)
        changes.getOrInsertComputed(change.number, () => []).push({ ...change, atMs: row.atMs })
  const described = new Map<number, Describe>([...changes].map(([number, list]) => [number, () => list]))
  const read = new Set(ticks.map(({ block }) => block))
  for (const { block, seq } of rows.filter((row) => !read.has(row.block)))
    for (const [slot, history] of await readPack(reader, block, seq)) {
      const number = numberAt(block, slot)
      if (history.changes.some((change) => change.seq > range.from && change.seq <= range.until))
        described.set(number, (kind) => describeChanges(kind, number, history, range))
    }
  return described
}

async function readPack(reader: StateReader, block: number, seq: number): Promise<BlockHistory> {
  const row = await reader.get<{ packed: Uint8Array }>(
    'select packed from market_packs where block = ? and until_seq >= ? order by until_seq limit 1',
    ...[block, seq],
  )
  return row ? unpackBlock(row.packed) : new Map()
}

/** The blocks of the fast values of some markets. */
async function readBlocksOf(reader: StateReader, marketIds: ReadonlySet<string>): Promise<ReadonlySet<number>> {
  const rows = await reader.all<{ number: number }>(
    `select number from market_records where kind = 'market' and id in (select atom from json_each(?))`,
    toList(marketIds),
  )
  return new Set(rows.map(({ number }) => blockOf(number)))
}

async function nameVersions(
  reader: StateReader,
  changes: ReadonlyMap<number, Describe>,
  { kinds, marketIds }: VersionFilter,
): Promise<NamedVersion[]> {
  if (changes.size === 0) return []
  const rows = await reader.all<{ number: number; kind: KindName; id: string; slug: string | null }>(
    'select number, kind, id, slug from market_records where number in (select value from json_each(?))',
    toList(changes.keys()),
  )
  const isWanted = ({ kind, id }: (typeof rows)[number]) =>
    marketIds ? kind === 'market' && marketIds.has(id) : (kinds?.includes(kind) ?? true)
  return rows
    .filter(isWanted)
    .flatMap(({ number, kind, id, slug }) =>
      (changes.get(number)?.(kind) ?? [])
        .filter(({ isPart }) => !isPart)
        .map(({ seq, atMs, diff }) => ({ seq, atMs, changeType: 'changed', diff, kind, id, slug }) as const),
    )
}
