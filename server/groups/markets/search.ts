// Markets found by words (decision 0128). A word that few markets have leads straight to them; words that very many have are
// looked for from the top of the list, where they soon turn up.
//
// 1. What a market is found by is written in the transaction that writes its answer, and says the same.
// 2. A search looks at `fewMax` or at `rowsMax` markets at most, and holds the store for one stretch at a time.

import { extensions } from '#api/extensions.ts'
import { parseJson } from '#api/json.ts'
import type { FoundMarket } from '#api/wire/market-search.ts'
import { nextTurn } from '#io/clock.ts'
import { answer } from '#serve/answer.ts'
import type { StateReader, StateWriter } from '#store/state.ts'
import type { MarketsContext } from './context.ts'
import { readSoFar, sureOf } from './coverage.ts'
import type { Library, Stored } from './documents.ts'
import { shape } from './shape.ts'

const wordsMax = 8
/** A word that no more markets have than this is worth following. */
const fewMax = 2000
/** Markets that are looked at from the top, and how many at a time. */
const rowsMax = 20_000
const stretchRows = 5000
/** More than any market's volume, less than makes a rank inexact. */
const openRank = 1e15
/** Longer words are cut, words beyond these are left out. */
const wordCharsMax = 40
const wordsPerMarketMax = 100

/** Small letters without accents; whatever is neither letter nor digit parts words. */
export function wordsOf(text: string): string[] {
  const plain = ascii.test(text) ? text : text.normalize('NFKD').replaceAll(/\p{M}/gu, '')
  return (plain.toLowerCase().match(wordShape) ?? []).map(cut)
}
const ascii = /^[\0-\x7f]*$/
const wordShape = /[\p{L}\p{N}]+/gu
const cut = (word: string): string => (word.length > wordCharsMax ? [...word].slice(0, wordCharsMax).join('') : word)

const isOpen = ({ active, closed, archived }: Stored['fields']): boolean =>
  active !== false && closed !== true && archived !== true

/** Whole units of what was traded are enough to order by. */
function rankOf(fields: Stored['fields']): number {
  const volume = Number(fields.volumeNum ?? fields.volume ?? 0)
  const units = volume > 0 ? Math.min(Math.floor(volume), openRank - 1) : 0
  return (isOpen(fields) ? openRank : 0) + units
}

function marketWords(library: Library, { fields, links }: Stored): string[] {
  const events = (links.events ?? []).map((id) => library.record('event', id))
  const tagIds = new Set([...(links.tags ?? []), ...events.flatMap((event) => event?.links.tags ?? [])])
  const tags = [...tagIds].flatMap((id) => {
    const tag = library.record('tag', id)
    return [tag?.fields.label, tag?.fields.slug]
  })
  const said = [fields.question, fields.slug, ...tags].filter((text) => typeof text === 'string')
  return [...new Set(said.flatMap(wordsOf))].slice(0, wordsPerMarketMax)
}

/** In the transaction that writes the market's document. */
export async function putSearchRow(tx: StateWriter, library: Library, id: string): Promise<void> {
  const market = library.record('market', id)
  if (!market) return
  const row = await tx.get<{ rank: number; words: string }>(
    'select rank, words from market_search where market_id = ?',
    id,
  )
  const [rank, words] = [rankOf(market.fields), marketWords(library, market)]
  // With a space before each, so that a word is found by its beginning.
  const text = words.map((word) => ` ${word}`).join('')
  if (row?.rank === rank && row.words === text) return
  if (row) await tx.run('delete from market_search where rank = ? and market_id = ?', row.rank, id)
  await tx.run('insert into market_search (rank, market_id, words) values (?, ?, ?)', rank, id, text)
  if (row?.words === text) return
  const known = new Set(row?.words.split(' ').slice(1))
  for (const word of known.difference(new Set(words))) {
    await tx.run('delete from market_words where word = ? and market_id = ?', Buffer.from(word), id)
  }
  const fresh = words.filter((word) => !known.has(word))
  if (fresh.length === 0) return
  await tx.run(
    `insert into market_words (word, market_id) values ${fresh.map(() => '(?, ?)').join()}`,
    ...fresh.flatMap((word) => [Buffer.from(word), id]),
  )
}

/** Everything that begins so: no byte of UTF-8 is 255. */
const rangeOf = (word: string): [Uint8Array, Uint8Array] => [
  Buffer.from(word),
  Buffer.concat([Buffer.from(word), Buffer.of(255)]),
]

const hasAll = (words: readonly string[]): string => words.map(() => ' and words like ?').join('')
const patternsOf = (words: readonly string[]): string[] => words.map((word) => `% ${word}%`)

/** Ids of the markets that have all the words, best first. */
async function searchIds(state: StateReader, words: readonly string[], limit: number): Promise<string[]> {
  let rarest: { readonly word: string; readonly count: number } | undefined
  for (const word of words) {
    const row = await state.get<{ count: number }>(
      `select count(*) as count from
         (select market_id from market_words where word >= ? and word < ? limit ${fewMax + 1}) as few`,
      ...rangeOf(word),
    )
    if (!rarest || (row?.count ?? 0) < rarest.count) rarest = { word, count: row?.count ?? 0 }
  }
  return rarest && rarest.count <= fewMax
    ? amongThose(state, rarest.word, words, limit)
    : fromTheTop(state, words, limit)
}

async function amongThose(state: StateReader, word: string, words: readonly string[], limit: number) {
  const rows = await state.all<{ id: string }>(
    `select s.market_id as id from
       (select distinct market_id from market_words where word >= ? and word < ?) as few
     join market_search s on s.market_id = few.market_id where true${hasAll(words)}
     order by s.rank desc, s.market_id desc limit ?`,
    ...[...rangeOf(word), ...patternsOf(words), limit],
  )
  return rows.map(({ id }) => id)
}

interface Place {
  readonly rank: number
  readonly id: string
}

async function fromTheTop(state: StateReader, words: readonly string[], limit: number): Promise<string[]> {
  const found = new Set<string>()
  let from: Place = { rank: Number.MAX_SAFE_INTEGER, id: '' }
  for (let rows = 0; rows < rowsMax; rows += stretchRows) {
    const end = await state.get<Place>(
      `select rank, market_id as id from market_search where (rank, market_id) < (?, ?)
       order by rank desc, market_id desc limit 1 offset ?`,
      ...[from.rank, from.id, stretchRows - 1],
    )
    const until = end ?? { rank: 0, id: '' }
    const matches = await state.all<{ id: string }>(
      `select market_id as id from market_search where (rank, market_id) < (?, ?) and (rank, market_id) >= (?, ?)${hasAll(words)}
       order by rank desc, market_id desc limit ?`,
      ...[from.rank, from.id, until.rank, until.id, ...patternsOf(words), limit],
    )
    // A market that sinks while we read may come by twice.
    for (const { id } of matches) if (found.size < limit) found.add(id)
    if (found.size >= limit || !end) break
    from = until
    await nextTurn()
  }
  return [...found]
}

export async function searchMarkets(state: StateReader, q: string, limit: number): Promise<FoundMarket[]> {
  const words = [...new Set(wordsOf(q))].slice(0, wordsMax)
  const ids = words.length > 0 ? await searchIds(state, words, limit) : await mostTraded(state, limit)
  const found: FoundMarket[] = []
  for (const id of ids) {
    const row = await state.get<{ fields: string }>(
      "select fields from market_records where kind = 'market' and id = ?",
      id,
    )
    if (row) found.push(shown(id, parseJson(row.fields) as Stored['fields']))
  }
  return found
}

async function mostTraded(state: StateReader, limit: number): Promise<string[]> {
  const rows = await state.all<{ id: string }>(
    'select market_id as id from market_search where rank >= ? order by rank desc, market_id desc limit ?',
    openRank,
    limit,
  )
  return rows.map(({ id }) => id)
}

const shownFields = ['question', 'endDate', 'volumeNum', 'lastTradePrice', 'outcomes', 'outcomePrices'] as const

const shown = (id: string, fields: Stored['fields']): FoundMarket =>
  ({
    ...{ id, slug: String(fields.slug ?? ''), open: isOpen(fields) },
    ...Object.fromEntries(shownFields.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]]))),
  }) as FoundMarket

/** Nothing rests on what is found, so it may be a moment old. */
export const search = answer(
  extensions['markets.search'],
  shape,
  async ({ q = '', limit }, context: MarketsContext) => {
    const confidence = sureOf(await readSoFar(context))
    return { is: 'body', body: { markets: await searchMarkets(context.state.recent, q, limit) }, confidence }
  },
)
