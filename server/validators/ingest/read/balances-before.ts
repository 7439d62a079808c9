// Completes validators that were found without the state of their slot: their balances are those after the last block
// before the epoch. The rewards of the epoch transition are added when the epoch is processed (settle-balances.ts).
import { firstSlotAt, isFrom } from '#sources/beacon/consensus.ts'
import { emptyPendingQueues } from '#sources/beacon/pending.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import { type BoundaryContext, boundaryNotFound } from './boundary-way.ts'
import type { Boundary } from './state-records.ts'
import type { StateSearch } from './states-not-found.ts'

/** Throws if the node does not have these balances: no other way finds them either. */
export async function withBalancesBefore(
  { source, blocks }: BoundaryContext,
  epoch: number,
  validators: Validators,
  search: StateSearch,
): Promise<Boundary> {
  const { rules, queries } = source
  const lastBlock = (await blocks.of(epoch - 1)).at(-1)
  const balance = lastBlock && (await search.result(queries.balances(lastBlock.slot, validators.count)))
  if (!balance) throw boundaryNotFound(firstSlotAt(rules, epoch), search)
  // The pending queues and builders are of another slot than the balances.
  const pending = isFrom(rules, 'electra', epoch) ? undefined : emptyPendingQueues
  return { validators: { ...validators, balance, pending, payloads: undefined }, awaitsRewards: true }
}
