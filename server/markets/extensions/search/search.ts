// Full-text search of markets (behaviour/markets.md#search). If one of the words is rare, the search uses the index of
// words. If all are common, it scans the markets by rank, where matches are found soon.
//
// A search reads at most `fewMax` markets by index or `rowsMax` by scan, in several short queries. The index is
// written by search-rows.ts.
import { extensions } from '#api/contract/extensions.ts'
import type { FoundMarket } from '#api/contract/wire/market-search.ts'
import { createHandler } from '#http/handler.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../../context.ts'
import { readCurrentRecords } from '../../read/current-records.ts'
import { readWithCoverage, toConfidence } from '../../read/feed-coverage.ts'
import type { StoredRecord } from '../../records/documents.ts'
import { marketNames } from '../../records/record-graph.ts'
import { readForList, type ThreadQuery } from '../../threads/thread-query.ts'
import { isOpen, openRank, splitAndCutWords } from '../../write/search-rows.ts'

const wordsMax = 8
/** A word is rare if at most this many markets have it. */
const fewMax = 2000
/** Limits of the scan: in total and per query. */
const rowsMax = 20_000
const rowsPerScan = 5000

/** The range of keys that start with the word. UTF-8 has no byte 255. */
const prefixRange = (word: string): [Uint8Array, Uint8Array] => [
  Buffer.from(word),
  Buffer.concat([Buffer.from(word), Buffer.of(255)]),
]

const matchAllSql = (words: readonly string[]): string => words.map(() => ' and words like ?').join('')
const patternsOf = (words: readonly string[]): string[] => words.map((word) => `% ${word}%`)

/** Ids of the markets that have all words, by rank. */
async function searchIds(state: StateReader, words: readonly string[], limit: number): Promise<string[]> {
  let rarest: { readonly word: string; readonly count: number } | undefined
  for (const word of words) {
    const row = await state.get<{ count: number }>(
      `select count(*) as count from
         (select market_id from market_words where word >= ? and word < ? limit ${fewMax + 1}) as few`,
      ...prefixRange(word),
    )
    if (!rarest || (row?.count ?? 0) < rarest.count) rarest = { word, count: row?.count ?? 0 }
  }
  return rarest && rarest.count <= fewMax
    ? searchByRarestWord(state, rarest.word, words, limit)
    : scanFromTop(state, words, limit)
}

async function searchByRarestWord(state: StateReader, word: string, words: readonly string[], limit: number) {
  const rows = await state.all<{ id: string }>(
    `select s.market_id as id from
       (select distinct market_id from market_words where word >= ? and word < ?) as few
     join market_search s on s.market_id = few.market_id where true${matchAllSql(words)}
     order by s.rank desc, s.market_id desc limit ?`,
    ...[...prefixRange(word), ...patternsOf(words), limit],
  )
  return rows.map(({ id }) => id)
}

interface SearchPosition {
  readonly rank: number
  readonly id: string
}

async function scanFromTop(state: StateReader, words: readonly string[], limit: number): Promise<string[]> {
  const found = new Set<string>()
  let from: SearchPosition = { rank: Number.MAX_SAFE_INTEGER, id: '' }
  for (let rows = 0; rows < rowsMax; rows += rowsPerScan) {
    const end = await state.get<SearchPosition>(
      `select rank, market_id as id from market_search where (rank, market_id) < (?, ?)
       order by rank desc, market_id desc limit 1 offset ?`,
      ...[from.rank, from.id, rowsPerScan - 1],
    )
    const until = end ?? { rank: 0, id: '' }
    const matches = await state.all<{ id: string }>(
      `select market_id as id from market_search where (rank, market_id) < (?, ?) and (rank, market_id) >= (?, ?)${matchAllSql(words)}
       order by rank desc, market_id desc limit ?`,
      ...[from.rank, from.id, until.rank, until.id, ...patternsOf(words), limit],
    )
    // A market whose rank falls meanwhile may appear twice.
    for (const { id } of matches) if (found.size < limit) found.add(id)
    if (found.size >= limit || !end) break
    from = until
    await nextEventLoopTurn()
  }
  return [...found]
}

/** The words that a search uses. */
export const searchWords = (q: string): string[] => [...new Set(splitAndCutWords(q))].slice(0, wordsMax)

/** Ids of the best matches, in order. Without words: the open markets with the highest volume. */
export const findBestMatches = (state: StateReader, words: readonly string[], limit: number): Promise<string[]> =>
  words.length > 0 ? searchIds(state, words, limit) : mostTraded(state, limit)

/** What a search returns of these markets, on a thread (markets/threads/thread-query.ts). */
export const foundMarketsQuery: ThreadQuery<readonly string[], FoundMarket[]> = {
  name: 'foundMarkets',
  run: ({ ingest }, ids) =>
    ingest.snapshot(async (reader) => {
      const { record } = await readCurrentRecords(reader, marketNames(ids), [])
      return ids.flatMap((id) => {
        const market = record('market', id)
        return market ? [toFoundMarket(id, market.fields)] : []
      })
    }),
}

async function mostTraded(state: StateReader, limit: number): Promise<string[]> {
  const sql = 'select market_id as id from market_search where rank >= ? order by rank desc, market_id desc limit ?'
  const rows = await state.all<{ id: string }>(sql, openRank, limit)
  return rows.map(({ id }) => id)
}

const shownFields = [
  'question',
  'endDate',
  'volumeNum',
  'denominationToken',
  'lastTradePrice',
  'outcomes',
  'outcomePrices',
] as const

const toFoundMarket = (id: string, fields: StoredRecord['fields']): FoundMarket =>
  ({
    id,
    slug: String(fields.slug ?? ''),
    open: isOpen(fields),
    ...Object.fromEntries(shownFields.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]]))),
  }) as FoundMarket

export const search = createHandler(
  extensions['markets.search'],
  async ({ q = '', limit }, context: MarketsContext, { caller }) => {
    const { coverage, result: ids } = await readWithCoverage(context, (reader) =>
      findBestMatches(reader, searchWords(q), limit),
    )
    const markets = await readForList(context, caller, foundMarketsQuery, ids)
    return { is: 'body', body: { markets }, confidence: toConfidence(coverage) }
  },
)
