// Tracks which markets a feed still lists: one bitmap per pass, with the numbers of the listed markets. A market that no
// feed lists any more is kept and marked as vanished, with the time it was last seen (behaviour/markets.md#vanished-markets).
// The mark is removed when a feed lists it again.
//
// 1. A bitmap is updated with every page, so an interrupted pass loses nothing.
// 2. A market that is missing from the bitmaps of the last passes, but not from an older one, is a candidate. Its bitmap is
//    deleted when the candidates have been marked, or kept while too many are missing.
import { putRow } from '#storage/put-row.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { openVersionWriter } from '../write/version-writer.ts'
import { MarketBitmap } from './market-bitmap.ts'

interface Presence {
  readonly source: string
  readonly fullPass: number
  /** When the pass listed its first market. */
  readonly seenMs: number
  readonly markets: MarketBitmap
}

/** The bitmaps of a feed, or of all feeds, newest first. */
export async function readPresence(reader: StateReader, source?: string): Promise<readonly Presence[]> {
  const rows = await reader.all<Omit<Presence, 'markets'> & { markets: Uint8Array }>(
    `select source, full_pass as "fullPass", seen_ms as "seenMs", markets from market_feed_presence
     ${source === undefined ? '' : 'where source = ?'} order by full_pass desc`,
    ...(source === undefined ? [] : [source]),
  )
  return rows.map((row) => ({ ...row, markets: MarketBitmap.decode(row.markets) }))
}

function unite(all: readonly Presence[]): MarketBitmap {
  const united = new MarketBitmap()
  for (const { markets } of all) united.addAll(markets)
  return united
}

/** Records that the feed lists these markets, and removes "vanished" marks. */
export async function recordPresence(
  tx: StateWriter,
  source: string,
  marketIds: Iterable<string>,
  fullPass: number,
  nowMs: number,
): Promise<void> {
  const ids = [...new Set(marketIds)]
  if (ids.length === 0) return
  const rows = await tx.all<{ id: string; number: number; vanishedMs: number | null }>(
    `select id, number, vanished_ms as "vanishedMs" from market_records
     where kind = 'market' and id in (select atom from json_each(?))`,
    JSON.stringify(ids),
  )
  const sql = 'select seen_ms as "seenMs", markets from market_feed_presence where source = ? and full_pass = ?'
  const stored = await tx.get<{ seenMs: number; markets: Uint8Array }>(sql, source, fullPass)
  const markets = stored ? MarketBitmap.decode(stored.markets) : new MarketBitmap()
  const isNew = rows.some(({ number }) => !markets.has(number))
  for (const { number } of rows) markets.add(number)
  if (isNew) {
    const row = { source, full_pass: fullPass, seen_ms: stored?.seenMs ?? nowMs, markets: markets.encode() }
    await putRow(tx, 'market_feed_presence', ['source', 'full_pass'], row)
  }
  const vanished = new Set(rows.filter(({ vanishedMs }) => vanishedMs !== null).map(({ id }) => id))
  const returned = ids.filter((id) => vanished.has(id))
  await tx.updateMany(
    'market_records',
    ['kind', 'id'],
    ['vanished_ms'],
    returned.map((id) => ['market', id, null]),
  )
  await logPresenceChange(tx, returned, 'returned', nowMs)
}

/** Up to this many markets may always disappear at once, as long as the feed still lists one. */
const absentMin = 20

/**
 * After a full pass: the number of missing markets if it exceeds the share `shareMax` of the feed's markets, otherwise 0.
 * A failing source often returns an empty list, which must not mark all its markets as vanished.
 */
export async function countAbsent(
  tx: StateReader,
  source: string,
  fullPass: number,
  shareMax: number,
): Promise<number> {
  const presence = await readPresence(tx, source)
  const listed = unite(presence.filter((pass) => pass.fullPass === fullPass))
  const missing = unite(presence)
  missing.removeAll(listed)
  const [absent, shown] = [(await selectPresent(tx, missing)).length, listed.size]
  const isPlausible = absent <= (absent + shown) * shareMax || (absent <= absentMin && shown > 0)
  return isPlausible ? 0 : absent
}

/** After a full pass: marks markets that this feed has not listed for `vanishAfter` passes, unless another feed does. */
export async function markVanished(
  tx: StateWriter,
  source: string,
  others: readonly string[],
  fullPass: number,
  vanishAfter: number,
  nowMs: number,
): Promise<readonly string[]> {
  const own = await readPresence(tx, source)
  const isOld = (pass: Presence) => pass.fullPass <= fullPass - vanishAfter
  const old = own.filter(isOld)
  const missing = unite(old)
  missing.removeAll(unite(own.filter((pass) => !isOld(pass))))
  for (const other of others) missing.removeAll(await readListed(tx, other, vanishAfter))
  // As the ids are ordered, so that the history does not depend on the numbers.
  const vanished = (await selectPresent(tx, missing)).sort((a, b) => (a.id < b.id ? -1 : 1))
  const seenMs = (number: number) => old.find(({ markets }) => markets.has(number))?.seenMs ?? nowMs
  await tx.updateMany(
    'market_records',
    ['kind', 'id'],
    ['vanished_ms'],
    vanished.map(({ id, number }) => ['market', id, seenMs(number)]),
  )
  await tx.run('delete from market_feed_presence where source = ? and full_pass <= ?', source, fullPass - vanishAfter)
  const ids = vanished.map(({ id }) => id)
  await logPresenceChange(tx, ids, 'vanished', nowMs)
  return ids
}

/** While too many markets are missing, the bitmaps of older passes are kept as one. */
export async function uniteOldPresence(tx: StateWriter, source: string, fullPass: number): Promise<void> {
  const old = (await readPresence(tx, source)).filter((pass) => pass.fullPass <= fullPass)
  const [newest] = old
  if (!newest || old.length === 1) return
  await tx.run('delete from market_feed_presence where source = ? and full_pass < ?', source, newest.fullPass)
  const row = { source, full_pass: newest.fullPass, seen_ms: newest.seenMs, markets: unite(old).encode() }
  await putRow(tx, 'market_feed_presence', ['source', 'full_pass'], row)
}

/** The markets that a feed has listed in one of its last passes. */
async function readListed(tx: StateReader, source: string, passes: number): Promise<MarketBitmap> {
  const sql = 'select full_pass as "fullPass" from market_feeds where source = ?'
  const feed = await tx.get<{ fullPass: number }>(sql, source)
  const presence = feed ? await readPresence(tx, source) : []
  return unite(presence.filter(({ fullPass }) => fullPass > (feed?.fullPass ?? 0) - passes))
}

/** Numbers per statement. */
const numbersAtOnce = 5000

/** Those of the markets that are not marked as vanished. */
async function selectPresent(tx: StateReader, markets: MarketBitmap) {
  const numbers = [...markets.numbers()]
  const present: { id: string; number: number }[] = []
  for (let from = 0; from < numbers.length; from += numbersAtOnce) {
    const rows = await tx.all<{ id: string; number: number }>(
      `select id, number from market_records
       where number in (select value from json_each(?)) and vanished_ms is null`,
      JSON.stringify(numbers.slice(from, from + numbersAtOnce)),
    )
    present.push(...rows)
  }
  return present
}

async function logPresenceChange(
  tx: StateWriter,
  ids: readonly string[],
  changeType: 'vanished' | 'returned',
  nowMs: number,
) {
  if (ids.length === 0) return
  const versions = await openVersionWriter(tx, nowMs)
  for (const id of ids) versions.append('market', id, changeType)
  await versions.write()
}
