// Tracks which markets a feed still lists. A market that no feed lists any more is kept and marked as vanished, with the
// time it was last seen (behaviour/markets.md#vanished-markets). The mark is removed when a feed lists it again.
import { replaceOnConflict } from '#storage/put-row.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { openVersionWriter } from '../write/version-writer.ts'

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
  const columns = ['source', 'market_id', 'full_pass', 'seen_ms']
  const rows = ids.map((id) => [source, id, fullPass, nowMs])
  await tx.insertMany('market_feed_presence', columns, rows, replaceOnConflict(['source', 'market_id'], columns))
  const returned = await tx.all<{ id: string }>(
    `update market_records set vanished_ms = null
     where kind = 'market' and vanished_ms is not null and id in (select atom from json_each(?)) returning id`,
    JSON.stringify(ids),
  )
  const inOrder = ids.filter((id) => returned.some((one) => one.id === id))
  await logPresenceChange(tx, inOrder, 'returned', nowMs)
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
  const row = await tx.get<{ total: number; shown: number }>(
    `select count(*) as total, coalesce(sum(case when s.full_pass = ? then 1 else 0 end), 0) as shown
     from market_feed_presence s join market_records r on r.kind = 'market' and r.id = s.market_id
     where s.source = ? and r.vanished_ms is null`,
    ...[fullPass, source],
  )
  const { total = 0, shown = 0 } = row ?? {}
  const absent = total - shown
  const isPlausible = absent <= total * shareMax || (absent <= absentMin && shown > 0)
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
  const missing = await tx.all<{ id: string; seen: number }>(
    `select s.market_id as id, s.seen_ms as seen from market_feed_presence s
     join market_records r on r.kind = 'market' and r.id = s.market_id
     where s.source = ? and s.full_pass <= ? and r.vanished_ms is null`,
    source,
    fullPass - vanishAfter,
  )
  const vanished = new Map<string, number>()
  for (const { id, seen } of missing) {
    if (!(await isListedBy(tx, id, others, vanishAfter))) vanished.set(id, seen)
  }
  const rows = [...vanished].map(([id, seenMs]) => ['market', id, seenMs])
  await tx.updateMany('market_records', ['kind', 'id'], ['vanished_ms'], rows)
  const ids = [...vanished.keys()]
  await logPresenceChange(tx, ids, 'vanished', nowMs)
  return ids
}

async function isListedBy(tx: StateReader, id: string, sources: readonly string[], vanishAfter: number) {
  if (sources.length === 0) return false
  const rows = await tx.all<{ source: string }>(
    `select s.source from market_feed_presence s join market_feeds f on f.source = s.source
     where s.market_id = ? and s.full_pass > f.full_pass - ?`,
    id,
    vanishAfter,
  )
  return rows.some((row) => sources.includes(row.source))
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
