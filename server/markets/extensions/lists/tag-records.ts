// Reads tags. The stored fields are the tag as it is served, because tags have no links.
import { selectIn } from '#storage/select-in.ts'
import type { StateReader } from '#storage/state.ts'

/** In the order of the ids. Tags that are not stored are left out. */
export async function readTags(reader: StateReader, ids: readonly string[]): Promise<Uint8Array[]> {
  const sql = "select id, fields from market_records where kind = 'tag' and id in"
  const rows = await selectIn<{ id: string; fields: string }>(reader, sql, [], ids)
  const records = new Map(rows.map(({ id, fields }) => [id, Buffer.from(fields)]))
  return ids.map((id) => records.get(id)).filter((record) => record !== undefined)
}
