import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { matchesAllWords, queryWords, rankMatch, toSearchText } from './match-words.ts'

const rankIn = (query: string, ...parts: string[]) => {
  const words = queryWords(query)
  const marked = toSearchText(...parts)
  return matchesAllWords(marked, words) ? rankMatch(marked, words) : undefined
}

test('each word must be the start of a word of the label; exact matches rank first, then prefixes', () => {
  const label = ['Harbour Exchange: hot wallet 14', '0x28c6c06298d514db089934071355e5743bf21d60', 'harbour-exchange']
  const cases: [string, number | undefined][] = [
    ['harbour', 1],
    ['HARBOUR EXCH', 1],
    ['harbour-exchange', 0],
    ['exchange harbour', 2],
    ['hot wal', 2],
    ['14', 2],
    ['arbour', undefined],
    ['hot cold', undefined],
    ['0x28c6', 1],
    ['0x28C6c06298d514db089934071355e5743bf21d60', 0],
    ['28c6', undefined],
    ['harbour exchange hot wallet 14', 0],
  ]
  for (const [query, rank] of cases) assert.equal(rankIn(query, ...label), rank, query)
})

test('letter case, accents and character width do not matter, in any script', () => {
  for (const [query, name] of [
    ['cafe', 'Café'],
    ['CAFÉ', 'cafe'],
    ['ｃａｆｅ', 'Café'],
    ['биржа', 'Биржа Гавань'],
    ['取引所', '取引所 港'],
  ] as const) {
    assert.notEqual(rankIn(query, name), undefined, `${query} in ${name}`)
  }
})

test('at most eight words count, and punctuation is ignored', () => {
  assert.equal(queryWords('a b c d e f g h i j').length, 8)
  for (const text of ['', '%', '_|\n', ' - ']) assert.deepEqual(queryWords(text), [])
})

test('a label is found by its name and by the start of each of its words', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 30 }), fc.nat(), (name, cut) => {
      const words = queryWords(name)
      fc.pre(words.length > 0)
      assert.ok(matchesAllWords(toSearchText(name), words))
      const word = words[cut % words.length] as string
      assert.ok(matchesAllWords(toSearchText(name), [word.slice(0, 1 + (cut % word.length))]))
    }),
  )
})
