// What a node tells about rewards: the figures that the chain itself paid, in the form of the Beacon API.
import type { EpochRecord, SimBlock } from './records.ts'

/** Nobody named: everyone. */
export const voteRewards = ({ paid }: EpochRecord, asked: ReadonlySet<number>) => ({
  ideal_rewards: [],
  total_rewards: [...paid]
    .filter(([index]) => asked.size === 0 || asked.has(index))
    .map(([index, { source, target, head, inactivity }]) => ({
      validator_index: String(index),
      head: String(head),
      target: String(target),
      source: String(source),
      inactivity: String(inactivity),
    })),
})

export const blockReward = ({ proposer, rewards }: SimBlock) => ({
  proposer_index: String(proposer),
  total: String(rewards.votes + rewards.sync + rewards.slashings),
  attestations: String(rewards.votes),
  sync_aggregate: String(rewards.sync),
  proposer_slashings: String(rewards.slashings),
  attester_slashings: '0',
})

export const syncRewards = ({ syncBits, rewards }: SimBlock, seats: readonly number[]) =>
  seats.map((index, seat) => ({
    validator_index: String(index),
    reward: String(syncBits[seat] ? rewards.seat : -rewards.seat),
  }))
