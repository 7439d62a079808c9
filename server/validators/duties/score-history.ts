// Inactivity scores, stored so that a restart can continue. While the chain finalizes, all of them are zero.
import type { Network } from '#api/contract/wire/validators.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { Scores } from '../ingest/rules/vote-rewards.ts'
import { networkId } from './layout.ts'

/** By the epoch whose votes last changed them. */
export type ScoreHistory = ReadonlyMap<number, Scores>

export async function readScores(duties: StateReader, network: Network): Promise<ScoreHistory> {
  const rows = await duties.all<{ epoch: number; scores: string }>(
    'select epoch, scores from inactivity_scores where network = ? order by epoch',
    networkId(network),
  )
  return new Map(rows.map(({ epoch, scores }) => [epoch, scoresIn(scores)]))
}

const scoresIn = (text: string): Scores =>
  new Map(text === '' ? [] : text.split(',').map((pair) => pair.split(':').map(Number) as [number, number]))

export async function writeScores(tx: StateWriter, network: Network, history: ScoreHistory): Promise<void> {
  await tx.run('delete from inactivity_scores where network = ?', networkId(network))
  const rows = Array.from(history, ([epoch, scores]) => {
    const text = Array.from(scores, ([validator, score]) => `${validator}:${score}`).join()
    return [networkId(network), epoch, text] as const
  })
  await tx.insertMany('inactivity_scores', ['network', 'epoch', 'scores'], rows)
}
