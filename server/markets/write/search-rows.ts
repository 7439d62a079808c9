// Writes the search index (search.ts), in the transaction that writes the records, so both agree. Ingesters load this
// file without the handler of the search.
import { splitWords } from '#core/split-words.ts'
import type { StateWriter, Value } from '#storage/state.ts'
import { readCurrentRecords } from '../read/current-records.ts'
import type { RecordGraph, StoredRecord } from '../records/documents.ts'
import { marketNames } from '../records/record-graph.ts'
import { findMarketsWithNewWords, type RecordChange } from './affected.ts'

/** Longer words are truncated; further words of a market are ignored. */
const wordCharsMax = 40
const wordsPerMarketMax = 100

/** Words as they are stored. */
export const splitAndCutWords = (text: string): string[] => splitWords(text).map(cutWord)
const cutWord = (word: string): string =>
  word.length > wordCharsMax ? [...word].slice(0, wordCharsMax).join('') : word

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

/** Call this after the records have been written, in the same transaction. */
export async function writeSearchRows(tx: StateWriter, changes: readonly RecordChange[]): Promise<void> {
  const ids = await findMarketsWithNewWords(tx, changes)
  for (let from = 0; from < ids.length; from += marketsAtOnce) await putWords(tx, ids.slice(from, from + marketsAtOnce))
}

/** Each market is given once. */
async function putWords(tx: StateWriter, ids: readonly string[]): Promise<void> {
  const graph = await readCurrentRecords(tx, marketNames(ids), ['events', 'tags'])
  const stored = await tx.all<{ id: string; words: string }>(
    'select market_id as id, words from market_search where market_id in (select atom from json_each(?))',
    JSON.stringify(ids),
  )
  const textsBefore = new Map(stored.map(({ id, words }) => [id, words]))
  const texts: Value[][] = []
  const [removed, added]: [Value[][], Value[][]] = [[], []]
  for (const id of ids) {
    const market = graph.record('market', id)
    if (!market) continue
    const words = marketWords(graph, market)
    const before = textsBefore.get(id)
    // A space before each word lets a `like` pattern match the start of a word.
    const text = words.map((word) => ` ${word}`).join('')
    if (before === text) continue
    texts.push([id, text])
    const [wordsBefore, wordsNow] = [new Set(before?.split(' ').slice(1)), new Set(words)]
    for (const word of wordsBefore.difference(wordsNow)) removed.push([Buffer.from(word), id])
    for (const word of wordsNow.difference(wordsBefore)) added.push([Buffer.from(word), id])
  }
  const replace = 'on conflict (market_id) do update set words = excluded.words'
  await tx.insertMany('market_search', ['market_id', 'words'], texts, replace)
  await tx.deleteMany('market_words', ['word', 'market_id'], removed)
  await tx.insertMany('market_words', ['word', 'market_id'], added)
}
