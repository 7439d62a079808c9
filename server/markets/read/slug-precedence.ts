// Which of several markets with one slug is found by it (behaviour/markets.md#past-slugs): the order for queries, and the same
// order for market-as-of.ts, which finds the ranks of a past time in versions. A test compares both.
import type { StateReader } from '#storage/state.ts'

/** The market's current slug, the slugs in its `pastSlugs`, and its earlier slugs here. */
export const slugRanks = { present: 0, listed: 1, former: 2 } as const

/** The rows of a slug with the documents of their markets, and their order of precedence. */
export const slugsWithDocuments =
  'market_slugs s left join market_documents d on d.market_id = s.market_id where s.slug = ?'
export const slugOrder = 's.rank, d.vanished_ms is not null, s.since_seq desc, s.market_id'

export interface SlugCandidate {
  readonly id: string
  readonly rank: number
  readonly isVanished: boolean
  /** The version with which the market got the slug. */
  readonly sinceSeq: number
}

/** The order of `slugOrder`. */
export const compareCandidates = (a: SlugCandidate, b: SlugCandidate): number =>
  a.rank - b.rank ||
  Number(a.isVanished) - Number(b.isVanished) ||
  b.sinceSeq - a.sinceSeq ||
  (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

export async function findMarketId(reader: StateReader, slug: string): Promise<string | undefined> {
  const sql = `select s.market_id as id from ${slugsWithDocuments} order by ${slugOrder} limit 1`
  return (await reader.get<{ id: string }>(sql, slug))?.id
}
