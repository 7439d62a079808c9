// What a batch of changed records changes elsewhere: the references that other records show, and the words by which markets
// are found.
import type { StateReader } from '#storage/state.ts'
import { type KindName, kinds } from '../records/kinds.ts'
import type { RecordName } from '../records/record-graph.ts'
import type { RowOfRecord } from './record-set.ts'

/** A record before and after a batch. */
export interface RecordChange {
  readonly kind: KindName
  readonly id: string
  readonly stored: RowOfRecord | undefined
  readonly current: RowOfRecord
}

/** The records that show a reference to this one, if what they show has changed. */
export function findReferenceHolders({ kind, stored, current }: RecordChange): RecordName[] {
  const through = kinds[kind].shownThrough
  const to = through === undefined ? undefined : kinds[kind].links[through]?.to
  if (through === undefined || to === undefined) return []
  const before = stored?.record.links[through] ?? []
  const now = current.record.links[through] ?? []
  const hasSameName = stored?.row.slug === current.row.slug && stored.row.title === current.row.title
  if (stored && hasSameName && before.join() === now.join()) return []
  return [...new Set([...before, ...now])].map((id) => [to, id])
}

/** Fields and links whose words find a market (search-rows.ts). */
const searchedParts: Partial<
  Record<KindName, { readonly fields: readonly string[]; readonly links: readonly string[] }>
> = {
  market: { fields: ['question', 'slug'], links: ['events', 'tags'] },
  event: { fields: [], links: ['tags'] },
  tag: { fields: ['label', 'slug'], links: [] },
}

/** Ids of the markets whose words may have changed. Call it when the links have been written. */
export async function findMarketsWithNewWords(
  reader: StateReader,
  changes: readonly RecordChange[],
): Promise<readonly string[]> {
  const changed = changes.filter(({ kind, stored, current }) => {
    const parts = searchedParts[kind]
    if (!parts || !stored) return parts !== undefined
    return (
      parts.fields.some((name) => stored.record.fields[name] !== current.record.fields[name]) ||
      parts.links.some((name) => stored.record.links[name]?.join() !== current.record.links[name]?.join())
    )
  })
  const ids = new Set(changed.filter(({ kind }) => kind === 'market').map(({ id }) => id))
  let names = changed.filter(({ kind }) => kind !== 'market').map(({ kind, id }) => [kind, id] as const)
  // Tags are shown by markets and by events, and events by markets.
  for (let level = 0; level < 2 && names.length > 0; level++) {
    const parents = await reader.all<{ kind: KindName; id: string }>(
      `select distinct l.from_kind as kind, l.from_id as id from json_each(?) as k
       join market_links l on l.to_kind = k.value ->> 0 and l.to_id = k.value ->> 1
       where l.from_kind in ('market', 'event')`,
      JSON.stringify(names),
    )
    for (const { kind, id } of parents) if (kind === 'market') ids.add(id)
    names = parents.filter(({ kind }) => kind === 'event').map(({ kind, id }) => [kind, id] as const)
  }
  return [...ids]
}
