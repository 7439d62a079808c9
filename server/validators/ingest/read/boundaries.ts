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
import { StateSearch } from './states-not-found.ts'

/** If a node does not offer full states, they are requested again after this many epochs. */
const statesRestEpochs = 9

export function createBoundaries(source: QuerySource, linkedBlocks: LinkedBlocks) {
  const { rules } = source
  const boundaries = new Map<number, Boundary>()
  /** Full states are not requested before this epoch, because the node did not offer them. */
  let statesFromEpoch = 0
  /** Those of the last state. The next one shares most of them. */
  let keys: ValidatorKeys | undefined

  async function at(epoch: number): Promise<Boundary> {
    const known = boundaries.get(epoch)
    if (known) return known
    const search = new StateSearch()
    const validators = await validatorsAt(firstSlotAt(rules, epoch), search)
    const boundary = validators ? { validators, awaitsRewards: false } : await rebuild(epoch, search)
    boundaries.set(epoch, boundary)
    return boundary
  }

  async function validatorsAt(slot: number, search = new StateSearch()): Promise<Validators | undefined> {
    const epoch = epochAt(rules, slot)
    if (epoch >= statesFromEpoch) {
      const state = await search.result(source.queries.state(slot, keys))
      if (state) {
        keys = { pubkeys: state.validators.pubkeys, credentials: state.validators.credentials }
        return state.validators
      }
    }
    const validators = await search.result(source.queries.validators(slot))
    if (!validators) return undefined
    // The node knows the slot but does not offer its full state, maybe only for now.
    if (epoch >= statesFromEpoch) statesFromEpoch = epoch + statesRestEpochs
    return { ...validators, pending: await search.result(source.queries.pending(slot)) }
  }

  async function rebuild(epoch: number, search: StateSearch): Promise<Boundary> {
    const { slotsPerEpoch } = rules
    const first = firstSlotAt(rules, epoch)
    const previousBlocks = await linkedBlocks.of(epoch - 1)
    const [after] = await linkedBlocks.of(epoch)
    const later = after && (await validatorsAt(after.slot, search))
    const validators = later
      ? slashedIn(after).length === 0
        ? later
        : unslash(later, after, (await at(epoch - 1)).validators, previousBlocks)
      : substituteState(
          await validatorsAt(first - slotsPerEpoch, search),
          await validatorsAt(first + slotsPerEpoch, search),
        )
    const before = previousBlocks.at(-1)
    const balances =
      validators && before && (await search.result(source.queries.balances(before.slot, validators.count)))
    if (!validators || !balances) {
      throw search.error(`the node has neither the state of slot ${first} nor those around it`)
    }
    // The pending queues and builders are of another slot than the balances.
    const pending = isFrom(rules, 'electra', epoch) ? undefined : emptyPendingQueues
    const payloads = undefined
    return { validators: { ...validators, balance: balances, pending, payloads }, awaitsRewards: true }
  }

  return {
    at,
    validatorsAt,
    known: (epoch: number) => boundaries.get(epoch),
    set: (epoch: number, boundary: Boundary) => void boundaries.set(epoch, boundary),
    /** Keeps only what is needed to read this epoch and the next two. */
    forget(epoch: number): void {
      for (const at of boundaries.keys()) if (at < epoch || at > epoch + 2) boundaries.delete(at)
    },
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
  return { ...before, scores: undefined, seeds: undefined }
}

/** Reverts the slashings of the first block of an epoch, except for validators that were slashed before. */
function unslash(later: Validators, block: Block, previous: Validators, previousBlocks: readonly Block[]): Validators {
  const slashed = later.slashed.slice()
  const slashedBefore = new Set(previousBlocks.flatMap(slashedIn))
  for (const index of slashedIn(block))
    if (previous.slashed[index] !== 1 && !slashedBefore.has(index)) slashed[index] = 0
  return { ...later, slashed }
}
