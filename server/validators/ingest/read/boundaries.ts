// The validators at the first slot of each epoch. If the node does not have that state, they are derived from a later
// state of the same epoch, or from the states one epoch before and after it if these two are equal. Their balances are
// read separately (behaviour/validators.md#beacon-states).
import { type Block, slashedIn } from '#sources/beacon/block.ts'
import { epochAt, firstSlotAt, isFrom } from '#sources/beacon/consensus.ts'
import { emptyPendingQueues } from '#sources/beacon/pending.ts'
import type { ValidatorKeys } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { QuerySource } from './beacon-queries.ts'
import type { LinkedBlocks } from './linked-blocks.ts'
import type { Boundary } from './state-records.ts'
import { StatesNotFoundError } from './states-not-found.ts'

/** If a node does not offer full states, they are requested again after this many epochs. */
const statesRestEpochs = 9

export class Boundaries {
  readonly #source: QuerySource
  readonly #blocks: LinkedBlocks
  readonly #boundaries = new Map<number, Boundary>()
  /** Full states are not requested before this epoch, because the node did not offer them. */
  #statesFromEpoch = 0
  /** Those of the last state. The next one shares most of them. */
  #keys: ValidatorKeys | undefined

  constructor(source: QuerySource, blocks: LinkedBlocks) {
    this.#source = source
    this.#blocks = blocks
  }

  /** Keeps only what is needed to read this epoch and the next two. */
  forget(epoch: number): void {
    for (const at of this.#boundaries.keys()) if (at < epoch || at > epoch + 2) this.#boundaries.delete(at)
  }

  known(epoch: number): Boundary | undefined {
    return this.#boundaries.get(epoch)
  }

  set(epoch: number, boundary: Boundary): void {
    this.#boundaries.set(epoch, boundary)
  }

  async at(epoch: number): Promise<Boundary> {
    const known = this.#boundaries.get(epoch)
    if (known) return known
    const validators = await this.validatorsAt(firstSlotAt(this.#source.rules, epoch))
    const boundary = validators ? { validators, awaitsRewards: false } : await this.#rebuild(epoch)
    this.#boundaries.set(epoch, boundary)
    return boundary
  }

  async validatorsAt(slot: number): Promise<Validators | undefined> {
    const epoch = epochAt(this.#source.rules, slot)
    if (epoch >= this.#statesFromEpoch) {
      const state = await this.#source.queries.state(slot, this.#keys)
      if (state) {
        this.#keys = { pubkeys: state.validators.pubkeys, credentials: state.validators.credentials }
        return state.validators
      }
    }
    const validators = await this.#source.queries.validators(slot)
    if (!validators) return undefined
    // The node knows the slot but does not offer its full state, maybe only for now.
    if (epoch >= this.#statesFromEpoch) this.#statesFromEpoch = epoch + statesRestEpochs
    return { ...validators, pending: await this.#source.queries.pending(slot) }
  }

  async #rebuild(epoch: number): Promise<Boundary> {
    const { slotsPerEpoch } = this.#source.rules
    const first = firstSlotAt(this.#source.rules, epoch)
    const previousBlocks = await this.#blocks.of(epoch - 1)
    const [after] = await this.#blocks.of(epoch)
    const later = after && (await this.validatorsAt(after.slot))
    const validators = later
      ? slashedIn(after).length === 0
        ? later
        : unslash(later, after, (await this.at(epoch - 1)).validators, previousBlocks)
      : substituteState(await this.validatorsAt(first - slotsPerEpoch), await this.validatorsAt(first + slotsPerEpoch))
    const before = previousBlocks.at(-1)
    const balances = validators && before && (await this.#source.queries.balances(before.slot, validators.count))
    if (!validators || !balances) {
      throw new StatesNotFoundError(`the node has neither the state of slot ${first} nor those around it`)
    }
    // The pending queues are of another slot than the balances.
    const pending = isFrom(this.#source.rules, 'electra', epoch) ? undefined : emptyPendingQueues
    return { validators: { ...validators, balance: balances, pending }, awaitsRewards: true }
  }
}

/** From the states one epoch before and after. Undefined if the two differ. */
function substituteState(before: Validators | undefined, after: Validators | undefined): Validators | undefined {
  if (!before || !after || before.count !== after.count) return undefined
  const comparedColumns = ['increments', 'slashed', 'activation', 'exit', 'withdrawable', 'eligible'] as const
  for (const name of comparedColumns) {
    const [a, b] = [before[name], after[name]]
    for (let index = 0; index < before.count; index++) if (a[index] !== b[index]) return undefined
  }
  return { ...before, scores: undefined }
}

/** Reverts the slashings of the first block of an epoch, except for validators that were slashed before. */
function unslash(later: Validators, block: Block, previous: Validators, previousBlocks: readonly Block[]): Validators {
  const slashed = later.slashed.slice()
  const slashedBefore = new Set(previousBlocks.flatMap(slashedIn))
  for (const index of slashedIn(block))
    if (previous.slashed[index] !== 1 && !slashedBefore.has(index)) slashed[index] = 0
  return { ...later, slashed }
}
