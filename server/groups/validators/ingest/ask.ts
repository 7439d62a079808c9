// The questions that ingest puts to a beacon node, each with its answer decoded. Undefined: the node has no answer, which
// for a block means that its slot is empty. Which question to ask next when there is none is the reader's business.
import { type ConsensusRules, epochAt, type Fork, forkAt, forks, isFrom } from '#core/consensus.ts'
import type { Block } from '#io/beacon/block.ts'
import { blockFromJson, blockFromSsz } from '#io/beacon/block-ssz.ts'
import { headerRoot } from '#io/beacon/block-type.ts'
import { type Beacon, type BeaconReply, dataOf } from '#io/beacon/client.ts'
import { type Committees, committeesFromDuties, committeesFromJson } from '#io/beacon/committees.ts'
import { AnswerError, fieldsOf, figureOf, hexOf, listOf } from '#io/beacon/json.ts'
import type { Names } from '#io/beacon/names.ts'
import {
  nothingPending,
  type PendingQueues,
  pendingConsolidationsFromJson,
  pendingDepositsFromJson,
} from '#io/beacon/pending.ts'
import { View } from '#io/beacon/ssz.ts'
import { type StateParts, stateFromSsz, type Validators, validatorsFromJson } from '#io/beacon/validators.ts'

/** A state of two million validators. */
const stateBytesMax = 512 * 1024 * 1024
const blockBytesMax = 16 * 1024 * 1024

export class Asker {
  readonly #beacon: Beacon
  readonly #rules: ConsensusRules
  readonly #signal: AbortSignal | undefined

  constructor(beacon: Beacon, rules: ConsensusRules, signal?: AbortSignal) {
    this.#beacon = beacon
    this.#rules = rules
    this.#signal = signal
  }

  async finalizedEpoch(state: string | number): Promise<number | undefined> {
    return this.#data(`/eth/v1/beacon/states/${state}/finality_checkpoints`, (data) =>
      figureOf(fieldsOf(fieldsOf(data, 'data').finalized, 'finalized').epoch, 'epoch'),
    )
  }

  async header(slot: number): Promise<{ root: string; parentRoot: string } | undefined> {
    return this.#data(`/eth/v1/beacon/headers/${slot}`, (data) => {
      const fields = fieldsOf(data, 'data')
      const message = fieldsOf(fieldsOf(fields.header, 'header').message, 'message')
      if (figureOf(message.slot, 'slot') !== slot) return undefined
      const root = headerRoot(message)
      if (hexOf(fields.root, 'root', 32) !== root)
        throw new AnswerError(`the header of slot ${slot} has the root ${root}, not ${fields.root}`)
      return { root, parentRoot: hexOf(message.parent_root, 'parent_root', 32) }
    })
  }

  /** Nodes that answer an empty slot with an earlier block mean that it is empty. */
  async block(slot: number): Promise<Block | undefined> {
    const question = { path: `/eth/v2/beacon/blocks/${slot}`, accept: 'either', bytesMax: blockBytesMax } as const
    return this.#beacon.ask(
      question,
      (reply) => {
        const block = this.#blockFrom(reply, slot)
        if (block.slot > slot) throw new AnswerError(`slot ${slot} was asked for, slot ${block.slot} came`)
        return block.slot === slot ? block : undefined
      },
      this.#signal,
    )
  }

  #blockFrom(reply: BeaconReply, slot: number): Block {
    const version = reply.version ?? (reply.is === 'json' ? fieldsOf(reply.body, 'the answer').version : undefined)
    const fork = version == null ? forkAt(this.#rules, epochAt(this.#rules, slot)) : forkNamed(String(version))
    return reply.is === 'ssz'
      ? blockFromSsz(new View(reply.bytes), fork, this.#rules)
      : blockFromJson(dataOf(reply.body), fork, this.#rules)
  }

  /** The whole state, where the node offers it: one answer for everything, twenty times smaller than JSON. */
  async state(slot: number, past?: Names): Promise<StateParts | undefined> {
    const path = `/eth/v2/debug/beacon/states/${slot}`
    const question = { path, accept: 'ssz', bytesMax: stateBytesMax, isPassing: true } as const
    return this.#beacon.ask(
      question,
      (reply) => {
        if (reply.is !== 'ssz') throw new AnswerError('the state is not SSZ')
        const state = stateFromSsz(new View(reply.bytes), this.#rules, past)
        if (state.slot !== slot)
          throw new AnswerError(`the state of slot ${slot} was asked for, that of ${state.slot} came`)
        return state
      },
      this.#signal,
    )
  }

  async validators(slot: number): Promise<Validators | undefined> {
    return this.#data(
      `/eth/v1/beacon/states/${slot}/validators`,
      (data) => validatorsFromJson(data, this.#rules.increment),
      stateBytesMax,
    )
  }

  /** Undefined also where the node does not offer one of them. */
  async pending(slot: number): Promise<PendingQueues | undefined> {
    if (!isFrom(this.#rules, 'electra', epochAt(this.#rules, slot))) return nothingPending
    const ask = (what: string, read: (data: unknown) => Uint8Array) =>
      this.#data(`/eth/v1/beacon/states/${slot}/${what}`, read, stateBytesMax)
    const deposits = await ask('pending_deposits', pendingDepositsFromJson)
    const consolidations = deposits && (await ask('pending_consolidations', pendingConsolidationsFromJson))
    return consolidations && { deposits, consolidations }
  }

  /** Gwei by validator. */
  async balances(slot: number, count: number): Promise<Float64Array | undefined> {
    return this.#data(
      `/eth/v1/beacon/states/${slot}/validator_balances`,
      (data) => {
        const balances = new Float64Array(count)
        const list = listOf(data, 'balances')
        const seen = new Uint8Array(list.length)
        for (const member of list) {
          const { index, balance } = fieldsOf(member, 'balances')
          const at = figureOf(index, 'index')
          if (!(at < list.length) || seen[at] === 1)
            throw new AnswerError(`the list of ${list.length} balances has a hole or a double`)
          seen[at] = 1
          if (at < count) balances[at] = figureOf(balance, 'balance')
        }
        return balances
      },
      stateBytesMax,
    )
  }

  async committees(slot: number, epoch: number): Promise<Committees | undefined> {
    const { slotsPerEpoch } = this.#rules
    return this.#data(`/eth/v1/beacon/states/${slot}/committees?epoch=${epoch}`, (data) =>
      committeesFromJson(data, epoch * slotsPerEpoch, slotsPerEpoch),
    )
  }

  async attesterDuties(epoch: number, indices: readonly number[]): Promise<Committees | undefined> {
    const { slotsPerEpoch } = this.#rules
    return this.#data(
      `/eth/v1/validator/duties/attester/${epoch}`,
      (data) => committeesFromDuties(data, epoch * slotsPerEpoch, slotsPerEpoch),
      stateBytesMax,
      indices.map(String),
    )
  }

  /** By slot of the epoch; −1 for genesis, which nobody proposed. */
  async proposers(epoch: number): Promise<Int32Array | undefined> {
    const { slotsPerEpoch } = this.#rules
    return this.#data(`/eth/v1/validator/duties/proposer/${epoch}`, (data) => {
      const proposers = new Int32Array(slotsPerEpoch).fill(-1)
      for (const member of listOf(data, 'duties')) {
        const duty = fieldsOf(member, 'duties')
        const at = figureOf(duty.slot, 'slot') - epoch * slotsPerEpoch
        if (!(at >= 0 && at < slotsPerEpoch)) throw new AnswerError('a duty lies outside the epoch')
        proposers[at] = figureOf(duty.validator_index, 'validator_index')
      }
      if (epoch === 0) proposers[0] = -1
      if (proposers.some((proposer, at) => proposer < 0 && !(epoch === 0 && at === 0))) {
        throw new AnswerError(`epoch ${epoch} has slots without a proposer`)
      }
      return proposers
    })
  }

  /** By seat. */
  async syncCommittee(slot: number, epoch: number): Promise<Uint32Array | undefined> {
    return this.#data(`/eth/v1/beacon/states/${slot}/sync_committees?epoch=${epoch}`, (data) => {
      const list = listOf(fieldsOf(data, 'data').validators, 'validators')
      if (list.length !== this.#rules.syncCommitteeSize) throw new AnswerError(`a sync committee of ${list.length}`)
      return Uint32Array.from(list, (index) => figureOf(index, 'validators'))
    })
  }

  async syncDuties(epoch: number, indices: readonly number[]): Promise<Uint32Array | undefined> {
    return this.#data(
      `/eth/v1/validator/duties/sync/${epoch}`,
      (data) => {
        const seats = new Map<number, number>()
        for (const member of listOf(data, 'duties')) {
          const duty = fieldsOf(member, 'duties')
          for (const seat of listOf(duty.validator_sync_committee_indices, 'validator_sync_committee_indices')) {
            seats.set(
              figureOf(seat, 'validator_sync_committee_indices'),
              figureOf(duty.validator_index, 'validator_index'),
            )
          }
        }
        return Uint32Array.from({ length: this.#rules.syncCommitteeSize }, (_, seat) => {
          const validator = seats.get(seat)
          if (validator === undefined) throw new AnswerError(`seat ${seat} of the sync committee is nobody's`)
          return validator
        })
      },
      stateBytesMax,
      indices.map(String),
    )
  }

  /**
   * What the node says it paid these validators, or everyone, for the votes of an epoch. Some nodes tell fractions; what was paid
   * is their floor. Whoever was not asked for is left out: some nodes answer about everyone.
   */
  async voteRewards(
    epoch: number,
    validators: readonly number[] = [],
  ): Promise<ReadonlyMap<number, NodeVotePay> | undefined> {
    const asked = new Set(validators)
    const pays = await this.#allVoteRewards(epoch, validators)
    return pays && asked.size > 0 ? new Map([...pays].filter(([index]) => asked.has(index))) : pays
  }

  async #allVoteRewards(
    epoch: number,
    validators: readonly number[],
  ): Promise<ReadonlyMap<number, NodeVotePay> | undefined> {
    return this.#data(
      `/eth/v1/beacon/rewards/attestations/${epoch}`,
      (data) =>
        new Map(
          listOf(fieldsOf(data, 'data').total_rewards, 'total_rewards').map((member) => {
            const { validator_index, source, target, head, inactivity } = fieldsOf(member, 'total_rewards')
            const pay = {
              source: signed(source),
              target: signed(target),
              head: signed(head),
              inactivity: signed(inactivity),
            }
            return [figureOf(validator_index, 'validator_index'), pay]
          }),
        ),
      stateBytesMax,
      validators.map(String),
    )
  }

  /** What the node says a block brought its proposer. */
  async blockReward(slot: number): Promise<Readonly<Record<'votes' | 'sync' | 'slashings', number>> | undefined> {
    return this.#data(`/eth/v1/beacon/rewards/blocks/${slot}`, (data) => {
      const { attestations, sync_aggregate, proposer_slashings, attester_slashings } = fieldsOf(data, 'data')
      return {
        votes: signed(attestations),
        sync: signed(sync_aggregate),
        slashings: signed(proposer_slashings) + signed(attester_slashings),
      }
    })
  }

  /** What the node says each seat of the sync committee gained or lost with a block; several seats of one validator add up. */
  async syncRewards(slot: number): Promise<ReadonlyMap<number, number> | undefined> {
    return this.#data(
      `/eth/v1/beacon/rewards/sync_committee/${slot}`,
      (data) => {
        const sums = new Map<number, number>()
        for (const member of listOf(data, 'rewards')) {
          const { validator_index, reward } = fieldsOf(member, 'rewards')
          const index = figureOf(validator_index, 'validator_index')
          sums.set(index, (sums.get(index) ?? 0) + signed(reward))
        }
        return sums
      },
      undefined,
      [],
    )
  }

  #data<T>(path: string, read: (data: unknown) => T, bytesMax?: number, body?: unknown): Promise<T | undefined> {
    return this.#beacon.ask(
      { path, ...(bytesMax !== undefined && { bytesMax }), ...(body !== undefined && { body }) },
      (reply) => read(dataOf(reply.is === 'json' ? reply.body : undefined)),
      this.#signal,
    )
  }
}

export type NodeVotePay = Readonly<Record<'source' | 'target' | 'head' | 'inactivity', number>>

function signed(value: unknown): number {
  if (value == null) return 0
  const number = typeof value === 'string' ? Math.floor(Number(value)) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new AnswerError('a reward is no number in text')
  // The floor of −0.0 would be another zero.
  return number === 0 ? 0 : number
}

function forkNamed(version: string): Fork {
  const fork = forks.find((one) => one === version.toLowerCase())
  if (!fork)
    throw new AnswerError(`blocks of the fork ${version} are not understood; a newer version of this server is needed`)
  return fork
}
