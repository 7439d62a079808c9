// The Beacon API requests of ingest, with decoded responses. They return undefined if the node does not have the data;
// for a block this means that its slot is empty. Fallbacks are chosen by epoch-reader.ts and boundaries.ts.

import type { Block } from '#sources/beacon/block.ts'
import { blockFromJson, blockFromSsz } from '#sources/beacon/block-ssz.ts'
import { headerRoot } from '#sources/beacon/block-type.ts'
import { type Beacon, UnknownForkError } from '#sources/beacon/client.ts'
import { type Committees, committeesFromDuties, committeesFromJson } from '#sources/beacon/committees.ts'
import { type ConsensusRules, epochAt, type Fork, forkAt, forks, isFrom } from '#sources/beacon/consensus.ts'
import { type BeaconReply, dataOf } from '#sources/beacon/endpoint.ts'
import { figureOf, hexOf, InvalidResponseError, readFields, readList } from '#sources/beacon/json.ts'
import {
  emptyPendingQueues,
  type PendingQueues,
  pendingConsolidationsFromJson,
  pendingDepositsFromJson,
} from '#sources/beacon/pending.ts'
import { View } from '#sources/beacon/ssz.ts'
import { type TransitionState, transitionStateFromSsz } from '#sources/beacon/transition-state.ts'
import type { ValidatorKeys } from '#sources/beacon/validator-keys.ts'
import { type StateParts, stateFromSsz, type Validators, validatorsFromJson } from '#sources/beacon/validators.ts'

/** A state of two million validators. */
export const stateBytesMax = 512 * 1024 * 1024
const blockBytesMax = 16 * 1024 * 1024

export class BeaconQueries {
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
      figureOf(readFields(readFields(data, 'data').finalized, 'finalized').epoch, 'epoch'),
    )
  }

  async header(slot: number): Promise<BlockHeader | undefined> {
    const header = await this.#header(slot)
    return header?.slot === slot ? header : undefined
  }

  /** The newest block of the canonical chain. */
  async head(): Promise<BlockHeader | undefined> {
    return this.#header('head')
  }

  async #header(block: number | 'head'): Promise<BlockHeader | undefined> {
    return this.#data(`/eth/v1/beacon/headers/${block}`, (data) => {
      const fields = readFields(data, 'data')
      const message = readFields(readFields(fields.header, 'header').message, 'message')
      const slot = figureOf(message.slot, 'slot')
      const root = headerRoot(message)
      if (block !== 'head' && slot > block)
        throw new InvalidResponseError(`requested the header of slot ${block}, got that of ${slot}`)
      // For an empty slot, some nodes return an earlier block. Its root does not matter.
      if ((block === 'head' || slot === block) && hexOf(fields.root, 'root', 32) !== root)
        throw new InvalidResponseError(`the header of slot ${slot} has the root ${root}, not ${fields.root}`)
      const proposer = figureOf(message.proposer_index, 'proposer_index')
      return { slot, proposer, root, parentRoot: hexOf(message.parent_root, 'parent_root', 32) }
    })
  }

  /** For an empty slot, some nodes return an earlier block. */
  async block(slot: number): Promise<Block | undefined> {
    const request = { path: `/eth/v2/beacon/blocks/${slot}`, accept: 'either', bytesMax: blockBytesMax } as const
    return this.#beacon.request(
      request,
      (reply) => {
        const block = this.#blockFrom(reply, slot)
        if (block.slot > slot)
          throw new InvalidResponseError(`requested the block of slot ${slot}, got that of ${block.slot}`)
        return block.slot === slot ? block : undefined
      },
      this.#signal,
    )
  }

  #blockFrom(reply: BeaconReply, slot: number): Block {
    const version = reply.version ?? (reply.is === 'json' ? readFields(reply.body, 'the response').version : undefined)
    const epoch = epochAt(this.#rules, slot)
    const fork = version == null ? forkAt(this.#rules, epoch) : parseFork(String(version), epoch)
    return reply.is === 'ssz'
      ? blockFromSsz(new View(reply.bytes), fork, this.#rules)
      : blockFromJson(dataOf(reply.body), fork, this.#rules)
  }

  /** The full state, if the node offers it. SSZ is twenty times smaller than JSON. */
  async state(slot: number, previous?: ValidatorKeys): Promise<StateParts | undefined> {
    return this.#state(slot, (view) => stateFromSsz(view, this.#rules, previous))
  }

  /** The full state with what epoch transitions need of it. Only computing states from blocks needs this. */
  async transitionState(slot: number): Promise<TransitionStateParts | undefined> {
    return this.#state(slot, (view) => {
      const state = stateFromSsz(view, this.#rules)
      return { ...state, transition: transitionStateFromSsz(view, this.#rules, state.validators) }
    })
  }

  async #state<T extends StateParts>(slot: number, read: (view: View) => T): Promise<T | undefined> {
    const path = `/eth/v2/debug/beacon/states/${slot}`
    const request = { path, accept: 'ssz', bytesMax: stateBytesMax, reusesBuffer: true } as const
    return this.#beacon.request(
      request,
      (reply) => {
        if (reply.is !== 'ssz') throw new InvalidResponseError('the state is not SSZ')
        const state = read(new View(reply.bytes))
        if (state.slot !== slot)
          throw new InvalidResponseError(`requested the state of slot ${slot}, got that of ${state.slot}`)
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

  /** Undefined if the node lacks one of the two queues. */
  async pending(slot: number): Promise<PendingQueues | undefined> {
    if (!isFrom(this.#rules, 'electra', epochAt(this.#rules, slot))) return emptyPendingQueues
    const deposits = await this.pendingDeposits(slot)
    const path = `/eth/v1/beacon/states/${slot}/pending_consolidations`
    const consolidations = deposits && (await this.#data(path, pendingConsolidationsFromJson, stateBytesMax))
    return consolidations && { deposits, consolidations }
  }

  /** Concatenated SSZ records. The state must be of Electra or later. */
  async pendingDeposits(slot: number): Promise<Uint8Array | undefined> {
    return this.#data(`/eth/v1/beacon/states/${slot}/pending_deposits`, pendingDepositsFromJson, stateBytesMax)
  }

  /** Gwei by validator. */
  async balances(slot: number, count: number): Promise<Float64Array | undefined> {
    return this.#data(
      `/eth/v1/beacon/states/${slot}/validator_balances`,
      (data) => {
        const balances = new Float64Array(count)
        const list = readList(data, 'balances')
        const seen = new Uint8Array(list.length)
        for (const member of list) {
          const { index, balance } = readFields(member, 'balances')
          const at = figureOf(index, 'index')
          if (!(at < list.length) || seen[at] === 1)
            throw new InvalidResponseError(`the list of ${list.length} balances has gaps or duplicates`)
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

  /** By slot of the epoch; −1 for the genesis slot, which has no proposer. */
  async proposers(epoch: number): Promise<Int32Array | undefined> {
    const { slotsPerEpoch } = this.#rules
    return this.#data(`/eth/v1/validator/duties/proposer/${epoch}`, (data) => {
      const proposers = new Int32Array(slotsPerEpoch).fill(-1)
      for (const member of readList(data, 'duties')) {
        const duty = readFields(member, 'duties')
        const at = figureOf(duty.slot, 'slot') - epoch * slotsPerEpoch
        if (!(at >= 0 && at < slotsPerEpoch)) throw new InvalidResponseError('a duty is outside the epoch')
        proposers[at] = figureOf(duty.validator_index, 'validator_index')
      }
      if (epoch === 0) proposers[0] = -1
      if (proposers.some((proposer, at) => proposer < 0 && !(epoch === 0 && at === 0))) {
        throw new InvalidResponseError(`epoch ${epoch} has slots without a proposer`)
      }
      return proposers
    })
  }

  /** By seat. */
  async syncCommittee(slot: number, epoch: number): Promise<Uint32Array | undefined> {
    return this.#data(`/eth/v1/beacon/states/${slot}/sync_committees?epoch=${epoch}`, (data) => {
      const list = readList(readFields(data, 'data').validators, 'validators')
      if (list.length !== this.#rules.syncCommitteeSize)
        throw new InvalidResponseError(
          `the sync committee has ${list.length} members, not ${this.#rules.syncCommitteeSize}`,
        )
      return Uint32Array.from(list, (index) => figureOf(index, 'validators'))
    })
  }

  async syncDuties(epoch: number, indices: readonly number[]): Promise<Uint32Array | undefined> {
    return this.#data(
      `/eth/v1/validator/duties/sync/${epoch}`,
      (data) => {
        const seats = new Map<number, number>()
        for (const member of readList(data, 'duties')) {
          const duty = readFields(member, 'duties')
          for (const seat of readList(duty.validator_sync_committee_indices, 'validator_sync_committee_indices')) {
            seats.set(
              figureOf(seat, 'validator_sync_committee_indices'),
              figureOf(duty.validator_index, 'validator_index'),
            )
          }
        }
        return Uint32Array.from({ length: this.#rules.syncCommitteeSize }, (_, seat) => {
          const validator = seats.get(seat)
          if (validator === undefined) throw new InvalidResponseError(`sync committee seat ${seat} has no validator`)
          return validator
        })
      },
      stateBytesMax,
      indices.map(String),
    )
  }

  #data<T>(path: string, read: (data: unknown) => T, bytesMax?: number, body?: unknown): Promise<T | undefined> {
    return requestData(this.#beacon, { path, bytesMax, body }, read, this.#signal)
  }
}

/** Requests JSON and reads its `data` member. Undefined if the node does not have it. */
export const requestData = <T>(
  beacon: Beacon,
  { path, bytesMax, body }: { readonly path: string; readonly bytesMax?: number | undefined; readonly body?: unknown },
  read: (data: unknown) => T,
  signal: AbortSignal | undefined,
): Promise<T | undefined> =>
  beacon.request(
    { path, ...(bytesMax !== undefined && { bytesMax }), ...(body !== undefined && { body }) },
    (reply) => read(dataOf(reply.is === 'json' ? reply.body : undefined)),
    signal,
  )

/** Where readers send their requests. The queries are replaced when a request has another signal or another node. */
export interface QuerySource {
  readonly rules: ConsensusRules
  readonly queries: BeaconQueries
}

export type TransitionStateParts = StateParts & { readonly transition: TransitionState }

/** A block of the chain, without its content. */
export type BlockLink = Pick<Block, 'slot' | 'root'>

export type BlockHeader = BlockLink & Pick<Block, 'parentRoot' | 'proposer'>

function parseFork(version: string, epoch: number): Fork {
  const name = version.toLowerCase()
  const fork = forks.find((known) => known === name)
  if (!fork) throw new UnknownForkError({ name, epoch })
  return fork
}
