// Inactivity scores as they are kept between runs. Nearly always there are none.
import type { Network } from '#api/wire/validators.ts'
import type { FactsReader, FactsWriter } from '#store/facts.ts'
import type { Scores } from './pay.ts'

/** Undefined: none were kept for this epoch. */
export async function readScores(facts: FactsReader, network: Network, epoch: number): Promise<Scores | undefined> {
  const [row] = await facts.query<{ scores: string }>(
    'select scores from beacon_scores where network = ? and epoch = ?',
    [network, epoch],
  )
  if (!row) return undefined
  const pairs = row.scores === '' ? [] : row.scores.split(',').map((pair) => pair.split(':').map(Number))
  return new Map(pairs as [number, number][])
}

export async function writeScores(tx: FactsWriter, network: Network, epoch: number, scores: Scores): Promise<void> {
  await tx.run('delete from beacon_scores where network = ?', [network])
  const text = Array.from(scores, ([validator, score]) => `${validator}:${score}`).join()
  await tx.run('insert into beacon_scores values (?, ?, ?)', [network, epoch, text])
}

/** The column of a state, without its zeros. */
export function scoresFrom(column: Float64Array): Scores {
  const scores = new Map<number, number>()
  for (let index = 0; index < column.length; index++) {
    const score = column[index] as number
    if (score > 0) scores.set(index, score)
  }
  return scores
}
