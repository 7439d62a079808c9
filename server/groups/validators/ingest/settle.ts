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

function addPay(balance: Float64Array, { source, target, head, inactivity }: VotePay): void {
  for (let index = 0; index < source.length; index++) {
    const sum =
      (source[index] as number) + (target[index] as number) + (head[index] as number) + (inactivity[index] as number)
    balance[index] = Math.max(0, (balance[index] as number) + sum)
  }
}
