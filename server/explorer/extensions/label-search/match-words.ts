// Matches search words against labels. Pure. A label is one search text: `|` precedes every word and a line break every
// part (name, slug or address), so that a plain substring search finds the start of words and parts.
import { splitWords } from '#core/split-words.ts'

const wordsMax = 8

export const queryWords = (text: string): string[] => splitWords(text).slice(0, wordsMax)

const joinWords = (words: readonly string[]): string => words.map((word) => `|${word}`).join('')

export const toSearchText = (...parts: readonly string[]): string =>
  `${parts.map((part) => `\n${joinWords(splitWords(part))}`).join('')}\n`

/** Whether each word is the start of a word of the text. */
export const matchesAllWords = (searchText: string, words: readonly string[]): boolean =>
  words.every((word) => searchText.includes(`|${word}`))

/** 0: the words are exactly one of the parts. 1: they are its start. 2: other matches. */
export function rankMatch(searchText: string, words: readonly string[]): 0 | 1 | 2 {
  const pattern = `\n${joinWords(words)}`
  return searchText.includes(`${pattern}\n`) ? 0 : searchText.includes(pattern) ? 1 : 2
}
