// Reads finalized epochs in order, each with the following one, and keeps what the next epoch needs.
//
// 1. Blocks must link to each other (linked-blocks.ts).
// 2. Nodes differ in which states they have. For each part there are several requests, tried in order
//    (behaviour/validators.md#beacon-states). If all of them fail, the epoch is not read at all.
// 3. Only the current epochs are kept, so memory does not grow over time.
// 4. If there is a record of an epoch's states (state-records.ts) for the chain of the blocks, it is used instead of
//    requests.
// 5. Epochs without states can be computed from blocks, if there are states before and after them.
import type { Range } from '#core/ranges.ts'
import type { Block } from '#sources/beacon/block.ts'
import { type Beacon, ContradictionError } from '#sources/beacon/client.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import { type FullState, ReplayError } from '../replay/chain-replay.ts'
import { computedEpochsMax } from '../replay/computed-epochs-max.ts'
import { replayGap } from '../replay/replay-gap.ts'
import { verifyLink, verifyProposers } from '../rules/verify-blocks.ts'
import { type BeaconQueries, type BlockLink, createBeaconQueries } from './beacon-queries.ts'
import { Boundaries } from './boundaries.ts'
import type { EpochData } from './epoch.ts'
import { EpochDuties } from './epoch-duties.ts'
import { LinkedBlocks } from './linked-blocks.ts'
import { PayloadReader } from './payloads.ts'
import type { Boundary, EpochStateParts, RecordReader } from './state-records.ts'
import { StateSearch } from './states-not-found.ts'

/** Epochs before a gap whose full states are requested, one after another, if none was recorded. */
const statesTriedMax = 4

export interface ReadEpoch extends EpochData {
  readonly boundary: Boundary
}

/** Where the epochs of a segment come from. */
export interface EpochSource {
  withSignal(signal: AbortSignal): this
  read(epoch: number): Promise<ReadEpoch>
  readAhead(epoch: number): Promise<Omit<EpochData, 'finalizedEpoch'> | undefined>
}

export class EpochReader implements EpochSource {
  #beacon: Beacon
  #records: RecordReader | undefined
  readonly #source: { readonly rules: ConsensusRules; queries: BeaconQueries }
  readonly #blocks: LinkedBlocks
  readonly #payloads: PayloadReader
  readonly #boundaries: Boundaries
  readonly #duties: EpochDuties
  /** From records: the finalized epoch, as of each epoch. */
  readonly #finalized = new Map<number, number>()

  constructor(beacon: Beacon, rules: ConsensusRules, records?: RecordReader) {
    this.#beacon = beacon
    this.#records = records
    this.#source = { rules, queries: createBeaconQueries(beacon, rules) }
    this.#blocks = new LinkedBlocks(this.#source)
    this.#payloads = new PayloadReader(this.#source, this.#blocks)
    this.#boundaries = new Boundaries(this.#source, this.#blocks)
    this.#duties = new EpochDuties(this.#source, this.#blocks)
  }

  /** Further requests use this signal. */
  withSignal(signal: AbortSignal): this {
    this.#source.queries = createBeaconQueries(this.#beacon, this.#source.rules, signal)
    return this
  }

  /** Reads from another node and other records from now on, and keeps what has been read. */
  continueWith(beacon: Beacon, records: RecordReader | undefined): void {
    this.#beacon = beacon
    this.#records = records
  }

  /** The epoch and the following one must be final. */
  async read(epoch: number): Promise<ReadEpoch> {
    this.#keepFrom(epoch)
    const [ownBlocks, nextBlocks] = [await this.#blocks.of(epoch), await this.#blocks.of(epoch + 1)]
    const blocks = [...ownBlocks, ...nextBlocks]
    if (blocks.length === 0) await this.#refusePruned(epoch)
    const chain = await this.#blocks.verifyLinks(epoch, blocks)
    for (const at of [epoch, epoch + 1, epoch + 2]) await this.#applyRecord(at, chain)
    const start = await this.#boundaries.atEpoch(epoch)
    const boundary = await this.#boundaries.atEpoch(epoch + 1)
    const proposers = await this.#duties.proposers(epoch, start.validators)
    verifyProposers(this.#source.rules, epoch, ownBlocks, proposers)
    // The next block tells what the duties of empty epochs depend on.
    const later =
      blocks.length === 0 ? await this.#blocks.findFrom(firstSlotAt(this.#source.rules, epoch + 2)) : undefined
    const choice = { now: boundary.validators, previous: start.validators, blocks: later ? [later] : blocks }
    this.#duties.prepare(epoch + 1, choice)
    return {
      epoch,
      blocks,
      proposers,
      committees: await this.#duties.committees(epoch, start.validators),
      sync: {
        now: await this.#duties.syncCommittee(epoch, start.validators),
        next: await this.#duties.syncCommittee(epoch + 1, boundary.validators),
      },
      atStart: start.validators,
      atEnd: boundary.validators,
      boundary,
      finalizedEpoch: await this.#finalizedAt(epoch + 2),
      ...(later ? { child: later } : await this.#payloads.of(epoch, blocks, nextBlocks.length === 0)),
    }
  }

  /**
   * A node that has deleted its blocks looks like a chain without blocks, but it has no states either. So the states are
   * requested before the next block is searched, which takes many requests.
   */
  async #refusePruned(epoch: number): Promise<void> {
    const isRecorded = (await this.#records?.epochs())?.includes(epoch)
    if (!isRecorded) await this.#boundaries.atEpoch(epoch)
  }

  /**
   * Reads what is needed to verify the vote rewards of the previous epoch: the blocks of this epoch and the state after
   * them. Undefined if the node does not have that state. Data that is not final yet is not kept.
   */
  async readAhead(epoch: number): Promise<Omit<EpochData, 'finalizedEpoch'> | undefined> {
    this.#keepFrom(epoch)
    const end = firstSlotAt(this.#source.rules, epoch + 1)
    const epochBlocks = await this.#blocks.of(epoch)
    const start = await this.#boundaries.atEpoch(epoch)
    const after = await this.#source.queries.block(end)
    const last = this.#blocks.lastUpTo(epoch)
    await this.#applyRecord(epoch + 1, [last, after])
    const boundary = this.#boundaries.findKnown(epoch + 1)
    if (boundary?.awaitsRewards) return undefined
    const atEnd = boundary?.validators ?? (await this.#boundaries.validatorsAtSlot(end))
    if (!atEnd) return undefined
    this.#boundaries.addFound(epoch + 1, { validators: atEnd, awaitsRewards: false })
    const header = after && (await this.#source.queries.header(end))
    if (header) verifyLink(epoch, { slot: end, root: after.root }, { slot: end, parentRoot: header.root })
    if (after && last) verifyLink(epoch, last, after)
    const sync = await this.#duties.syncCommittee(epoch, start.validators)
    const blocks = after ? [...epochBlocks, after] : epochBlocks
    return {
      epoch,
      blocks,
      proposers: [],
      committees: await this.#duties.committees(epoch, start.validators),
      sync: { now: sync, next: after ? await this.#duties.syncCommittee(epoch + 1, atEnd, [after]) : sync },
      atStart: start.validators,
      atEnd,
      ...(await this.#payloads.of(epoch, blocks, false)),
    }
  }

  /** Reads what only states contain. The first slot of the epoch must not be after the newest block. */
  async readStateParts(epoch: number): Promise<EpochStateParts> {
    const firstSlot = firstSlotAt(this.#source.rules, epoch)
    const state = await new StateSearch().result(this.#source.queries.transitionState(firstSlot))
    if (state) {
      const { validators, transition } = state
      this.#boundaries.addFound(epoch, { validators, awaitsRewards: false, transition })
    }
    const boundary = await this.#boundaries.atEpoch(epoch)
    return {
      epoch,
      boundary,
      committees: await this.#duties.committees(epoch, boundary.validators),
      proposers: await this.#duties.proposers(epoch, boundary.validators),
      sync: await this.#duties.syncCommittee(epoch, boundary.validators),
      finalizedEpoch: await this.#finalizedAt(epoch),
    }
  }

  /**
   * Computes epochs whose states no node has any more: replays their blocks between the states at both ends of the range
   * (../replay). The result begins with the last known state before `from`, because the epoch before `from` is needed to
   * process it. Throws a ReplayError if a state or a block is missing, or if the result differs from the state at `until`.
   */
  async replayEpochs({ from, until }: Range): Promise<readonly ReadEpoch[]> {
    const before = (await this.#fullRecordBefore(from)) ?? (await this.#fullStateBefore(from))
    if (!before)
      throw new ReplayError(
        `no full state before epoch ${from} was recorded, and no node has one of the ${statesTriedMax} epochs before it`,
      )
    const count = until - before.epoch
    if (count > computedEpochsMax)
      throw new ReplayError(`${count} epochs without states are too many; the limit is ${computedEpochsMax}`)
    const blocksAtEnd = await this.#blocks.of(until)
    const lastBlocks = [...(await this.#blocks.of(until - 1)), ...blocksAtEnd]
    const chain = await this.#blocks.verifyLinks(until - 1, lastBlocks).catch((error: unknown) => {
      throw error instanceof ContradictionError ? new ReplayError(error.message) : error
    })
    for (const epoch of [until, until + 1]) await this.#applyRecord(epoch, chain)
    const after = await this.#boundaries.atEpoch(until)
    if (after.awaitsRewards) throw new ReplayError(`the node does not have the full state of epoch ${until}`)
    const nextBlock =
      blocksAtEnd.length === 0 ? await this.#blocks.findFrom(firstSlotAt(this.#source.rules, until + 1)) : undefined
    const epochs = await replayGap(this.#source.rules, {
      before,
      nextBlock,
      after: { epoch: until, validators: after.validators, finalizedEpoch: await this.#finalizedAt(until) },
      finalizedAfter: await this.#finalizedAt(until + 1),
      readBlocks: (epoch) => this.#blocks.of(epoch),
    })
    const previous = epochs.at(-1)?.atStart
    this.#duties.prepare(until, {
      now: after.validators,
      previous,
      blocks: nextBlock ? [...lastBlocks, nextBlock] : lastBlocks,
    })
    return epochs.map((data) => ({ ...data, boundary: { validators: data.atEnd, awaitsRewards: false } }))
  }

  /** The newest recorded full state before an epoch. A record of another fork is not used, even if it is newer. */
  async #fullRecordBefore(until: number): Promise<FullState | undefined> {
    const epochs = (await this.#records?.epochs()) ?? []
    for (const epoch of epochs.filter((at) => at > 0 && at < until).reverse()) {
      const blocks: Block[] = []
      for (let at = Math.max(0, epoch - 2); at <= epoch; at++) blocks.push(...(await this.#blocks.of(at)))
      const anchor = blocks.findLast(({ slot }) => slot <= firstSlotAt(this.#source.rules, epoch))
      const record = anchor && (await this.#records?.read(epoch, anchor.root))
      if (!record?.boundary.transition) continue
      return { epoch, validators: record.boundary.validators, transition: record.boundary.transition }
    }
    return undefined
  }

  /** The same of a node that keeps only some states, or only those of slots with a block. */
  async #fullStateBefore(until: number): Promise<FullState | undefined> {
    const search = new StateSearch()
    for (let epoch = until - 1; epoch > 0 && epoch >= until - statesTriedMax; epoch--) {
      const { rules, queries } = this.#source
      const state = await search.result(queries.transitionState(firstSlotAt(rules, epoch)))
      if (state) return { epoch, ...state }
    }
    return undefined
  }

  /**
   * Uses the record of the epoch, if there is one for this chain, instead of requests for its states. `chain`: blocks around
   * the first slot of the epoch. Those at and before it must not have gaps.
   */
  async #applyRecord(epoch: number, chain: readonly (BlockLink | undefined)[]): Promise<void> {
    if (!this.#records || this.#finalized.has(epoch)) return
    const firstSlot = firstSlotAt(this.#source.rules, epoch)
    const anchor = chain.findLast((block) => block !== undefined && block.slot <= firstSlot)
    const record = anchor && (await this.#records.read(epoch, anchor.root))
    if (!record) return
    this.#boundaries.addRecorded(epoch, record.boundary)
    this.#duties.addRecord(record)
    this.#finalized.set(epoch, record.finalizedEpoch)
  }

  #keepFrom(epoch: number): void {
    this.#blocks.keepFrom(epoch)
    this.#payloads.keepFrom(epoch)
    this.#boundaries.keepFrom(epoch)
    this.#duties.keepFrom(epoch)
    for (const at of this.#finalized.keys()) if (at < epoch || at > epoch + 2) this.#finalized.delete(at)
  }

  /** Finality does not change within an epoch, so any slot with a state can be used. */
  async #finalizedAt(epoch: number): Promise<number> {
    const recorded = this.#finalized.get(epoch)
    if (recorded !== undefined) return recorded
    const firstSlot = firstSlotAt(this.#source.rules, epoch)
    const search = new StateSearch()
    for (let slot = firstSlot; slot < firstSlot + this.#source.rules.slotsPerEpoch; slot++) {
      const finalized = await search.result(this.#source.queries.finalizedEpoch(slot))
      if (finalized !== undefined) return finalized
    }
    throw search.error(`the node did not return the finality checkpoints of epoch ${epoch}`)
  }
}
