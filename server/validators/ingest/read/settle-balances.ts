// Adds the rewards of the epoch transition to balances that a node only has for the slot before it
// (behaviour/validators.md#beacon-states).

import type { Carry } from '../epochs/process-epoch.ts'
import type { VoteRewards } from '../rules/vote-rewards.ts'
import type { ReadEpoch } from './epoch-reader.ts'

export function settleBalances({ boundary, atEnd }: ReadEpoch, before: Carry | undefined): void {
  if (!boundary.awaitsRewards) return
  if (before) addRewards(atEnd.balance, before.voteRewards)
  boundary.awaitsRewards = false
}

/** In the order of the chain. As on the chain, no balance falls below zero at any step. */
function addRewards(balance: Float64Array, { source, target, head, inactivity }: VoteRewards): void {
  for (const part of [source, target, head, inactivity]) {
    for (let index = 0; index < part.length; index++) {
      balance[index] = Math.max(0, (balance[index] as number) + (part[index] as number))
    }
  }
}
