// The rewards that a beacon node computes itself. Ingest does not use them; an audit compares them with Tetrad's own.
import { recordFrom } from '#core/record-from.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import type { BeaconRequest } from '#sources/beacon/endpoint.ts'
import { figureOf, InvalidResponseError, readFields, readList } from '#sources/beacon/json.ts'
import { requestData, stateBytesMax } from './beacon-queries.ts'

/** The parts of the reward for a vote. */
export const voteParts = ['source', 'target', 'head', 'inactivity'] as const
type NodeVoteRewards = Readonly<Record<(typeof voteParts)[number], number>>

export type RewardQueries = ReturnType<typeof createRewardQueries>

export function createRewardQueries(beacon: Beacon, signal?: AbortSignal) {
  const request = <T>(path: string, read: (data: unknown) => T, options: Omit<BeaconRequest, 'path'> = {}) =>
    requestData(beacon, { path: `/eth/v1/beacon/rewards/${path}`, ...options }, read, signal)
  return {
    /**
     * The rewards that the node reports for the votes of an epoch, for these or all validators. Some nodes return
     * fractions; the chain pays their floor. Some nodes always return all validators, so the result is filtered.
     */
    voteRewards(epoch: number, validators: readonly number[] = []) {
      const requested = new Set(validators)
      const read = (data: unknown): ReadonlyMap<number, NodeVoteRewards> => {
        const rewards = new Map<number, NodeVoteRewards>()
        for (const member of readList(readFields(data, 'data').total_rewards, 'total_rewards')) {
          const fields = readFields(member, 'total_rewards')
          const index = figureOf(fields.validator_index, 'validator_index')
          const reward = recordFrom(voteParts, (part) => parseGwei(fields[part]))
          if (requested.size === 0 || requested.has(index)) rewards.set(index, reward)
        }
        return rewards
      }
      return request(`attestations/${epoch}`, read, { bytesMax: stateBytesMax, body: validators.map(String) })
    },

    /** The proposer reward that the node reports for a block. */
    blockReward: (slot: number) =>
      request(`blocks/${slot}`, (data) => {
        const { attestations, sync_aggregate, proposer_slashings, attester_slashings } = readFields(data, 'data')
        return {
          votes: parseGwei(attestations),
          sync: parseGwei(sync_aggregate),
          slashings: parseGwei(proposer_slashings) + parseGwei(attester_slashings),
        }
      }),

    /** The sync rewards that the node reports for a block, by validator. Seats of one validator are added up. */
    syncRewards(slot: number) {
      const read = (data: unknown): ReadonlyMap<number, number> => {
        const sums = new Map<number, number>()
        for (const member of readList(data, 'rewards')) {
          const { validator_index, reward } = readFields(member, 'rewards')
          const index = figureOf(validator_index, 'validator_index')
          sums.set(index, (sums.get(index) ?? 0) + parseGwei(reward))
        }
        return sums
      }
      return request(`sync_committee/${slot}`, read, { body: [] })
    },
  }
}

function parseGwei(value: unknown): number {
  if (value == null) return 0
  const number = typeof value === 'string' ? Math.floor(Number(value)) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new InvalidResponseError('a reward is not a decimal string')
  // Avoid −0.
  return number === 0 ? 0 : number
}
