// Records of feeds that cannot be stored because they have no id or no slug. The rest of their page is stored. A row is
// deleted when the feed corrects or removes the record; until then, the feed counts as incomplete (feed-coverage.ts).
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { MarketKey } from './kinds.ts'
import type { MarketRecord } from './normalize.ts'
import type { Reject } from './put-markets.ts'

/** The newest are kept, and all of the last page, which have the same time. */
const rowsMax = 10_000
const textCharsMax = 300

export async function storeRejects(tx: StateWriter, source: string, rejects: readonly Reject[], nowMs: number) {
  if (rejects.length === 0) return
  for (const { kind, id, slug, location, problems } of rejects) {
    const [problem] = problems
    const knownSlug = kind === 'market' && slug === '' && id !== '' ? await readStoredSlug(tx, id) : slug
    await tx.run(
      `insert into market_rejects (source, kind, id, slug, field, reason, location, times, first_ms, last_ms)
       values (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
       on conflict (source, kind, id, slug, field) do update set reason = excluded.reason, location = excluded.location,
         times = market_rejects.times + 1, last_ms = excluded.last_ms`,
      source,
      kind,
      id.slice(0, textCharsMax),
      knownSlug.slice(0, textCharsMax),
      (problem?.at.join('.') ?? '').slice(0, textCharsMax),
      (problem?.message ?? '').slice(0, textCharsMax),
      location.slice(0, textCharsMax),
      nowMs,
      nowMs,
    )
  }
  const count = await tx.get<{ n: number }>('select count(*) as n from market_rejects')
  if ((count?.n ?? 0) <= rowsMax) return
  const oldestKept = 'select last_ms from market_rejects order by last_ms desc limit 1 offset ?'
  await tx.run(`delete from market_rejects where last_ms < (${oldestKept})`, rowsMax - 1)
}

async function readStoredSlug(tx: StateReader, marketId: string): Promise<string> {
  const sql = "select slug from market_records where kind = 'market' and id = ?"
  return (await tx.get<{ slug: string | null }>(sql, marketId))?.slug ?? ''
}

/** Deletes the rows of records that could be stored this time. */
export async function dropResolvedRejects(
  tx: StateWriter,
  source: string,
  stored: readonly MarketRecord[],
): Promise<void> {
  const sql = "select kind, id, slug from market_rejects where source = ? and (id <> '' or slug <> '')"
  const rows = await tx.all<{ kind: string; id: string; slug: string }>(sql, source)
  if (rows.length === 0) return
  const ids = new Set(stored.map(({ kind, id }) => `${kind}/${id}`))
  const slugs = new Set(stored.map(({ kind, fields }) => `${kind}/${fields.slug ?? ''}`))
  for (const { kind, id, slug } of rows) {
    if (id === '' ? !slugs.has(`${kind}/${slug}`) : !ids.has(`${kind}/${id}`)) continue
    const deletion = 'delete from market_rejects where source = ? and kind = ? and id = ? and slug = ?'
    await tx.run(deletion, source, kind, id, slug)
  }
}

/** After a full pass: deletes the rows of records that it did not contain. */
export const dropUnseenRejects = (tx: StateWriter, source: string, sinceMs: number): Promise<number> =>
  tx.run('delete from market_rejects where source = ? and last_ms < ?', source, sinceMs)

/** Whether one of these feeds shows a market under this slug or id that cannot be stored. */
export async function isRejected(reader: StateReader, key: MarketKey, sources: readonly string[]): Promise<boolean> {
  if (sources.length === 0) return false
  const [column, value] = typeof key === 'string' ? ['slug', key] : ['id', key.id]
  const sql = `select source from market_rejects
    where ${column} = ? and kind = 'market' and source in (${sources.map(() => '?').join()}) limit 1`
  return (await reader.get(sql, value, ...sources)) !== undefined
}

export interface RejectRow {
  readonly source: string
  readonly kind: string
  readonly id: string
  readonly slug: string
  readonly field: string
  readonly reason: string
  readonly location: string
  readonly times: number
  readonly firstMs: number
  readonly lastMs: number
}

export const listRejects = (reader: StateReader, max: number): Promise<RejectRow[]> =>
  reader.all<RejectRow>(
    `select source, kind, id, slug, field, reason, location, times, first_ms as "firstMs", last_ms as "lastMs"
     from market_rejects order by last_ms desc, source, kind, id, slug, field limit ?`,
    max,
  )
