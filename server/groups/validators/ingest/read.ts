// Reads finalized epochs in order, each with the one after it, and keeps what the next epoch needs again.
//
// 1. A slot is empty only when the chain says so: the block after a gap names the one before it as its parent. A node that
//    merely lacks blocks is found out (decision 0101).
// 2. Nodes differ in which states they can answer for. Each part has its ways, tried in order (decision 0102); when all
//    fail the epoch is not read, rather than read in part.
// 3. Only the epochs at hand are kept, so memory does not grow with time.
import { type ConsensusRules, firstSlotAt } from '#core/consensus.ts'
import type { Block } from '#io/beacon/block.ts'
import { type Beacon, BeaconError } from '#io/beacon/client.ts'
import type { Committees } from '#io/beacon/committees.ts'
import type { Names } from '#io/beacon/names.ts'
import { isActiveAt, type Validators } from '#io/beacon/validators.ts'
import { Asker } from './ask.ts'
import type { EpochReading } from './epoch.ts'
import { standIn, unslash } from './stand-in.ts'

/** Validators at the first slot of an epoch. */
export interface Boundary {
  readonly validators: Validators
  /** The balances are those before the epoch's beginning: what is paid there must be added. */
  awaitsPay: boolean
}

export interface Reading extends EpochReading {
  readonly boundary: Boundary
}

const blocksAtOnce = 8

export class EpochReader {
  readonly #beacon: Beacon
  readonly #rules: ConsensusRules
  #ask: Asker
  readonly #blocks = new Map<number, readonly Block[]>()
  readonly #boundaries = new Map<number, Boundary>()
  readonly #syncCommittees = new Map<number, Uint32Array>()
  readonly #linked = new Set<number>()
  #offersState = true
  /** Of the last state: the next one shares most of them. */
  #names: Names | undefined

  constructor(beacon: Beacon, rules: ConsensusRules) {
    this.#beacon = beacon
    this.#rules = rules
    this.#ask = new Asker(beacon, rules)
  }

  /** From now on, until told otherwise, questions end with this signal. */
  under(signal: AbortSignal): this {
    this.#ask = new Asker(this.#beacon, this.#rules, signal)
    return this
  }

  async finalizedEpoch(): Promise<number> {
    return there(await this.#ask.finalizedEpoch('head'), 'the finalized epoch')
  }

  /** The epoch and the one after it must be final. */
  async read(epoch: number): Promise<Reading> {
    this.#forget(epoch)
    const [own, next] = [await this.#blocksOf(epoch), await this.#blocksOf(epoch + 1)]
    const blocks = [...own, ...next]
    await this.#proveGaps(epoch, blocks)
    const now = await this.#boundary(epoch)
    const boundary = await this.#boundary(epoch + 1)
    const proposers = there(await this.#ask.proposers(epoch), `the proposers of epoch ${epoch}`)
    this.#agree(epoch, own, proposers)
    return {
      epoch,
      blocks,
      proposers,
      committees: await this.#committees(epoch, own, now.validators),
      sync: {
        now: await this.#sync(epoch, own, now.validators),
        next: await this.#sync(epoch + 1, next, boundary.validators),
      },
      now: now.validators,
      next: boundary.validators,
      boundary,
      finalizedEpoch: await this.#finalizedAt(epoch + 2),
    }
  }

  #forget(epoch: number): void {
    for (const kept of [this.#blocks, this.#boundaries])
      for (const at of kept.keys()) if (at < epoch || at > epoch + 2) kept.delete(at)
    const period = Math.floor(epoch / this.#rules.epochsPerSyncPeriod)
    for (const at of this.#syncCommittees.keys()) if (at < period || at > period + 1) this.#syncCommittees.delete(at)
    for (const at of this.#linked) if (at < firstSlotAt(this.#rules, epoch - 1)) this.#linked.delete(at)
  }

  async #blocksOf(epoch: number): Promise<readonly Block[]> {
    const known = this.#blocks.get(epoch)
    if (known) return known
    const blocks: Block[] = []
    const first = firstSlotAt(this.#rules, epoch)
    const until = first + this.#rules.slotsPerEpoch
    // Genesis is no block that anybody proposed.
    for (let from = Math.max(first, 1); from < until; from += blocksAtOnce) {
      const slots = Array.from({ length: Math.min(blocksAtOnce, until - from) }, (_, at) => from + at)
      const read = await Promise.all(slots.map((slot) => this.#ask.block(slot)))
      blocks.push(...read.filter((block) => block !== undefined))
    }
    this.#blocks.set(epoch, blocks)
    return blocks
  }

  async #proveGaps(epoch: number, blocks: readonly Block[]): Promise<void> {
    const first = firstSlotAt(this.#rules, epoch)
    const end = firstSlotAt(this.#rules, epoch + 2)
    let before = await this.#blockBefore(blocks[0], first)
    for (const block of blocks) {
      if (before !== undefined && before < block.slot - 1) await this.#proveGap(before, block.slot, block.parentRoot)
      before = block.slot
    }
    if (before === undefined || before === end - 1) return
    for (let slot = end; slot < end + 2 * this.#rules.slotsPerEpoch; slot++) {
      const header = await this.#ask.header(slot)
      if (header) return this.#proveGap(before, slot, header.parentRoot)
    }
    throw new BeaconError(
      `no block is found behind slot ${before}, so that it is not certain that the slots up to ${end} are empty`,
    )
  }

  /** The slot of the block before the first one, looked for only where there is a gap to prove. */
  async #blockBefore(block: Block | undefined, first: number): Promise<number | undefined> {
    if (block && (block.slot === Math.max(first, 1) || this.#linked.has(block.slot))) return undefined
    for (let slot = first - 1; slot >= Math.max(0, first - 2 * this.#rules.slotsPerEpoch); slot--) {
      if (await this.#ask.header(slot)) return slot
    }
    return first === 0 ? 0 : undefined
  }

  async #proveGap(before: number, after: number, parentRoot: string): Promise<void> {
    if (this.#linked.has(after)) return
    const header = await this.#ask.header(before)
    if (header && header.root !== parentRoot) {
      throw new BeaconError(
        `the node has no blocks between slots ${before} and ${after}, but the chain has: it has not read that stretch completely`,
      )
    }
    if (!header && before > 0) throw new BeaconError(`the node has the block of slot ${before}, but not its header`)
    this.#linked.add(after)
  }

  async #boundary(epoch: number): Promise<Boundary> {
    const known = this.#boundaries.get(epoch)
    if (known) return known
    const whole = await this.#validatorsAt(firstSlotAt(this.#rules, epoch))
    const boundary = whole ? { validators: whole, awaitsPay: false } : await this.#rebuilt(epoch)
    this.#boundaries.set(epoch, boundary)
    return boundary
  }

  async #validatorsAt(slot: number): Promise<Validators | undefined> {
    if (this.#offersState) {
      const state = await this.#ask.state(slot, this.#names)
      if (state) {
        this.#names = { pubkeys: state.validators.pubkeys, credentials: state.validators.credentials }
        return state.validators
      }
    }
    const validators = await this.#ask.validators(slot)
    // The slot was there and its state was not offered: it never will be.
    if (validators) this.#offersState = false
    return validators
  }

  async #rebuilt(epoch: number): Promise<Boundary> {
    const { slotsPerEpoch } = this.#rules
    const first = firstSlotAt(this.#rules, epoch)
    const past = await this.#blocksOf(epoch - 1)
    const [after] = await this.#blocksOf(epoch)
    const later = after && (await this.#validatorsAt(after.slot))
    const validators = later
      ? unslash(later, after, (await this.#boundary(epoch - 1)).validators, past)
      : standIn(await this.#validatorsAt(first - slotsPerEpoch), await this.#validatorsAt(first + slotsPerEpoch))
    const before = past.at(-1)
    const balances = validators && before && (await this.#ask.balances(before.slot, validators.count))
    if (!validators || !balances) {
      throw new BeaconError(
        `the node has neither the state of slot ${first} nor those around it; an archive node has them`,
      )
    }
    return { validators: { ...validators, balance: balances }, awaitsPay: true }
  }

  async #committees(epoch: number, own: readonly Block[], validators: Validators): Promise<Committees> {
    const first = firstSlotAt(this.#rules, epoch)
    const committees =
      (await this.#ask.committees(first, epoch)) ??
      (own[0] && (await this.#ask.committees(own[0].slot, epoch))) ??
      (await this.#ask.attesterDuties(epoch, activeAt(validators, epoch)))
    return there(committees, `the committees of epoch ${epoch}`)
  }

  async #sync(epoch: number, own: readonly Block[], validators: Validators): Promise<Uint32Array> {
    const period = Math.floor(epoch / this.#rules.epochsPerSyncPeriod)
    const known = this.#syncCommittees.get(period)
    if (known) return known
    const committee = there(
      (await this.#ask.syncCommittee(firstSlotAt(this.#rules, epoch), epoch)) ??
        (own[0] && (await this.#ask.syncCommittee(own[0].slot, epoch))) ??
        (await this.#ask.syncDuties(epoch, allOf(validators))),
      `the sync committee of epoch ${epoch}`,
    )
    this.#syncCommittees.set(period, committee)
    return committee
  }

  /** As it stands in the epoch's first slot; finality does not change within an epoch. */
  async #finalizedAt(epoch: number): Promise<number> {
    const first = firstSlotAt(this.#rules, epoch)
    for (let slot = first; slot < first + this.#rules.slotsPerEpoch; slot++) {
      const finalized = await this.#ask.finalizedEpoch(slot)
      if (finalized !== undefined) return finalized
    }
    throw new BeaconError(`the node does not tell how finality stood in epoch ${epoch}`)
  }

  #agree(epoch: number, own: readonly Block[], proposers: Int32Array): void {
    const first = firstSlotAt(this.#rules, epoch)
    const odd = own.find(({ slot, proposer }) => proposers[slot - first] !== proposer)
    if (odd)
      throw new BeaconError(
        `slot ${odd.slot}: the block is of ${odd.proposer}, the duty of ${proposers[odd.slot - first]}`,
      )
  }
}

const allOf = (validators: Validators): number[] => Array.from({ length: validators.count }, (_, index) => index)

const activeAt = (validators: Validators, epoch: number): number[] =>
  allOf(validators).filter((index) => isActiveAt(validators, index, epoch))

function there<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new BeaconError(`the node does not tell ${what}`)
  return value
}
