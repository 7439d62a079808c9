// Which markets a feed still shows. One that no feed shows any more is kept and marked with the time it was last seen
// (behaviour/markets.md#vanished-markets); when a feed shows it again the mark goes.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { EventLoopYielder, statementSteps } from '../event-loop-yielder.ts'
import { VersionLog } from '../history/versions.ts'

/** Notes that the feed shows these markets, and takes marks off. */
export async function recordPresence(
  tx: StateWriter,
  source: string,
  marketIds: Iterable<string>,
  sweep: number,
  nowMs: number,
): Promise<void> {
  const returned: string[] = []
  const yielder = new EventLoopYielder(nextEventLoopTurn)
  for (const id of new Set(marketIds)) {
    await tx.run(
      `insert into market_sightings (source, market_id, sweep, seen_ms) values (?, ?, ?, ?)
       on conflict (source, market_id) do update set sweep = excluded.sweep, seen_ms = excluded.seen_ms`,
      source,
      id,
      sweep,
      nowMs,
    )
    const unmark = 'update market_documents set vanished_ms = null where market_id = ? and vanished_ms is not null'
    if ((await tx.run(unmark, id)) > 0) returned.push(id)
    await yielder.spend(2 * statementSteps)
  }
  await logPresenceChange(tx, returned, 'returned', nowMs)
}

/** Fewer markets than this may always go missing at once, as long as the feed still shows one. */
const absentMin = 20

/**
 * After a full pass: how many markets it did not show, if that is more than `shareMax` of what the feed is known for;
 * otherwise 0. A source that fails often answers with an empty list, and that is no reason to mark its markets.
 */
export async function countAbsent(tx: StateReader, source: string, sweep: number, shareMax: number): Promise<number> {
  const row = await tx.get<{ known: number; shown: number }>(
    `select count(*) as known, coalesce(sum(case when s.sweep = ? then 1 else 0 end), 0) as shown
     from market_sightings s join market_documents d on d.market_id = s.market_id
     where s.source = ? and d.vanished_ms is null`,
    ...[sweep, source],
  )
  const { known = 0, shown = 0 } = row ?? {}
  const absent = known - shown
  const isPlausible = absent <= known * shareMax || (absent <= absentMin && shown > 0)
  return isPlausible ? 0 : absent
}

/** After a full pass: marks what this feed last showed `vanishAfter` passes ago, unless another feed shows it. */
export async function markVanished(
  tx: StateWriter,
  source: string,
  others: readonly string[],
  sweep: number,
  vanishAfter: number,
  nowMs: number,
): Promise<readonly string[]> {
  const missing = await tx.all<{ id: string; seen: number }>(
    `select s.market_id as id, s.seen_ms as seen from market_sightings s
     join market_documents d on d.market_id = s.market_id
     where s.source = ? and s.sweep <= ? and d.vanished_ms is null`,
    source,
    sweep - vanishAfter,
  )
  const vanished: string[] = []
  const yielder = new EventLoopYielder(nextEventLoopTurn)
  for (const { id, seen } of missing) {
    await yielder.spend(2 * statementSteps)
    if (await isShownBy(tx, id, others, vanishAfter)) continue
    await tx.run('update market_documents set vanished_ms = ? where market_id = ?', seen, id)
    vanished.push(id)
  }
  await logPresenceChange(tx, vanished, 'vanished', nowMs)
  return vanished
}

async function isShownBy(tx: StateReader, id: string, sources: readonly string[], vanishAfter: number) {
  if (sources.length === 0) return false
  const rows = await tx.all<{ source: string }>(
    `select s.source from market_sightings s join market_feeds f on f.source = s.source
     where s.market_id = ? and s.sweep > f.sweep - ?`,
    id,
    vanishAfter,
  )
  return rows.some((row) => sources.includes(row.source))
}

async function logPresenceChange(
  tx: StateWriter,
  ids: readonly string[],
  what: 'vanished' | 'returned',
  nowMs: number,
) {
  if (ids.length === 0) return
  const log = await VersionLog.open(tx, nowMs)
  const yielder = new EventLoopYielder(nextEventLoopTurn)
  for (const id of ids) {
    await log.append('market', id, what)
    await yielder.spend(statementSteps)
  }
  await log.close(true)
}

export const listVanished = (reader: StateReader, rowsMax: number) =>
  reader.all<{ id: string; slug: string; vanishedMs: number }>(
    `select market_id as id, slug, vanished_ms as "vanishedMs" from market_documents
     where vanished_ms is not null order by vanished_ms desc, market_id limit ?`,
    rowsMax,
  )
