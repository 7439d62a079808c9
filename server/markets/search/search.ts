// Full-text search of markets (behaviour/markets.md#search). If one of the words is rare, the search uses the index of
// words. If all are common, it scans the markets by rank, where matches are found soon.
//
// 1. The search index is written in the transaction that writes the document, so both agree.
// 2. A search reads at most `fewMax` markets by index or `rowsMax` by scan, in several short queries.
import { extensions } from '#api/extensions.ts'
import { parseJson } from '#api/json.ts'
import type { FoundMarket } from '#api/wire/market-search.ts'
import { splitWords } from '#core/split-words.ts'
import { createHandler } from '#http/handler.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { StateReader, StateWriter, Value } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { getFeedCoverage, toConfidence } from '../feeds/feed-coverage.ts'
import type { RecordGraph, StoredRecord } from '../records/documents.ts'

const wordsMax = 8
/** A word is rare if at most this many markets have it. */
const fewMax = 2000
/** Limits of the scan: in total and per query. */
const rowsMax = 20_000
const rowsPerScan = 5000
/** Larger than any volume, and small enough that ranks are exact integers. */
const openRank = 1e15
/** Longer words are truncated; further words of a market are ignored. */
const wordCharsMax = 40
const wordsPerMarketMax = 100

/** Words as they are stored. */
export const splitAndCutWords = (text: string): string[] => splitWords(text).map(cutWord)
const cutWord = (word: string): string =>
  word.length > wordCharsMax ? [...word].slice(0, wordCharsMax).join('') : word

const isOpen = ({ active, closed, archived }: StoredRecord['fields']): boolean =>
  active !== false && closed !== true && archived !== true

/** Open markets first, then by traded volume in whole units. */
function marketRank(fields: StoredRecord['fields']): number {
  const volume = Number(fields.volumeNum ?? fields.volume ?? 0)
  const units = volume > 0 ? Math.min(Math.floor(volume), openRank - 1) : 0
  return (isOpen(fields) ? openRank : 0) + units
}

function marketWords(graph: RecordGraph, { fields, links }: StoredRecord): string[] {
  const events = (links.events ?? []).map((id) => graph.record('event', id))
  const tagIds = new Set([...(links.tags ?? []), ...events.flatMap((event) => event?.links.tags ?? [])])
  const tags = [...tagIds].flatMap((id) => {
    const tag = graph.record('tag', id)
    return [tag?.fields.label, tag?.fields.slug]
  })
  const texts = [fields.question, fields.slug, ...tags].filter((text) => typeof text === 'string')
  return [...new Set(texts.flatMap(splitAndCutWords))].slice(0, wordsPerMarketMax)
}

/** Call this in the transaction that writes the documents of the markets. Each market is given once. */
export async function putSearchRows(tx: StateWriter, graph: RecordGraph, ids: readonly string[]): Promise<void> {
  const stored = await tx.all<{ id: string; rank: number; words: string }>(
    'select market_id as id, rank, words from market_search where market_id in (select atom from json_each(?))',
    JSON.stringify(ids),
  )
  const rows = new Map(stored.map(({ id, ...row }) => [id, row]))
  const removed = { ranks: [] as Value[][], words: [] as Value[][] }
  const added = { ranks: [] as Value[][], words: [] as Value[][] }
  for (const id of ids) {
    const market = graph.record('market', id)
    if (!market) continue
    const row = rows.get(id)
    const [rank, words] = [marketRank(market.fields), marketWords(graph, market)]
    // A space before each word lets a `like` pattern match the start of a word.
    const text = words.map((word) => ` ${word}`).join('')
    if (row?.rank === rank && row.words === text) continue
    if (row) removed.ranks.push([row.rank, id])
    added.ranks.push([rank, id, text])
    const [known, now] = [new Set(row?.words.split(' ').slice(1)), new Set(words)]
    for (const word of known.difference(now)) removed.words.push([Buffer.from(word), id])
    for (const word of now.difference(known)) added.words.push([Buffer.from(word), id])
  }
  await tx.deleteMany('market_search', ['rank', 'market_id'], removed.ranks)
  await tx.insertMany('market_search', ['rank', 'market_id', 'words'], added.ranks)
  await tx.deleteMany('market_words', ['word', 'market_id'], removed.words)
  await tx.insertMany('market_words', ['word', 'market_id'], added.words)
}

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

export async function searchMarkets(state: StateReader, q: string, limit: number): Promise<FoundMarket[]> {
  const ids = await findBestMatches(state, searchWords(q), limit)
  const markets: FoundMarket[] = []
  for (const id of ids) {
    const sql = "select fields from market_records where kind = 'market' and id = ?"
    const row = await state.get<{ fields: string }>(sql, id)
    if (row) markets.push(toFoundMarket(id, parseJson(row.fields) as StoredRecord['fields']))
  }
  return markets
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

/** Search results may be slightly outdated, so the search reads from `state.recent`. */
export const search = createHandler(
  extensions['markets.search'],
  async ({ q = '', limit }, context: MarketsContext) => {
    const confidence = toConfidence(await getFeedCoverage(context))
    return { is: 'body', body: { markets: await searchMarkets(context.state.recent, q, limit) }, confidence }
  },
)
