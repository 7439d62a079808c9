// Where a node shows balances only as they were before an epoch's beginning, what is paid there is added (decision 0102).
import type { VotePay } from './pay.ts'
import type { Reading } from './read.ts'
import type { Carry } from './refine.ts'

/** Balances from before an epoch's beginning become those after it. */
export function settle({ boundary, next }: Reading, before: Carry | undefined): void {
  if (!boundary.awaitsPay) return
  if (before) addPay(next.balance, before.pay)
  boundary.awaitsPay = false
}

/** In the chain's order, and like there no balance falls below zero at any step: what comes after begins at zero. */
function addPay(balance: Float64Array, { source, target, head, inactivity }: VotePay): void {
  for (const part of [source, target, head, inactivity]) {
    for (let index = 0; index < part.length; index++) {
      balance[index] = Math.max(0, (balance[index] as number) + (part[index] as number))
    }
  }
}
