// The rewards that a beacon node computes itself. Ingest does not use them; an audit compares them with Tetrad's own.
import type { Beacon } from '#sources/beacon/client.ts'
import { figureOf, InvalidResponseError, readFields, readList } from '#sources/beacon/json.ts'
import { requestData, stateBytesMax } from './beacon-queries.ts'

export type NodeVoteRewards = Readonly<Record<'source' | 'target' | 'head' | 'inactivity', number>>

export class RewardQueries {
  readonly #beacon: Beacon
  readonly #signal: AbortSignal | undefined

  constructor(beacon: Beacon, signal?: AbortSignal) {
    this.#beacon = beacon
    this.#signal = signal
  }

  /**
   * The rewards that the node reports for the votes of an epoch, for these or all validators. Some nodes return
   * fractions; the chain pays their floor. Some nodes always return all validators, so the result is filtered.
   */
  async voteRewards(
    epoch: number,
    validators: readonly number[] = [],
  ): Promise<ReadonlyMap<number, NodeVoteRewards> | undefined> {
    const requested = new Set(validators)
    return this.#data(
      `/eth/v1/beacon/rewards/attestations/${epoch}`,
      (data) => {
        const rewards = new Map<number, NodeVoteRewards>()
        for (const member of readList(readFields(data, 'data').total_rewards, 'total_rewards')) {
          const { validator_index, source, target, head, inactivity } = readFields(member, 'total_rewards')
          const index = figureOf(validator_index, 'validator_index')
          const reward = {
            source: parseGwei(source),
            target: parseGwei(target),
            head: parseGwei(head),
            inactivity: parseGwei(inactivity),
          }
          if (requested.size === 0 || requested.has(index)) rewards.set(index, reward)
        }
        return rewards
      },
      stateBytesMax,
      validators.map(String),
    )
  }

  /** The proposer reward that the node reports for a block. */
  async blockReward(slot: number): Promise<Readonly<Record<'votes' | 'sync' | 'slashings', number>> | undefined> {
    return this.#data(`/eth/v1/beacon/rewards/blocks/${slot}`, (data) => {
      const { attestations, sync_aggregate, proposer_slashings, attester_slashings } = readFields(data, 'data')
      return {
        votes: parseGwei(attestations),
        sync: parseGwei(sync_aggregate),
        slashings: parseGwei(proposer_slashings) + parseGwei(attester_slashings),
      }
    })
  }

  /** The sync rewards that the node reports for a block, by validator. Several seats of one validator are added up. */
  async syncRewards(slot: number): Promise<ReadonlyMap<number, number> | undefined> {
    return this.#data(
      `/eth/v1/beacon/rewards/sync_committee/${slot}`,
      (data) => {
        const sums = new Map<number, number>()
        for (const member of readList(data, 'rewards')) {
          const { validator_index, reward } = readFields(member, 'rewards')
          const index = figureOf(validator_index, 'validator_index')
          sums.set(index, (sums.get(index) ?? 0) + parseGwei(reward))
        }
        return sums
      },
      undefined,
      [],
    )
  }

  #data<T>(path: string, read: (data: unknown) => T, bytesMax?: number, body?: unknown): Promise<T | undefined> {
    return requestData(this.#beacon, { path, bytesMax, body }, read, this.#signal)
  }
}

function parseGwei(value: unknown): number {
  if (value == null) return 0
  const number = typeof value === 'string' ? Math.floor(Number(value)) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new InvalidResponseError('a reward is not a decimal string')
  // Avoid −0.
  return number === 0 ? 0 : number
}
