// When: the node has no state in the epoch, but those at the first slots of the epochs before and after it.
// Proves: the same validators if the two states are equal, because nothing can change and change back. Otherwise no result.
// Costs: two states and the balances before the epoch.
import { firstSlotAt } from '#sources/beacon/consensus.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import { withBalancesBefore } from '../balances-before.ts'
import type { ReadBoundary } from '../boundary-way.ts'

export const fromNeighbourEpochs: ReadBoundary = async (context, epoch, search) => {
  const { source, states } = context
  const before = await states.validatorsAtSlot(firstSlotAt(source.rules, epoch - 1), search)
  const after = await states.validatorsAtSlot(firstSlotAt(source.rules, epoch + 1), search)
  if (!before || !after || !areEqual(before, after)) return undefined
  return withBalancesBefore(context, epoch, { ...before, scores: undefined, seeds: undefined }, search)
}

const comparedColumns = ['increments', 'slashed', 'activation', 'exit', 'withdrawable', 'eligible'] as const

function areEqual(before: Validators, after: Validators): boolean {
  if (before.count !== after.count) return false
  return comparedColumns.every((name) => {
    for (let index = 0; index < before.count; index++) if (before[name][index] !== after[name][index]) return false
    return true
  })
}
