// Full-text search of markets (behaviour/markets.md#search). If one of the words is rare, the search uses the index of
// words. If all are common, it scans the markets by rank, where matches are found soon.
//
// A search reads at most `fewMax` markets by index or `rowsMax` by scan, in several short queries. The index is
// written by search-rows.ts.
import { extensions } from '#api/contract/extensions.ts'
import type { FoundMarket } from '#api/contract/wire/market-search.ts'
import { createHandler } from '#http/handler.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { ListView } from '../../columns/list-view.ts'
import type { MarketsContext } from '../../context.ts'
import { readCurrentRecords } from '../../read/current-records.ts'
import { toConfidence } from '../../read/feed-coverage.ts'
import type { StoredRecord } from '../../records/documents.ts'
import { openRank } from '../../records/list-columns.ts'
import { marketNames } from '../../records/record-graph.ts'
import { readForList, type ThreadQuery } from '../../threads/thread-query.ts'
import { splitAndCutWords } from '../../write/search-rows.ts'
import { type ListReader, readLists } from '../lists/read-lists.ts'

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

const bestFirst = { kind: 'market', closed: undefined, order: 'rank' } as const

/** Ids of the markets that have all words, by rank. */
async function searchIds({ reader, view }: ListReader, words: readonly string[], limit: number): Promise<string[]> {
  let rarest: { readonly word: string; readonly count: number } | undefined
  for (const word of words) {
    const row = await reader.get<{ count: number }>(
      `select count(*) as count from
         (select market_id from market_words where word >= ? and word < ? limit ${fewMax + 1}) as few`,
      ...prefixRange(word),
    )
    if (!rarest || (row?.count ?? 0) < rarest.count) rarest = { word, count: row?.count ?? 0 }
  }
  const places =
    rarest && rarest.count <= fewMax
      ? await searchByRarestWord({ reader, view }, rarest.word, words)
      : await scanFromTop({ reader, view }, words, limit)
  return places.slice(0, limit).map((place) => view.id(place))
}

async function searchByRarestWord({ reader, view }: ListReader, word: string, words: readonly string[]) {
  const rows = await reader.all<{ place: number }>(
    `select l.place from
       (select distinct market_id from market_words where word >= ? and word < ?) as few
     join market_search s on s.market_id = few.market_id
     join market_list l on l.kind = 'market' and l.id = s.market_id where true${matchAllSql(words)}`,
    ...[...prefixRange(word), ...patternsOf(words)],
  )
  return rows.map(({ place }) => place).sort((a, b) => view.compare('rank', b, a))
}

async function scanFromTop({ reader, view }: ListReader, words: readonly string[], limit: number): Promise<number[]> {
  const sorted = (await view.sorted(bestFirst)).slice(-rowsMax).reverse()
  const found: number[] = []
  for (let from = 0; from < sorted.length && found.length < limit; from += rowsPerScan) {
    const part = sorted.subarray(from, from + rowsPerScan)
    const rows = await reader.all<{ place: number }>(
      `select l.place from market_list l join market_search s on s.market_id = l.id
       where l.place in (select value from json_each(?))${matchAllSql(words)}`,
      ...[JSON.stringify([...part]), ...patternsOf(words)],
    )
    const matches = new Set(rows.map(({ place }) => place))
    found.push(...part.filter((place) => matches.has(place)))
    await nextEventLoopTurn()
  }
  return found
}

/** The words that a search uses. */
export const searchWords = (q: string): string[] => [...new Set(splitAndCutWords(q))].slice(0, wordsMax)

/** Ids of the best matches, in order. Without words: the open markets with the highest volume. */
export const findBestMatches = (lists: ListReader, words: readonly string[], limit: number): Promise<string[]> =>
  words.length > 0 ? searchIds(lists, words, limit) : mostTraded(lists.view, limit)

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

async function mostTraded(view: ListView, limit: number): Promise<string[]> {
  const best = (await view.sorted(bestFirst)).slice(-limit).reverse()
  return [...best].filter((place) => view.value(place, 'rank') >= openRank).map((place) => view.id(place))
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

const isOpen = ({ active, closed, archived }: StoredRecord['fields']): boolean =>
  active !== false && closed !== true && archived !== true

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
    const { coverage, result: ids } = await readLists(context, (lists) => findBestMatches(lists, searchWords(q), limit))
    const markets = await readForList(context, caller, foundMarketsQuery, ids)
    return { is: 'body', body: { markets }, confidence: toConfidence(coverage) }
  },
)
