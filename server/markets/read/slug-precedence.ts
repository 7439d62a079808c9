// Which of several markets with one slug is found by it (behaviour/markets.md#past-slugs). `market-as-of.ts` applies the
// same order to a past time.
import type { StateReader } from '#storage/state.ts'

/** The market's current slug, the slugs in its `pastSlugs`, and its earlier slugs here. */
export const slugRanks = { present: 0, listed: 1, former: 2 } as const

/** The rows of a slug with the documents of their markets, and their order of precedence. */
export const slugsWithDocuments =
  'market_slugs s left join market_documents d on d.market_id = s.market_id where s.slug = ?'
export const slugOrder = 's.rank, d.vanished_ms is not null, s.since_seq desc, s.market_id'

export async function findMarketId(reader: StateReader, slug: string): Promise<string | undefined> {
  const sql = `select s.market_id as id from ${slugsWithDocuments} order by ${slugOrder} limit 1`
  return (await reader.get<{ id: string }>(sql, slug))?.id
}
