// Which of several markets with one slug is found by it (behaviour/markets.md#past-slugs): the order for queries, and the same
// order for market-as-of.ts, which finds the ranks of a past time in versions. A test compares both.
import type { StateReader } from '#storage/state.ts'

/** The market's current slug, the slugs in its `pastSlugs`, and its earlier slugs here. */
export const slugRanks = { present: 0, listed: 1, former: 2 } as const

const selectId = `select s.market_id as id from market_slugs s
  left join market_records r on r.kind = 'market' and r.id = s.market_id
  where s.slug = ? order by s.rank, r.vanished_ms is not null, s.since_seq desc, s.market_id limit 1`

export interface SlugCandidate {
  readonly id: string
  readonly rank: number
  readonly isVanished: boolean
  /** The version with which the market got the slug. */
  readonly sinceSeq: number
}

/** The order of `selectId`. */
export const compareCandidates = (a: SlugCandidate, b: SlugCandidate): number =>
  a.rank - b.rank ||
  Number(a.isVanished) - Number(b.isVanished) ||
  b.sinceSeq - a.sinceSeq ||
  (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

export const findMarketId = async (reader: StateReader, slug: string): Promise<string | undefined> =>
  (await reader.get<{ id: string }>(selectId, slug))?.id
