// The inactivity scores of the last epochs. A restarted ingest continues with them.
import type { ScoreHistory } from '#validators/duties/score-history.ts'
import type { Scores } from './vote-rewards.ts'

/** A restarted ingest recomputes a few epochs before its first one (`warmUpMax` in segment-processor.ts). */
const epochsKept = 6

export const appendScores = (history: ScoreHistory, epoch: number, scores: Scores): ScoreHistory =>
  new Map([...history, [epoch, scores] as const].filter(([at]) => at > epoch - epochsKept && at <= epoch))

/** Converts the column of a state, without zeros. */
export function scoresFrom(column: Float64Array): Scores {
  const scores = new Map<number, number>()
  for (let index = 0; index < column.length; index++) {
    const score = column[index] as number
    if (score > 0) scores.set(index, score)
  }
  return scores
}
