// Reads tags. The stored fields are the tag as it is served, because tags have no links.
import type { StateReader } from '#storage/state.ts'

/** Values in one statement. */
const idsPerQuery = 500

/** In the order of the ids. Tags that are not stored are left out. */
export async function readTags(reader: StateReader, ids: readonly string[]): Promise<Uint8Array[]> {
  const records = new Map<string, Uint8Array>()
  for (let from = 0; from < ids.length; from += idsPerQuery) {
    const part = ids.slice(from, from + idsPerQuery)
    const rows = await reader.all<{ id: string; fields: string }>(
      `select id, fields from market_records where kind = 'tag' and id in (${part.map(() => '?').join()})`,
      ...part,
    )
    for (const { id, fields } of rows) records.set(id, Buffer.from(fields))
  }
  return ids.map((id) => records.get(id)).filter((record) => record !== undefined)
}
