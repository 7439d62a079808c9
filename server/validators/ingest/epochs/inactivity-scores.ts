// Inactivity scores of the last epochs, from which the first epoch of a new run goes on.
import type { ScoreHistory } from '#validators/duties/scores.ts'
import type { Scores } from './vote-rewards.ts'

/** How many epochs back they are kept: what the first epoch of a new run needs is computed again from there. */
const epochsKept = 6

export const appendScores = (history: ScoreHistory, epoch: number, scores: Scores): ScoreHistory =>
  new Map([...history, [epoch, scores] as const].filter(([at]) => at > epoch - epochsKept && at <= epoch))

/** The column of a state, without its zeros. */
export function scoresFrom(column: Float64Array): Scores {
  const scores = new Map<number, number>()
  for (let index = 0; index < column.length; index++) {
    const score = column[index] as number
    if (score > 0) scores.set(index, score)
  }
  return scores
}
