// Writes the search index (search.ts), in the transaction that writes the records, so both agree. Ingesters load this
// file without the handler of the search.
import { splitWords } from '#core/split-words.ts'
import type { StateWriter, Value } from '#storage/state.ts'
import { readCurrentRecords } from '../read/current-records.ts'
import type { RecordGraph, StoredRecord } from '../records/documents.ts'
import { marketNames } from '../records/record-graph.ts'
import { findMarketsWithNewWords, type RecordChange } from './affected.ts'

/** Larger than any volume, and small enough that ranks are exact integers. */
export const openRank = 1e15
/** Longer words are truncated; further words of a market are ignored. */
const wordCharsMax = 40
const wordsPerMarketMax = 100

/** Words as they are stored. */
export const splitAndCutWords = (text: string): string[] => splitWords(text).map(cutWord)
const cutWord = (word: string): string =>
  word.length > wordCharsMax ? [...word].slice(0, wordCharsMax).join('') : word

export const isOpen = ({ active, closed, archived }: StoredRecord['fields']): boolean =>
  active !== false && closed !== true && archived !== true

/** Open markets first, then by traded volume in whole units. */
function marketRank(fields: StoredRecord['fields'], open = isOpen(fields)): number {
  const volume = Number(fields.volumeNum ?? fields.volume ?? 0)
  const units = volume > 0 ? Math.min(Math.floor(volume), openRank - 1) : 0
  return (open ? openRank : 0) + units
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

/** Markets whose words are loaded together. */
const marketsAtOnce = 500

/** A market with other values. */
export interface RankChange {
  readonly id: string
  readonly wasOpen: boolean
  readonly isOpen: boolean
  readonly old: StoredRecord['fields']
  readonly next: StoredRecord['fields']
}

/** Call this after the records have been written, in the same transaction. */
export async function writeSearchRows(
  tx: StateWriter,
  changes: readonly RecordChange[],
  moved: readonly RankChange[],
): Promise<void> {
  const ids = await findMarketsWithNewWords(tx, changes)
  for (let from = 0; from < ids.length; from += marketsAtOnce) await putWords(tx, ids.slice(from, from + marketsAtOnce))
  const withWords = new Set(ids)
  const ranks = moved.flatMap(({ id, wasOpen, isOpen: open, old, next }) => {
    const rank = marketRank(next, open)
    return withWords.has(id) || rank === marketRank(old, wasOpen) ? [] : [[id, rank]]
  })
  await tx.updateMany('market_search', ['market_id'], ['rank'], ranks)
}

/** Each market is given once. */
async function putWords(tx: StateWriter, ids: readonly string[]): Promise<void> {
  const graph = await readCurrentRecords(tx, marketNames(ids), ['events', 'tags'])
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
    const [wordsBefore, wordsNow] = [new Set(row?.words.split(' ').slice(1)), new Set(words)]
    for (const word of wordsBefore.difference(wordsNow)) removed.words.push([Buffer.from(word), id])
    for (const word of wordsNow.difference(wordsBefore)) added.words.push([Buffer.from(word), id])
  }
  await tx.deleteMany('market_search', ['rank', 'market_id'], removed.ranks)
  await tx.insertMany('market_search', ['rank', 'market_id', 'words'], added.ranks)
  await tx.deleteMany('market_words', ['word', 'market_id'], removed.words)
  await tx.insertMany('market_words', ['word', 'market_id'], added.words)
}
