// Inactivity scores as they are kept between runs. Nearly always there are none.
import type { Network } from '#api/wire/validators.ts'
import type { FactsReader, FactsWriter } from '#store/facts.ts'
import type { Scores } from './pay.ts'

/** How many epochs back they are kept: what the first epoch of a new run needs is computed again from there. */
const epochsKept = 6

/** By the epoch whose votes moved them last. */
export type ScoreHistory = ReadonlyMap<number, Scores>

export async function readScores(facts: FactsReader, network: Network): Promise<ScoreHistory> {
  const rows = await facts.query<{ epoch: number; scores: string }>(
    'select epoch, scores from beacon_scores where network = ? order by epoch',
    [network],
  )
  return new Map(rows.map(({ epoch, scores }) => [epoch, scoresIn(scores)]))
}

const scoresIn = (text: string): Scores =>
  new Map(text === '' ? [] : text.split(',').map((pair) => pair.split(':').map(Number) as [number, number]))

export async function writeScores(tx: FactsWriter, network: Network, history: ScoreHistory): Promise<void> {
  await tx.remove('beacon_scores', { key: network })
  const texts = Array.from(history.values(), (scores) =>
    Array.from(scores, ([validator, score]) => `${validator}:${score}`).join(),
  )
  if (texts.length === 0) return
  await tx.append('beacon_scores', { network: texts.map(() => network), epoch: [...history.keys()], scores: texts })
}

export const withScores = (history: ScoreHistory, epoch: number, scores: Scores): ScoreHistory =>
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
