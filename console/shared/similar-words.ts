// Whether two words differ only by a typing error.

/** Longer words may differ in more letters. Short ones must be equal, because many short words are similar. */
const typosMax = (word: string): number => (word.length < 4 ? 0 : word.length < 8 ? 1 : 2)

/** The first letter is rarely wrong, and comparing it first leaves few words to compare. */
export const isSimilarWord = (word: string, typed: string): boolean =>
  word[0] === typed[0] && countTypos(word, typed, typosMax(typed)) <= typosMax(typed)

/** Missing, extra, wrong and swapped letters; above `max`, any greater number. */
function countTypos(word: string, typed: string, max: number): number {
  if (Math.abs(word.length - typed.length) > max) return max + 1
  let before: number[] = []
  let row = Array.from({ length: typed.length + 1 }, (_, at) => at)
  for (let i = 1; i <= word.length; i++) {
    const next = [i]
    for (let j = 1; j <= typed.length; j++) {
      const isEqual = word[i - 1] === typed[j - 1]
      let count = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (isEqual ? 0 : 1))
      const isSwapped = i > 1 && j > 1 && word[i - 1] === typed[j - 2] && word[i - 2] === typed[j - 1]
      if (isSwapped) count = Math.min(count, (before[j - 2] ?? 0) + 1)
      next.push(count)
    }
    if (Math.min(...next) > max) return max + 1
    ;[before, row] = [row, next]
  }
  return row[typed.length] ?? max + 1
}
