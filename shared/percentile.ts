// The percentile of a score in a distribution of which a few percentiles are known.

/**
 * `percents` and `scores` ascend: `percents[n]` percent of all scores are at most `scores[n]`. Interpolates between them.
 * For equal scores, returns the middle of their percentiles. Scores go from 0 to 100.
 */
export function percentileOf(score: number, percents: ArrayLike<number>, scores: ArrayLike<number>): number {
  let [below, equalFrom, equalTo] = [-1, -1, -1]
  for (let at = 0; at < scores.length; at++) {
    const known = scores[at] as number
    if (known < score) below = at
    if (known !== score) continue
    if (equalFrom < 0) equalFrom = at
    equalTo = at
  }
  if (equalFrom >= 0) {
    const until = score >= 100 ? 100 : (percents[equalTo] as number)
    return ((percents[equalFrom] as number) + until) / 2
  }
  const [lowPercent, low] = below < 0 ? [0, 0] : [percents[below] as number, scores[below] as number]
  const above = below + 1
  const [highPercent, high] = above < scores.length ? [percents[above] as number, scores[above] as number] : [100, 100]
  return high === low ? lowPercent : lowPercent + ((score - low) / (high - low)) * (highPercent - lowPercent)
}
