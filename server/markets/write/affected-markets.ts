// Finds the markets whose documents show a changed record.
import type { StateReader } from '#storage/state.ts'
import { type KindName, kinds } from '../records/kinds.ts'
import type { RowOfRecord } from './record-set.ts'

/** Records whose text in a document may have changed. */
export class TouchedRecords {
  readonly all = new Map<string, { kind: KindName; id: string }>()
  add(kind: KindName, id: string): void {
    this.all.set(`${kind}/${id}`, { kind, id })
  }
}

/**
 * Follows the links from the touched records to the markets that show them, and adds what it finds to `touched`. Returns
 * undefined if there may be more than `countMax` of them.
 */
export async function findMarketsShowing(
  tx: StateReader,
  touched: TouchedRecords,
  countMax: number,
): Promise<string[] | undefined> {
  const seen = new Set<string>()
  for (;;) {
    const fresh = [...touched.all].filter(([name, { kind }]) => kind !== 'market' && !seen.has(name))
    if (fresh.length === 0) break
    for (let from = 0; from < fresh.length; from += touchedPerQuery) {
      const part = fresh.slice(from, from + touchedPerQuery)
      const rowsMax = Math.min(unlimited, countMax * part.length)
      const parents = await tx.all<{ from_kind: KindName; from_id: string }>(
        `select l.from_kind, l.from_id from json_each(?) as k
         join market_links l on l.to_kind = k.value ->> 0 and l.to_id = k.value ->> 1 limit ?`,
        ...[JSON.stringify(part.map(([, { kind, id }]) => [kind, id])), rowsMax + 1],
      )
      if (parents.length > rowsMax) return undefined
      for (const [name] of part) seen.add(name)
      for (const { from_kind, from_id } of parents) touched.add(from_kind, from_id)
      if (countMarkets(touched) > countMax) return undefined
    }
  }
  const markets = [...touched.all.values()].filter(({ kind }) => kind === 'market').map(({ id }) => id)
  return markets.length > countMax ? undefined : markets
}

const unlimited = 2 ** 31

const countMarkets = ({ all }: TouchedRecords): number =>
  [...all.values()].reduce((sum, { kind }) => sum + (kind === 'market' ? 1 : 0), 0)

/** Records whose parents are read with one query. */
const touchedPerQuery = 200

/** If the slug, the title or the link of a record changed, the records that show its reference are affected too. */
export function touchReferences(
  touched: TouchedRecords,
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
  if (to) for (const target of [...before, ...now]) touched.add(to, target)
}
