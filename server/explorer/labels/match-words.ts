// What it means that words are found in a label. Pure. A label is kept as one text in which every word and every part (its
// name, its slug or address) begins with a mark, so that the beginning of either can be looked for at once.

const wordsMax = 8

/** Lower case, without accents, cut at everything that is neither letter nor digit. */
function splitWords(text: string): string[] {
  // Nearly all are plain, and a registry holds many.
  const words = /^[ -~]*$/.test(text)
    ? text.toLowerCase().split(/[^a-z0-9]+/)
    : text
        .normalize('NFKD')
        .replaceAll(/\p{M}/gu, '')
        .toLowerCase()
        .split(/[^\p{L}\p{N}]+/u)
  return words.filter((word) => word !== '')
}

/** The words of a question that count. */
export const queryWords = (text: string): string[] => splitWords(text).slice(0, wordsMax)

const joinWords = (words: readonly string[]): string => words.map((word) => `|${word}`).join('')

export const toSearchText = (...parts: readonly string[]): string =>
  `${parts.map((part) => `\n${joinWords(splitWords(part))}`).join('')}\n`

/** Whether each of the words begins a word of the text. */
export const matchesAllWords = (searchText: string, words: readonly string[]): boolean =>
  words.every((word) => searchText.includes(`|${word}`))

/** How well: 0 is exactly one of the parts, 1 begins one of them, 2 is found somewhere. */
export function rankMatch(searchText: string, words: readonly string[]): 0 | 1 | 2 {
  const pattern = `\n${joinWords(words)}`
  return searchText.includes(`${pattern}\n`) ? 0 : searchText.includes(pattern) ? 1 : 2
}
