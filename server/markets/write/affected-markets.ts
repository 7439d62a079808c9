// Finds the markets whose documents show a changed record.
import type { StateReader } from '#storage/state.ts'
import { type KindName, kinds } from '../records/kinds.ts'
import type { RowOfRecord } from './record-set.ts'

/** Changed records, and records that show them: what documents contain about them may have changed. */
export class AffectedRecords {
  readonly all = new Map<string, { kind: KindName; id: string }>()
  add(kind: KindName, id: string): void {
    this.all.set(`${kind}/${id}`, { kind, id })
  }
}

/**
 * Follows the links from the affected records to the markets that show them, and adds what it finds to `affected`.
 * `too many`: there may be more than `countMax` markets.
 */
export async function findMarketsShowing(
  tx: StateReader,
  affected: AffectedRecords,
  countMax: number,
): Promise<string[] | 'too many'> {
  const seen = new Set<string>()
  for (;;) {
    const fresh = [...affected.all].filter(([name, { kind }]) => kind !== 'market' && !seen.has(name))
    if (fresh.length === 0) break
    for (let from = 0; from < fresh.length; from += recordsPerQuery) {
      const part = fresh.slice(from, from + recordsPerQuery)
      const rowsMax = Math.min(unlimited, countMax * part.length)
      const parents = await tx.all<{ from_kind: KindName; from_id: string }>(
        `select l.from_kind, l.from_id from json_each(?) as k
         join market_links l on l.to_kind = k.value ->> 0 and l.to_id = k.value ->> 1 limit ?`,
        ...[JSON.stringify(part.map(([, { kind, id }]) => [kind, id])), rowsMax + 1],
      )
      if (parents.length > rowsMax) return 'too many'
      for (const [name] of part) seen.add(name)
      for (const { from_kind, from_id } of parents) affected.add(from_kind, from_id)
      if (countMarkets(affected) > countMax) return 'too many'
    }
  }
  const markets = [...affected.all.values()].filter(({ kind }) => kind === 'market').map(({ id }) => id)
  return markets.length > countMax ? 'too many' : markets
}

const unlimited = 2 ** 31

const countMarkets = ({ all }: AffectedRecords): number =>
  [...all.values()].reduce((sum, { kind }) => sum + (kind === 'market' ? 1 : 0), 0)

/** Records whose parents are read with one query. */
const recordsPerQuery = 200

/** If the slug, the title or the link of a record changed, the records that show its reference are affected too. */
export function addRecordsWithReference(
  affected: AffectedRecords,
  kind: KindName,
  stored: RowOfRecord | undefined,
  next: RowOfRecord,
): void {
  const through = kinds[kind].shownThrough
  if (through === undefined) return
  const before = stored?.record.links[through] ?? []
  const now = next.record.links[through] ?? []
  const hasSameName = stored?.row.slug === next.row.slug && stored.row.title === next.row.title
  if (stored && hasSameName && before.join() === now.join()) return
  const to = kinds[kind].links[through]?.to
  if (to) for (const target of [...before, ...now]) affected.add(to, target)
}
