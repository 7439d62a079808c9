// Suggests a known name for a misspelled one.

const nameCharsMax = 64

export const didYouMean = (name: string | undefined): string => (name ? `; did you mean ${name}?` : '')

/** The candidate with the smallest edit distance, if it is small enough. */
export function findClosest(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > nameCharsMax) return undefined
  const limit = Math.min(name.length - 1, Math.max(2, Math.floor(name.length / 4)))
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance)
  return ranked[0]?.candidate
}

/** Levenshtein distance. */
function editDistance(from: string, to: string): number {
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
