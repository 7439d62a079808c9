// What each validator's balance gained in an epoch by its duties (behaviour/validators.md#earnings).
//
// 1. From the state at the epoch's first slot to that at the next epoch's: the blocks behind the first state, then what the
//    chain pays between the epochs, then the deposits and consolidations that it carries out there, then the block in the next
//    epoch's first slot.
// 2. The rules' own account decides. Deposits, withdrawals and consolidations move balances without being earned.
// 3. A balance never falls below zero, so penalties are taken from what is there, one after another, as the chain does.
// 4. Of a slashed validator the balance itself is the witness: a later penalty depends on all that were slashed around then.
// 5. What then is left between the rules' account and the state's balances has no explanation (verify.ts).

import type { Block } from '#sources/beacon/block.ts'
import { type ConsensusRules, firstSlotAt, isForkFrom } from '#sources/beacon/consensus.ts'
import { type PendingChange, pendingChange } from '#sources/beacon/pending.ts'
import { indicesOfKeys } from '#sources/beacon/validator-keys.ts'
import type { EpochStates } from '../read/epoch.ts'
import type { BlockEffects } from './block-effects.ts'
import type { VoteRewards } from './vote-rewards.ts'

export interface Earnings {
  /** Gwei by validator. */
  readonly earned: Float64Array
  readonly unexplainedBalanceChanges: UnexplainedBalanceChanges
  /** Balances when the chain adjusted effective balances, between the two epochs. */
  readonly atAdjustment: Float64Array
  /** Validators whose balance differs from the rules' account, with the difference in gwei. */
  readonly unexplained: ReadonlyMap<number, number>
  /** Both states list what waits in their queues, so that every deposit is known. */
  readonly isExact: boolean
}

/** What came or went otherwise than by duties: deposits, consolidations. Withdrawals are told by blocks and not part of it. */
export interface UnexplainedBalanceChanges {
  readonly validators: number
  /** What came and what went, both zero or more. */
  readonly inGwei: number
  readonly outGwei: number
}

/** `after`: effects of the blocks behind the first state; `pay`: for the votes of the epoch before, if there was one. */
export function computeEarnings(
  rules: ConsensusRules,
  data: EpochStates,
  voteRewards: VoteRewards | undefined,
  after: readonly BlockEffects[],
): Earnings {
  const { epoch, now, next } = data
  const nextFirst = firstSlotAt(rules, epoch + 1)
  const bySlot = new Map(data.blocks.map((block) => [block.slot, block]))
  const blocks = after.flatMap(({ slot }) => bySlot.get(slot) ?? [])
  const isExact = now.pending !== undefined && next.pending !== undefined
  const change = now.pending && next.pending ? pendingChange(now.pending, next.pending) : noChange
  const transfers = new BalanceTransfers(data, blocks, change)
  const path = new BalanceReplay(next.count, now.balance)
  const processEpochEnd = () => {
    transfers.queue(path)
    path.applyVoteRewards(voteRewards)
    transfers.carryOut(path, rules.increment)
    return path.balance.slice()
  }
  let atAdjustment: Float64Array | undefined
  for (const one of after) {
    if (one.slot === nextFirst) atAdjustment = processEpochEnd()
    const block = bySlot.get(one.slot)
    path.apply(one, block?.payload?.withdrawals ?? [])
    if (block) transfers.deposit(path, block)
  }
  atAdjustment ??= processEpochEnd()
  const { balance, earned } = path
  const unexplained = new Map<number, number>()
  for (let index = 0; index < next.count; index++) {
    const rest = (next.balance[index] as number) - (balance[index] as number)
    if (rest === 0) continue
    atAdjustment[index] = (atAdjustment[index] as number) + rest
    if (rest < 0 && next.slashed[index] === 1) earned[index] = (earned[index] as number) + rest
    else unexplained.set(index, rest)
  }
  return { earned, unexplainedBalanceChanges: transfers.total(unexplained), atAdjustment, unexplained, isExact }
}

const noChange: PendingChange = { deposits: [], queued: [], consolidations: [] }

/** Deposits and consolidations of an epoch, and what they add up to. */
class BalanceTransfers {
  readonly #change: PendingChange
  readonly #indices: ReadonlyMap<string, number>
  readonly #data: EpochStates
  readonly #byValidator = new Map<number, number>()
  /** Deposits of blocks that went into the queue. */
  readonly #carried: string[]

  constructor(data: EpochStates, blocks: readonly Block[], change: PendingChange) {
    const { next } = data
    this.#data = data
    this.#change = change
    const inBlocks = blocks.flatMap(({ deposits }) => deposits)
    this.#carried = inBlocks.map(({ pubkey, amount }) => `${pubkey} ${amount}`)
    this.#indices = indicesOfKeys(
      next,
      [...inBlocks, ...change.deposits, ...change.queued].map(({ pubkey }) => pubkey),
    )
  }

  /** A balance above the need goes into the queue when a validator begins to compound. */
  queue(path: BalanceReplay): void {
    for (const { pubkey, gwei, slot } of this.#change.queued) {
      if (slot !== 0) continue
      const carried = this.#carried.indexOf(`${pubkey} ${gwei}`)
      if (carried >= 0) this.#carried.splice(carried, 1)
      else this.#transfer(path, this.#indices.get(pubkey), 0 - gwei)
    }
  }

  carryOut(path: BalanceReplay, increment: number): void {
    const { now } = this.#data
    for (const { pubkey, gwei } of this.#change.deposits) this.#transfer(path, this.#indices.get(pubkey), gwei)
    for (const { source, target } of this.#change.consolidations) {
      if (!(source < now.count && target < now.count) || now.slashed[source] === 1) continue
      const effective = (now.increments[source] as number) * increment
      const gwei = Math.min(path.balance[source] as number, effective)
      this.#transfer(path, source, 0 - gwei)
      this.#transfer(path, target, gwei)
    }
  }

  /** Before Electra a block's deposits are credited at once; later they wait. */
  deposit(path: BalanceReplay, { fork, deposits }: Block): void {
    if (isForkFrom(fork, 'electra')) return
    for (const { pubkey, amount } of deposits) this.#transfer(path, this.#indices.get(pubkey), amount)
  }

  /** A deposit with a wrong signature makes no validator. */
  #transfer(path: BalanceReplay, validator: number | undefined, gwei: number): void {
    if (validator === undefined) return
    path.balance[validator] = (path.balance[validator] as number) + gwei
    this.#byValidator.set(validator, (this.#byValidator.get(validator) ?? 0) + gwei)
  }

  total(unexplained: ReadonlyMap<number, number>): UnexplainedBalanceChanges {
    const all = new Map(this.#byValidator)
    for (const [index, gwei] of unexplained) all.set(index, (all.get(index) ?? 0) + gwei)
    const sums = [...all.values()].filter((gwei) => gwei !== 0)
    return {
      validators: sums.length,
      inGwei: sums.reduce((sum, gwei) => sum + Math.max(0, gwei), 0),
      outGwei: sums.reduce((sum, gwei) => sum + Math.max(0, 0 - gwei), 0),
    }
  }
}

/** Balances as the rules move them through an epoch. */
class BalanceReplay {
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

  applyVoteRewards(voteRewards: VoteRewards | undefined): void {
    if (!voteRewards) return
    const { source, target, head, inactivity } = voteRewards
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
