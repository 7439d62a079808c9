// The rewards endpoints of the simulated node: what the simulated chain paid, as Beacon API JSON.
import type { EpochRecord, SimulatedBlock } from './records.ts'

/** `requested`: empty means all validators. */
export const voteRewards = ({ paid }: EpochRecord, requested: ReadonlySet<number>) => ({
  ideal_rewards: [],
  total_rewards: [...paid]
    .filter(([index]) => requested.size === 0 || requested.has(index))
    .map(([index, { source, target, head, inactivity }]) => ({
      validator_index: String(index),
      head: String(head),
      target: String(target),
      source: String(source),
      inactivity: String(inactivity),
    })),
})

export const blockReward = ({ proposer, rewards }: SimulatedBlock) => ({
  proposer_index: String(proposer),
  total: String(rewards.votes + rewards.sync + rewards.slashings),
  attestations: String(rewards.votes),
  sync_aggregate: String(rewards.sync),
  proposer_slashings: String(rewards.slashings),
  attester_slashings: '0',
})

export const syncRewards = ({ syncBits, rewards }: SimulatedBlock, seats: readonly number[]) =>
  seats.map((index, seat) => ({
    validator_index: String(index),
    reward: String(syncBits[seat] ? rewards.seat : -rewards.seat),
  }))
