// Finds events and tags by their current slug.
import type { StateReader } from '#storage/state.ts'

/** Of several records with this slug, the newest. */
export async function findBySlug(
  reader: StateReader,
  kind: 'event' | 'tag',
  slug: string,
): Promise<string | undefined> {
  const row = await reader.get<{ id: string }>(
    `select l.id from market_records r join market_list l on l.kind = r.kind and l.id = r.id
     where r.kind = ? and r.slug = ? order by l.number desc, l.id desc limit 1`,
    kind,
    slug,
  )
  return row?.id
}
