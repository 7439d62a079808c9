// Who had which duty in an epoch: committees, proposers and the sync committee.
//
// 1. Committees and proposers are computed from RANDAO as the chain draws them, so that no node has to be trusted for
//    them. The mix of an epoch is in the blocks of the epoch before, or in a whole state.
// 2. Without the mix, they come from a record, or from requests in order (behaviour/validators.md#beacon-states).
import type { Block } from '#sources/beacon/block.ts'
import { chooseProposers, type ProposerChoice } from '#sources/beacon/choose-proposers.ts'
import { BeaconError } from '#sources/beacon/client.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { firstSlotAt } from '#sources/beacon/consensus.ts'
import { mixFromBlocks } from '#sources/beacon/duty-seeds.ts'
import { computeCommittees } from '#sources/beacon/shuffle.ts'
import { isActiveAt, type Validators } from '#sources/beacon/validators.ts'
import type { QuerySource } from './beacon-queries.ts'
import type { LinkedBlocks } from './linked-blocks.ts'
import type { EpochStateParts } from './state-records.ts'
import { StateSearch } from './states-not-found.ts'

type RecordedDuties = Pick<EpochStateParts, 'epoch' | 'committees' | 'proposers' | 'sync'>

/** `validators`: those at the first slot of the epoch. */
export class EpochDuties {
  readonly #source: QuerySource
  readonly #blocks: LinkedBlocks
  readonly #mixes = new Map<number, Uint8Array>()
  readonly #committees = new Map<number, Committees>()
  readonly #proposers = new Map<number, Int32Array>()
  readonly #recorded = new Map<number, RecordedDuties>()
  /** By period. */
  readonly #syncCommittees = new Map<number, Uint32Array>()

  constructor(source: QuerySource, blocks: LinkedBlocks) {
    this.#source = source
    this.#blocks = blocks
  }

  /** Keeps only what is needed to read this epoch and the next two. */
  keepFrom(epoch: number): void {
    for (const cache of [this.#mixes, this.#committees, this.#proposers, this.#recorded])
      for (const at of cache.keys()) if (at < epoch || at > epoch + 2) cache.delete(at)
    const period = this.#periodOf(epoch)
    for (const at of this.#syncCommittees.keys()) if (at < period || at > period + 1) this.#syncCommittees.delete(at)
  }

  addRecord(record: RecordedDuties): void {
    this.#recorded.set(record.epoch, record)
    this.#syncCommittees.set(this.#periodOf(record.epoch), record.sync)
  }

  /** Computes what the epoch before it determines. */
  prepare(epoch: number, choice: ProposerChoice): void {
    // The mixes that the first two epochs depend on are from before genesis. Only states have them for certain.
    const blocks = epoch < 2 ? [] : choice.blocks
    const mix = mixFromBlocks(this.#source.rules, epoch, blocks)
    if (mix) this.#mixes.set(epoch, mix)
    const proposers = chooseProposers(this.#source.rules, epoch, { ...choice, blocks })
    if (proposers) this.#proposers.set(epoch, proposers)
  }

  async committees(epoch: number, validators: Validators): Promise<Committees> {
    const mix = this.#mixes.get(epoch) ?? validators.seeds?.mixes.now
    const committees =
      this.#committees.get(epoch) ??
      (mix && computeCommittees(this.#source.rules, epoch, validators, mix)) ??
      this.#recorded.get(epoch)?.committees ??
      (await this.#readCommittees(epoch, validators))
    this.#committees.set(epoch, committees)
    return committees
  }

  async #readCommittees(epoch: number, validators: Validators): Promise<Committees> {
    const { queries, rules } = this.#source
    const ofFirstBlock = async () => {
      const [block] = await this.#blocks.of(epoch)
      return block && queries.committees(block.slot, epoch)
    }
    return requireResult(
      (await new StateSearch().result(queries.committees(firstSlotAt(rules, epoch), epoch))) ??
        (await ofFirstBlock()) ??
        (await queries.attesterDuties(epoch, activeAt(validators, epoch))),
      `the committees of epoch ${epoch}`,
    )
  }

  async proposers(epoch: number, validators: Validators): Promise<Int32Array> {
    const proposers =
      this.#proposers.get(epoch) ??
      chooseProposers(this.#source.rules, epoch, { now: validators, previous: undefined, blocks: [] }) ??
      this.#recorded.get(epoch)?.proposers ??
      requireResult(await this.#source.queries.proposers(epoch), `the proposers of epoch ${epoch}`)
    this.#proposers.set(epoch, proposers)
    return proposers
  }

  /** By seat. `blocks`: the first blocks of the epoch, if not all of them can be read yet. */
  async syncCommittee(epoch: number, validators: Validators, blocks?: readonly Block[]): Promise<Uint32Array> {
    const { queries, rules } = this.#source
    const period = this.#periodOf(epoch)
    const ofPeriod = this.#syncCommittees.get(period)
    if (ofPeriod) return ofPeriod
    const ofFirstBlock = async () => {
      const [block] = blocks ?? (await this.#blocks.of(epoch))
      return block && queries.syncCommittee(block.slot, epoch)
    }
    const committee = requireResult(
      (await new StateSearch().result(queries.syncCommittee(firstSlotAt(rules, epoch), epoch))) ??
        (await ofFirstBlock()) ??
        (await queries.syncDuties(epoch, allOf(validators))),
      `the sync committee of epoch ${epoch}`,
    )
    this.#syncCommittees.set(period, committee)
    return committee
  }

  #periodOf(epoch: number): number {
    return Math.floor(epoch / this.#source.rules.epochsPerSyncPeriod)
  }
}

const allOf = (validators: Validators): number[] => Array.from({ length: validators.count }, (_, index) => index)

const activeAt = (validators: Validators, epoch: number): number[] =>
  allOf(validators).filter((index) => isActiveAt(validators, index, epoch))

function requireResult<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new BeaconError(`the node did not return ${name}`)
  return value
}
