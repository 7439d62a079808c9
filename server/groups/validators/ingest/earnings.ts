// What each validator's balance gained in an epoch by its duties (decision 0104).
//
// 1. From the state at the epoch's first slot to that at the next epoch's: the blocks behind the first state, then what the
//    chain pays between the epochs, then the block in the next epoch's first slot.
// 2. The rules' own account decides. What the balance shows beyond it was moved: deposits, withdrawals, consolidations.
// 3. A balance never falls below zero, so penalties are taken from what is there, one after another, as the chain does.
// 4. Of a slashed validator the balance itself is the witness: a later penalty depends on all that were slashed around then.
import { type ConsensusRules, firstSlotAt } from '#core/consensus.ts'
import type { BlockEffects } from './effects.ts'
import type { EpochReading } from './epoch.ts'
import type { VotePay } from './pay.ts'

export interface Earnings {
  /** Gwei by validator. */
  readonly earned: Float64Array
  readonly moved: Moved
}

/** What came or went otherwise: deposits, consolidations. Withdrawals are told by blocks and not part of it. */
export interface Moved {
  readonly validators: number
  /** What came and what went, both zero or more. */
  readonly inGwei: number
  readonly outGwei: number
}

/** `after`: effects of the blocks behind the first state; `pay`: for the votes of the epoch before, if there was one. */
export function earningsOf(
  rules: ConsensusRules,
  { epoch, now, next, blocks }: EpochReading,
  pay: VotePay | undefined,
  after: readonly BlockEffects[],
): Earnings {
  const path = new BalancePath(next.count, now.balance)
  const bySlot = new Map(blocks.map((block) => [block.slot, block]))
  const nextFirst = firstSlotAt(rules, epoch + 1)
  for (const one of after) {
    if (one.slot === nextFirst) path.pay(pay)
    path.apply(one, bySlot.get(one.slot)?.payload?.withdrawals ?? [])
  }
  if (after.at(-1)?.slot !== nextFirst) path.pay(pay)
  const { balance, earned } = path
  let [validators, inGwei, outGwei] = [0, 0, 0]
  for (let index = 0; index < next.count; index++) {
    const rest = (next.balance[index] as number) - (balance[index] as number)
    if (rest === 0) continue
    if (rest < 0 && next.slashed[index] === 1) {
      earned[index] = (earned[index] as number) + rest
      continue
    }
    validators += 1
    if (rest > 0) inGwei += rest
    else outGwei -= rest
  }
  return { earned, moved: { validators, inGwei, outGwei } }
}

/** Balances as the rules move them through an epoch. */
class BalancePath {
  readonly balance: Float64Array
  readonly earned: Float64Array

  constructor(count: number, start: Float64Array) {
    this.balance = new Float64Array(count)
    this.balance.set(start.subarray(0, count))
    this.earned = new Float64Array(count)
  }

  apply(one: BlockEffects, withdrawals: readonly { readonly validator: number; readonly amount: number }[]): void {
    for (const { validator, amount } of withdrawals) {
      this.balance[validator] = (this.balance[validator] as number) - amount
    }
    for (const { validator, penalty } of one.slashed) this.#earn(validator, penalty)
    this.#earn(one.proposer, one.votes + one.slashings + one.sync)
    const { syncSeat } = one
    for (const { validator, signed } of one.seats) this.#earn(validator, signed ? syncSeat : 0 - syncSeat)
  }

  pay(pay: VotePay | undefined): void {
    if (!pay) return
    const { source, target, head, inactivity } = pay
    for (const part of [source, target, head, inactivity]) {
      for (let index = 0; index < part.length; index++) {
        const gwei = part[index] as number
        if (gwei !== 0) this.#earn(index, gwei)
      }
    }
  }

  #earn(index: number, gwei: number): void {
    const before = this.balance[index] as number
    // Below zero only when a deposit that the rules do not see was withdrawn again.
    const taken = before < 0 ? gwei : Math.max(gwei, 0 - before)
    this.balance[index] = before + taken
    this.earned[index] = (this.earned[index] as number) + taken
  }
}
