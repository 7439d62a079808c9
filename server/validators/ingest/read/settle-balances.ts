// Where a node shows balances only as they were before an epoch's beginning, what is paid there is added (behaviour/validators.md#beacon-states).

import type { Carry } from '../epochs/process-epoch.ts'
import type { VoteRewards } from '../epochs/vote-rewards.ts'
import type { ReadEpoch } from './epoch-reader.ts'

/** Balances from before an epoch's beginning become those after it. */
export function settleBalances({ boundary, next }: ReadEpoch, before: Carry | undefined): void {
  if (!boundary.awaitsRewards) return
  if (before) addRewards(next.balance, before.voteRewards)
  boundary.awaitsRewards = false
}

/** In the chain's order, and like there no balance falls below zero at any step: what comes after begins at zero. */
function addRewards(balance: Float64Array, { source, target, head, inactivity }: VoteRewards): void {
  for (const part of [source, target, head, inactivity]) {
    for (let index = 0; index < part.length; index++) {
      balance[index] = Math.max(0, (balance[index] as number) + (part[index] as number))
    }
  }
}
