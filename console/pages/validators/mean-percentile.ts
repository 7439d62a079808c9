// The percentile of a validator in its network over several days.
import { percentileOf } from '#shared/percentile.ts'

interface Distribution {
  readonly percentiles: readonly number[]
  /** By day: the scores at these percentiles. */
  readonly distribution: readonly (readonly number[] | null)[]
}

/** The mean of the days that have both a score and a distribution; null: there is none. */
export function meanPercentile(
  scores: readonly (number | null)[],
  { percentiles, distribution }: Distribution,
): number | null {
  const daily = scores.flatMap((score, day) => {
    const known = distribution[day]
    return score === null || !known ? [] : [percentileOf(score, percentiles, known)]
  })
  return daily.length === 0 ? null : daily.reduce((sum, value) => sum + value, 0) / daily.length
}
