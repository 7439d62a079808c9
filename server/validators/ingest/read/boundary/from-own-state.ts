// When: the node has the state of the first slot of the epoch.
// Proves: the validators as the node has them. Their balances are verified when the epoch is processed (../../rules/verify.ts).
// Costs: one request for the whole state, or two to three requests for lists (../slot-states.ts).
import { firstSlotAt } from '#sources/beacon/consensus.ts'
import type { ReadBoundary } from '../boundary-way.ts'

export const fromOwnState: ReadBoundary = async ({ source, states }, epoch, search) => {
  const validators = await states.validatorsAtSlot(firstSlotAt(source.rules, epoch), search)
  return validators && { validators, awaitsRewards: false }
}
