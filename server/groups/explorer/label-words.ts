// What it means that words are found in a label. Pure. A label is kept as one text in which every word and every part (its
// name, its slug or address) begins with a mark, so that the beginning of either can be looked for at once.

const wordsMax = 8

/** Lower case, without accents, cut at everything that is neither letter nor digit. */
function wordsOf(text: string): string[] {
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
export const askedWords = (text: string): string[] => wordsOf(text).slice(0, wordsMax)

const joined = (words: readonly string[]): string => words.map((word) => `|${word}`).join('')

export const markedText = (...parts: readonly string[]): string =>
  `${parts.map((part) => `\n${joined(wordsOf(part))}`).join('')}\n`

/** Whether each of the words begins a word of the text. */
export const holdsAll = (marked: string, words: readonly string[]): boolean =>
  words.every((word) => marked.includes(`|${word}`))

/** How well: 0 is exactly one of the parts, 1 begins one of them, 2 is found somewhere. */
export function rankOf(marked: string, words: readonly string[]): 0 | 1 | 2 {
  const asked = `\n${joined(words)}`
  return marked.includes(`${asked}\n`) ? 0 : marked.includes(asked) ? 1 : 2
}
