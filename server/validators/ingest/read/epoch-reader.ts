// Reads finalized epochs in order, each with the following one, and keeps what the next epoch needs.
//
// 1. Every block contains the root of its parent, and roots are computed from the blocks. This detects altered and
//    missing blocks (behaviour/validators.md#verification).
// 2. Nodes differ in which states they have. For each part there are several requests, tried in order
//    (behaviour/validators.md#beacon-states). If all of them fail, the epoch is not read at all.
// 3. Only the current epochs are kept, so memory does not grow over time.
// 4. If there is a record of an epoch's states (state-records.ts) for the chain of the blocks, it is used instead of
//    requests.
// 5. Epochs without states can be computed from blocks, if there are states before and after them.

import type { Range } from '#core/ranges.ts'
import { type Block, slashedIn } from '#sources/beacon/block.ts'
import { type Beacon, BeaconError, ContradictionError } from '#sources/beacon/client.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { type ConsensusRules, epochAt, firstSlotAt, isFrom } from '#sources/beacon/consensus.ts'
import { emptyPendingQueues } from '#sources/beacon/pending.ts'
import type { ValidatorKeys } from '#sources/beacon/validator-keys.ts'
import { isActiveAt, type Validators } from '#sources/beacon/validators.ts'
import { type FullState, ReplayError } from '../replay/chain-replay.ts'
import { fillGap } from '../replay/fill-gap.ts'
import { BeaconQueries, type BlockLink } from './beacon-queries.ts'
import type { EpochData } from './epoch.ts'
import type { Boundary, EpochStateParts, RecordReader } from './state-records.ts'
import { substituteState, unslash } from './substitute-state.ts'

export interface ReadEpoch extends EpochData {
  readonly boundary: Boundary
}

const blocksAtOnce = 8
/** Computed epochs are kept in memory: about 20 MB each with a million validators. Mainnet: five hours. */
export const computedEpochsMax = 48
/** If a node does not offer full states, they are requested again after this many epochs. */
const statesRestEpochs = 9

/** The nodes responded, but none of them has the states of an epoch, and there is no record of them. */
export class StatesNotFoundError extends BeaconError {
  constructor(message: string) {
    super(`${message}; use an archive node`)
    this.name = statesNotFound
  }
}

const statesNotFound = 'StatesNotFoundError'

/** Checks the name, because an error from another thread loses its class. */
export const isStatesNotFound = (error: unknown): error is Error =>
  error instanceof Error && error.name === statesNotFound

export class EpochReader {
  #beacon: Beacon
  readonly #rules: ConsensusRules
  #queries: BeaconQueries
  readonly #blocks = new Map<number, readonly Block[]>()
  readonly #boundaries = new Map<number, Boundary>()
  readonly #syncCommittees = new Map<number, Uint32Array>()
  readonly #committees = new Map<number, Committees>()
  readonly #proposers = new Map<number, Int32Array>()
  /** The finalized epoch, as of each epoch. */
  readonly #finalized = new Map<number, number>()
  #records: RecordReader | undefined
  /** The last block up to the end of each epoch. */
  readonly #lastBlocks = new Map<number, BlockLink | undefined>()
  /** Full states are not requested before this epoch, because the node did not offer them. */
  #statesFromEpoch = 0
  /** Those of the last state. The next one shares most of them. */
  #keys: ValidatorKeys | undefined

  constructor(beacon: Beacon, rules: ConsensusRules, records?: RecordReader) {
    this.#beacon = beacon
    this.#rules = rules
    this.#records = records
    this.#queries = new BeaconQueries(beacon, rules)
  }

  /** Further requests use this signal. */
  withSignal(signal: AbortSignal): this {
    this.#queries = new BeaconQueries(this.#beacon, this.#rules, signal)
    return this
  }

  /** Reads from another node and other records from now on, and keeps what has been read. */
  continueWith(beacon: Beacon, records: RecordReader | undefined): void {
    this.#beacon = beacon
    this.#records = records
  }

  async finalizedEpoch(): Promise<number> {
    return requireResult(await this.#queries.finalizedEpoch('head'), 'the finalized epoch')
  }

  /** The epoch and the following one must be final. */
  async read(epoch: number): Promise<ReadEpoch> {
    this.#forget(epoch)
    const [ownBlocks, nextBlocks] = [await this.#blocksOf(epoch), await this.#blocksOf(epoch + 1)]
    const blocks = [...ownBlocks, ...nextBlocks]
    const chain = await this.#verifyLinks(epoch, blocks)
    for (const at of [epoch, epoch + 1, epoch + 2]) await this.#applyRecord(at, chain)
    const now = await this.#boundary(epoch)
    const boundary = await this.#boundary(epoch + 1)
    const proposers = await this.#proposersOf(epoch)
    this.#verifyProposers(epoch, ownBlocks, proposers)
    return {
      epoch,
      blocks,
      proposers,
      committees: await this.#committeesOf(epoch, now.validators),
      sync: {
        now: await this.#sync(epoch, now.validators),
        next: await this.#sync(epoch + 1, boundary.validators),
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
    const after = await this.#queries.block(end)
    const last = this.#lastBlocks.get(epoch)
    await this.#applyRecord(epoch + 1, [last, after])
    const known = this.#boundaries.get(epoch + 1)
    if (known?.awaitsRewards) return undefined
    const next = known?.validators ?? (await this.#validatorsAt(end))
    if (!next) return undefined
    this.#boundaries.set(epoch + 1, { validators: next, awaitsRewards: false })
    const header = after && (await this.#queries.header(end))
    if (header) this.#verifyLink(epoch, { slot: end, root: after.root }, { slot: end, parentRoot: header.root })
    if (after && last) this.#verifyLink(epoch, last, after)
    const sync = await this.#sync(epoch, now.validators)
    return {
      epoch,
      blocks: after ? [...own, after] : own,
      proposers: [],
      committees: await this.#committeesOf(epoch, now.validators),
      sync: { now: sync, next: after ? await this.#sync(epoch + 1, next, [after]) : sync },
      now: now.validators,
      next,
    }
  }

  /** Reads what only states contain. The first slot of the epoch must not be after the newest block. */
  async readStateParts(epoch: number): Promise<EpochStateParts> {
    const state = await this.#queries.transitionState(firstSlotAt(this.#rules, epoch))
    if (state) {
      const { validators, transition } = state
      this.#boundaries.set(epoch, { validators, awaitsRewards: false, transition })
    }
    const boundary = await this.#boundary(epoch)
    return {
      epoch,
      boundary,
      committees: await this.#committeesOf(epoch, boundary.validators),
      proposers: await this.#proposersOf(epoch),
      sync: await this.#sync(epoch, boundary.validators),
      finalizedEpoch: await this.#finalizedAt(epoch),
    }
  }

  /**
   * Computes epochs whose states no node has any more, from blocks and from the states at both ends of the range
   * (../replay). The result begins with the last recorded state before `from`, because the epoch before `from` is needed
   * to process it. Throws a ReplayError if a state or a block is missing, or if the result differs from the state at
   * `until`.
   */
  async computeEpochs({ from, until }: Range): Promise<readonly ReadEpoch[]> {
    const before = await this.#fullRecordBefore(from)
    if (!before) throw new ReplayError(`no full state before epoch ${from} was recorded`)
    const count = until - before.epoch
    if (count > computedEpochsMax)
      throw new ReplayError(`${count} epochs without states are too many; the limit is ${computedEpochsMax}`)
    const lastBlocks = [...(await this.#blocksOf(until - 1)), ...(await this.#blocksOf(until))]
    const chain = await this.#verifyLinks(until - 1, lastBlocks).catch((error: unknown) => {
      throw error instanceof ContradictionError ? new ReplayError(error.message) : error
    })
    for (const epoch of [until, until + 1]) await this.#applyRecord(epoch, chain)
    const after = await this.#boundary(until)
    if (after.awaitsRewards) throw new ReplayError(`the node does not have the full state of epoch ${until}`)
    const { epochs } = await fillGap(this.#rules, {
      before,
      after: { epoch: until, validators: after.validators, finalizedEpoch: await this.#finalizedAt(until) },
      finalizedAfter: await this.#finalizedAt(until + 1),
      readBlocks: (epoch) => this.#blocksOf(epoch),
    })
    return epochs.map((data) => ({ ...data, boundary: { validators: data.next, awaitsRewards: false } }))
  }

  /** A record of another fork is not used, so there may be newer ones. */
  async #fullRecordBefore(until: number): Promise<FullState | undefined> {
    const epochs = (await this.#records?.epochs()) ?? []
    for (const epoch of epochs.filter((at) => at > 0 && at < until).reverse()) {
      const blocks: Block[] = []
      for (let at = Math.max(0, epoch - 2); at <= epoch; at++) blocks.push(...(await this.#blocksOf(at)))
      const anchor = blocks.findLast(({ slot }) => slot <= firstSlotAt(this.#rules, epoch))
      const record = anchor && (await this.#records?.read(epoch, anchor.root))
      if (!record?.boundary.transition) continue
      return { epoch, validators: record.boundary.validators, transition: record.boundary.transition }
    }
    return undefined
  }

  /** `chain`: blocks around the first slot of the epoch. Those at and before it must not have gaps. */
  async #applyRecord(epoch: number, chain: readonly (BlockLink | undefined)[]): Promise<void> {
    if (!this.#records || this.#finalized.has(epoch)) return
    const first = firstSlotAt(this.#rules, epoch)
    const anchor = chain.findLast((block) => block !== undefined && block.slot <= first)
    const record = anchor && (await this.#records.read(epoch, anchor.root))
    if (!record) return
    if (!this.#boundaries.has(epoch)) this.#boundaries.set(epoch, record.boundary)
    this.#committees.set(epoch, record.committees)
    this.#proposers.set(epoch, record.proposers)
    this.#syncCommittees.set(this.#periodOf(epoch), record.sync)
    this.#finalized.set(epoch, record.finalizedEpoch)
  }

  #forget(epoch: number): void {
    for (const cache of [this.#blocks, this.#boundaries, this.#committees, this.#proposers, this.#finalized])
      for (const at of cache.keys()) if (at < epoch || at > epoch + 2) cache.delete(at)
    const period = this.#periodOf(epoch)
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

  /**
   * Checks the parent root of each block, and of the block after the last one. Returns the blocks from the one before the
   * epoch, if it had to be read, to the one after the last slot of the next epoch.
   */
  async #verifyLinks(epoch: number, blocks: readonly Block[]): Promise<readonly BlockLink[]> {
    const end = firstSlotAt(this.#rules, epoch + 2)
    let before: BlockLink | undefined = await this.#blockBefore(blocks[0], epoch)
    const chain: BlockLink[] = before ? [before, ...blocks] : [...blocks]
    for (const block of blocks) {
      if (before) this.#verifyLink(epoch, before, block)
      before = block
    }
    const lastOwn = blocks.findLast(({ slot }) => slot < firstSlotAt(this.#rules, epoch + 1))
    this.#lastBlocks.set(epoch, lastOwn ?? this.#lastBlocks.get(epoch - 1)).set(epoch + 1, before)
    if (!before) return chain
    for (let slot = end; slot < end + 2 * this.#rules.slotsPerEpoch; slot++) {
      const header = await this.#queries.header(slot)
      if (!header) continue
      this.#verifyLink(epoch, before, header)
      return [...chain, header]
    }
    const header = before.slot === end - 1 ? await this.#queries.header(before.slot) : undefined
    if (header) {
      this.#verifyLink(epoch, before, { slot: end, parentRoot: header.root })
      return chain
    }
    throw new BeaconError(
      `the node has no block after slot ${before.slot}, so it is unknown whether the slots up to ${end} are empty`,
    )
  }

  /** The block before the epoch: as it was read, or its header if the epoch starts with empty slots. */
  async #blockBefore(block: Block | undefined, epoch: number): Promise<BlockLink | undefined> {
    const known = this.#lastBlocks.get(epoch - 1)
    if (known) return known
    const first = firstSlotAt(this.#rules, epoch)
    if (block && block.slot === first) return undefined
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
      ? slashedIn(after).length === 0
        ? later
        : unslash(later, after, (await this.#boundary(epoch - 1)).validators, previousBlocks)
      : substituteState(
          await this.#validatorsAt(first - slotsPerEpoch),
          await this.#validatorsAt(first + slotsPerEpoch),
        )
    const before = previousBlocks.at(-1)
    const balances = validators && before && (await this.#queries.balances(before.slot, validators.count))
    if (!validators || !balances) {
      throw new StatesNotFoundError(`the node has neither the state of slot ${first} nor those around it`)
    }
    // The pending queues are of another slot than the balances.
    const pending = isFrom(this.#rules, 'electra', epoch) ? undefined : emptyPendingQueues
    return { validators: { ...validators, balance: balances, pending }, awaitsRewards: true }
  }

  async #committeesOf(epoch: number, validators: Validators): Promise<Committees> {
    const known = this.#committees.get(epoch)
    if (known) return known
    const first = firstSlotAt(this.#rules, epoch)
    const ofFirstBlock = async () => {
      const [block] = await this.#blocksOf(epoch)
      return block && this.#queries.committees(block.slot, epoch)
    }
    const committees = requireResult(
      (await this.#queries.committees(first, epoch)) ??
        (await ofFirstBlock()) ??
        (await this.#queries.attesterDuties(epoch, activeAt(validators, epoch))),
      `the committees of epoch ${epoch}`,
    )
    this.#committees.set(epoch, committees)
    return committees
  }

  async #proposersOf(epoch: number): Promise<Int32Array> {
    const proposers =
      this.#proposers.get(epoch) ??
      requireResult(await this.#queries.proposers(epoch), `the proposers of epoch ${epoch}`)
    this.#proposers.set(epoch, proposers)
    return proposers
  }

  /** `blocks`: the first blocks of the epoch, if not all of them can be read yet. */
  async #sync(epoch: number, validators: Validators, blocks?: readonly Block[]): Promise<Uint32Array> {
    const period = this.#periodOf(epoch)
    const known = this.#syncCommittees.get(period)
    if (known) return known
    const ofFirstBlock = async () => {
      const [block] = blocks ?? (await this.#blocksOf(epoch))
      return block && this.#queries.syncCommittee(block.slot, epoch)
    }
    const committee = requireResult(
      (await this.#queries.syncCommittee(firstSlotAt(this.#rules, epoch), epoch)) ??
        (await ofFirstBlock()) ??
        (await this.#queries.syncDuties(epoch, allOf(validators))),
      `the sync committee of epoch ${epoch}`,
    )
    this.#syncCommittees.set(period, committee)
    return committee
  }

  #periodOf(epoch: number): number {
    return Math.floor(epoch / this.#rules.epochsPerSyncPeriod)
  }

  /** Finality does not change within an epoch, so any slot with a state can be used. */
  async #finalizedAt(epoch: number): Promise<number> {
    const known = this.#finalized.get(epoch)
    if (known !== undefined) return known
    const first = firstSlotAt(this.#rules, epoch)
    for (let slot = first; slot < first + this.#rules.slotsPerEpoch; slot++) {
      const finalized = await this.#queries.finalizedEpoch(slot)
      if (finalized !== undefined) return finalized
    }
    throw new StatesNotFoundError(`the node did not return the finality checkpoints of epoch ${epoch}`)
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
