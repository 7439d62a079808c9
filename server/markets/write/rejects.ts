// Records of feeds that cannot be stored because they have no id or no slug. The rest of their page is stored. A row is
// deleted when the feed corrects or removes the record; until then, the feed counts as incomplete (feed-coverage.ts).
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { MarketRecord } from '../records/normalize.ts'
import type { Reject } from './accept-records.ts'

/** The newest are kept, and all of the last page, which have the same time. */
const rowsMax = 10_000
const textCharsMax = 300

export async function storeRejects(tx: StateWriter, source: string, rejects: readonly Reject[], nowMs: number) {
  if (rejects.length === 0) return
  for (const { kind, id, slug, location, problems } of rejects) {
    const [problem] = problems
    const storedSlug = kind === 'market' && slug === '' && id !== '' ? await readStoredSlug(tx, id) : slug
    await tx.run(
      `insert into market_rejects (source, kind, id, slug, field, reason, location, times, first_ms, last_ms)
       values (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
       on conflict (source, kind, id, slug, field) do update set reason = excluded.reason, location = excluded.location,
         times = market_rejects.times + 1, last_ms = excluded.last_ms`,
      source,
      kind,
      id.slice(0, textCharsMax),
      storedSlug.slice(0, textCharsMax),
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
  readStored: () => readonly MarketRecord[],
): Promise<void> {
  const sql = "select kind, id, slug from market_rejects where source = ? and (id <> '' or slug <> '')"
  const rows = await tx.all<{ kind: string; id: string; slug: string }>(sql, source)
  if (rows.length === 0) return
  const stored = readStored()
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
