// Which known name a wrong one was probably meant to be.

const nameCharsMax = 64

export const didYouMean = (name: string | undefined): string => (name ? `; did you mean ${name}?` : '')

/** The candidate with the fewest letters different, if few enough to be a slip. */
export function findClosest(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > nameCharsMax) return undefined
  const limit = Math.min(name.length - 1, Math.max(2, Math.floor(name.length / 4)))
  const ranked = candidates
    .map((candidate) => ({ candidate, letters: lettersBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ letters }) => letters <= limit)
    .sort((a, b) => a.letters - b.letters)
  return ranked[0]?.candidate
}

/** Letters to insert, drop or change to get from one word to the other. */
function lettersBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next[j] = Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1)
    }
    row = next
  }
  return row[to.length] ?? 0
}
