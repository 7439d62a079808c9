// Reads finalized epochs in order, each with the following one, and keeps what the next epoch needs.
//
// 1. Every block contains the root of its parent, and roots are computed from the blocks. This detects altered and
//    missing blocks (behaviour/validators.md#verification).
// 2. Nodes differ in which states they have. For each part there are several requests, tried in order
//    (behaviour/validators.md#beacon-states). If all of them fail, the epoch is not read at all.
// 3. Only the current epochs are kept, so memory does not grow over time.

import type { Block } from '#sources/beacon/block.ts'
import { type Beacon, BeaconError, ContradictionError } from '#sources/beacon/client.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { type ConsensusRules, epochAt, firstSlotAt, isFrom } from '#sources/beacon/consensus.ts'
import { emptyPendingQueues } from '#sources/beacon/pending.ts'
import type { ValidatorKeys } from '#sources/beacon/validator-keys.ts'
import { isActiveAt, type Validators } from '#sources/beacon/validators.ts'
import { BeaconQueries } from './beacon-queries.ts'
import type { EpochData } from './epoch.ts'
import { substituteState, unslash } from './substitute-state.ts'

/** Validators at the first slot of an epoch. */
export interface Boundary {
  readonly validators: Validators
  /** The balances are those before the epoch transition: its rewards must still be added. */
  awaitsRewards: boolean
}

export interface ReadEpoch extends EpochData {
  readonly boundary: Boundary
}

const blocksAtOnce = 8
/** If a node does not offer full states, they are requested again after this many epochs. */
const statesRestEpochs = 9

type BlockLink = Pick<Block, 'slot' | 'root'>

export class EpochReader {
  #beacon: Beacon
  readonly #rules: ConsensusRules
  #queries: BeaconQueries
  readonly #blocks = new Map<number, readonly Block[]>()
  readonly #boundaries = new Map<number, Boundary>()
  readonly #syncCommittees = new Map<number, Uint32Array>()
  readonly #committees = new Map<number, Committees>()
  /** The last block up to the end of each epoch. */
  readonly #lastBlocks = new Map<number, BlockLink | undefined>()
  /** Full states are not requested before this epoch, because the node did not offer them. */
  #statesFromEpoch = 0
  /** Those of the last state. The next one shares most of them. */
  #keys: ValidatorKeys | undefined

  constructor(beacon: Beacon, rules: ConsensusRules) {
    this.#beacon = beacon
    this.#rules = rules
    this.#queries = new BeaconQueries(beacon, rules)
  }

  /** Further requests use this signal. */
  withSignal(signal: AbortSignal): this {
    this.#queries = new BeaconQueries(this.#beacon, this.#rules, signal)
    return this
  }

  /** Sends further requests to another node, and keeps what has been read. */
  askFrom(beacon: Beacon): void {
    this.#beacon = beacon
  }

  async finalizedEpoch(): Promise<number> {
    return requireResult(await this.#queries.finalizedEpoch('head'), 'the finalized epoch')
  }

  /** The epoch and the following one must be final. */
  async read(epoch: number): Promise<ReadEpoch> {
    this.#forget(epoch)
    const [ownBlocks, nextBlocks] = [await this.#blocksOf(epoch), await this.#blocksOf(epoch + 1)]
    const blocks = [...ownBlocks, ...nextBlocks]
    await this.#verifyLinks(epoch, blocks)
    const now = await this.#boundary(epoch)
    const boundary = await this.#boundary(epoch + 1)
    const proposers = requireResult(await this.#queries.proposers(epoch), `the proposers of epoch ${epoch}`)
    this.#verifyProposers(epoch, ownBlocks, proposers)
    return {
      epoch,
      blocks,
      proposers,
      committees: await this.#committeesOf(epoch, ownBlocks, now.validators),
      sync: {
        now: await this.#sync(epoch, ownBlocks, now.validators),
        next: await this.#sync(epoch + 1, nextBlocks, boundary.validators),
      },
      now: now.validators,
      next: boundary.validators,
      boundary,
      finalizedEpoch: await this.#finalizedAt(epoch + 2),
    }
  }

  /**
   * Reads what is needed to verify the vote rewards of the previous epoch: the blocks of this epoch and the state after
   * them. Undefined if the node does not have that state. Data that is not final yet is not kept.
   */
  async readAhead(epoch: number): Promise<Omit<EpochData, 'finalizedEpoch'> | undefined> {
    this.#forget(epoch)
    const end = firstSlotAt(this.#rules, epoch + 1)
    const own = await this.#blocksOf(epoch)
    const now = await this.#boundary(epoch)
    const next = this.#boundaries.get(epoch + 1)?.validators ?? (await this.#validatorsAt(end))
    if (!next) return undefined
    this.#boundaries.set(epoch + 1, { validators: next, awaitsRewards: false })
    const after = await this.#queries.block(end)
    const header = after && (await this.#queries.header(end))
    if (header) this.#verifyLink(epoch, { slot: end, root: after.root }, { slot: end, parentRoot: header.root })
    const last = own.at(-1)
    if (after && last) this.#verifyLink(epoch, last, after)
    const sync = await this.#sync(epoch, own, now.validators)
    return {
      epoch,
      blocks: after ? [...own, after] : own,
      proposers: [],
      committees: await this.#committeesOf(epoch, own, now.validators),
      sync: { now: sync, next: after ? await this.#sync(epoch + 1, [after], next) : sync },
      now: now.validators,
      next,
    }
  }

  #forget(epoch: number): void {
    for (const cache of [this.#blocks, this.#boundaries, this.#committees])
      for (const at of cache.keys()) if (at < epoch || at > epoch + 2) cache.delete(at)
    const period = Math.floor(epoch / this.#rules.epochsPerSyncPeriod)
    for (const at of this.#syncCommittees.keys()) if (at < period || at > period + 1) this.#syncCommittees.delete(at)
    for (const at of this.#lastBlocks.keys()) if (at < epoch - 1) this.#lastBlocks.delete(at)
  }

  async #blocksOf(epoch: number): Promise<readonly Block[]> {
    const known = this.#blocks.get(epoch)
    if (known) return known
    const blocks: Block[] = []
    const first = firstSlotAt(this.#rules, epoch)
    const until = first + this.#rules.slotsPerEpoch
    // The genesis slot has no proposed block.
    for (let from = Math.max(first, 1); from < until; from += blocksAtOnce) {
      const slots = Array.from({ length: Math.min(blocksAtOnce, until - from) }, (_, at) => from + at)
      const read = await Promise.all(slots.map((slot) => this.#queries.block(slot)))
      blocks.push(...read.filter((block) => block !== undefined))
    }
    this.#blocks.set(epoch, blocks)
    return blocks
  }

  /** Checks the parent root of each block, and of the block after the last one. */
  async #verifyLinks(epoch: number, blocks: readonly Block[]): Promise<void> {
    const end = firstSlotAt(this.#rules, epoch + 2)
    let before: BlockLink | undefined = await this.#blockBefore(blocks[0], epoch)
    for (const block of blocks) {
      if (before) this.#verifyLink(epoch, before, block)
      before = block
    }
    const lastOwn = blocks.findLast(({ slot }) => slot < firstSlotAt(this.#rules, epoch + 1))
    this.#lastBlocks.set(epoch, lastOwn ?? this.#lastBlocks.get(epoch - 1)).set(epoch + 1, before)
    if (!before) return
    for (let slot = end; slot < end + 2 * this.#rules.slotsPerEpoch; slot++) {
      const header = await this.#queries.header(slot)
      if (header) return this.#verifyLink(epoch, before, { slot, parentRoot: header.parentRoot })
    }
    const header = before.slot === end - 1 ? await this.#queries.header(before.slot) : undefined
    if (header) return this.#verifyLink(epoch, before, { slot: end, parentRoot: header.root })
    throw new BeaconError(
      `the node has no block after slot ${before.slot}, so it is unknown whether the slots up to ${end} are empty`,
    )
  }

  /** The block before the epoch: as it was read, or its header if the epoch starts with empty slots. */
  async #blockBefore(block: Block | undefined, epoch: number): Promise<BlockLink | undefined> {
    const known = this.#lastBlocks.get(epoch - 1)
    if (known) return known
    const first = firstSlotAt(this.#rules, epoch)
    if (block && block.slot === Math.max(first, 1)) return undefined
    for (let slot = Math.max(0, first - 1); slot >= Math.max(0, first - 2 * this.#rules.slotsPerEpoch); slot--) {
      const header = await this.#queries.header(slot)
      if (header) return { slot, root: header.root }
    }
    return undefined
  }

  #verifyLink(epoch: number, before: BlockLink, after: Pick<Block, 'slot' | 'parentRoot'>): void {
    if (before.root === after.parentRoot) return
    const cause =
      after.slot - before.slot > 1
        ? 'the node lacks blocks between them, or one of the two was altered'
        : 'one of the two was altered'
    throw new ContradictionError(
      `epoch ${epoch}, slot ${after.slot}: the parent root of the block is ${after.parentRoot}, but the root of the block of slot ${before.slot} is ${before.root}: ${cause}`,
    )
  }

  async #boundary(epoch: number): Promise<Boundary> {
    const known = this.#boundaries.get(epoch)
    if (known) return known
    const validators = await this.#validatorsAt(firstSlotAt(this.#rules, epoch))
    const boundary = validators ? { validators, awaitsRewards: false } : await this.#rebuildBoundary(epoch)
    this.#boundaries.set(epoch, boundary)
    return boundary
  }

  async #validatorsAt(slot: number): Promise<Validators | undefined> {
    const epoch = epochAt(this.#rules, slot)
    if (epoch >= this.#statesFromEpoch) {
      const state = await this.#queries.state(slot, this.#keys)
      if (state) {
        this.#keys = { pubkeys: state.validators.pubkeys, credentials: state.validators.credentials }
        return state.validators
      }
    }
    const validators = await this.#queries.validators(slot)
    if (!validators) return undefined
    // The node knows the slot but does not offer its full state, maybe only for now.
    if (epoch >= this.#statesFromEpoch) this.#statesFromEpoch = epoch + statesRestEpochs
    return { ...validators, pending: await this.#queries.pending(slot) }
  }

  async #rebuildBoundary(epoch: number): Promise<Boundary> {
    const { slotsPerEpoch } = this.#rules
    const first = firstSlotAt(this.#rules, epoch)
    const previousBlocks = await this.#blocksOf(epoch - 1)
    const [after] = await this.#blocksOf(epoch)
    const later = after && (await this.#validatorsAt(after.slot))
    const validators = later
      ? unslash(later, after, (await this.#boundary(epoch - 1)).validators, previousBlocks)
      : substituteState(
          await this.#validatorsAt(first - slotsPerEpoch),
          await this.#validatorsAt(first + slotsPerEpoch),
        )
    const before = previousBlocks.at(-1)
    const balances = validators && before && (await this.#queries.balances(before.slot, validators.count))
    if (!validators || !balances) {
      throw new BeaconError(`the node has neither the state of slot ${first} nor those around it; use an archive node`)
    }
    // The pending queues are of another slot than the balances.
    const pending = isFrom(this.#rules, 'electra', epoch) ? undefined : emptyPendingQueues
    return { validators: { ...validators, balance: balances, pending }, awaitsRewards: true }
  }

  async #committeesOf(epoch: number, own: readonly Block[], validators: Validators): Promise<Committees> {
    const known = this.#committees.get(epoch)
    if (known) return known
    const first = firstSlotAt(this.#rules, epoch)
    const committees = requireResult(
      (await this.#queries.committees(first, epoch)) ??
        (own[0] && (await this.#queries.committees(own[0].slot, epoch))) ??
        (await this.#queries.attesterDuties(epoch, activeAt(validators, epoch))),
      `the committees of epoch ${epoch}`,
    )
    this.#committees.set(epoch, committees)
    return committees
  }

  async #sync(epoch: number, own: readonly Block[], validators: Validators): Promise<Uint32Array> {
    const period = Math.floor(epoch / this.#rules.epochsPerSyncPeriod)
    const known = this.#syncCommittees.get(period)
    if (known) return known
    const committee = requireResult(
      (await this.#queries.syncCommittee(firstSlotAt(this.#rules, epoch), epoch)) ??
        (own[0] && (await this.#queries.syncCommittee(own[0].slot, epoch))) ??
        (await this.#queries.syncDuties(epoch, allOf(validators))),
      `the sync committee of epoch ${epoch}`,
    )
    this.#syncCommittees.set(period, committee)
    return committee
  }

  /** Finality does not change within an epoch, so any slot with a state can be used. */
  async #finalizedAt(epoch: number): Promise<number> {
    const first = firstSlotAt(this.#rules, epoch)
    for (let slot = first; slot < first + this.#rules.slotsPerEpoch; slot++) {
      const finalized = await this.#queries.finalizedEpoch(slot)
      if (finalized !== undefined) return finalized
    }
    throw new BeaconError(`the node did not return the finality checkpoints of epoch ${epoch}`)
  }

  #verifyProposers(epoch: number, own: readonly Block[], proposers: Int32Array): void {
    const first = firstSlotAt(this.#rules, epoch)
    const mismatch = own.find(({ slot, proposer }) => proposers[slot - first] !== proposer)
    if (mismatch)
      throw new ContradictionError(
        `epoch ${epoch}, slot ${mismatch.slot}: the proposer of the block is validator ${mismatch.proposer}, but the duty is of ${proposers[mismatch.slot - first]}`,
      )
  }
}

const allOf = (validators: Validators): number[] => Array.from({ length: validators.count }, (_, index) => index)

const activeAt = (validators: Validators, epoch: number): number[] =>
  allOf(validators).filter((index) => isActiveAt(validators, index, epoch))

function requireResult<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new BeaconError(`the node did not return ${name}`)
  return value
}
