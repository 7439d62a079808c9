// What each validator's balance gained in an epoch by its duties (behaviour/validators.md#earnings).
//
// 1. Balances are replayed from the state at the first slot of the epoch to the state at the first slot of the next
//    one: the blocks after the first state, the vote rewards between the epochs, the deposits and consolidations that
//    are applied there, and the block in the first slot of the next epoch.
// 2. Earnings are what the replay adds for duties. Deposits, withdrawals and consolidations are not earnings.
// 3. A balance never falls below zero. Penalties are applied one after another, as on the chain.
// 4. For a slashed validator, a decrease that the replay does not explain counts as earnings, because its later penalty
//    depends on all validators that were slashed around the same time.
// 5. A new validator may have less than its deposits: those with an invalid signature are not credited.
// 6. Any other difference between the replay and the state is unexplained. It is stored and reported as a defect of Tetrad.

import type { Block } from '#sources/beacon/block.ts'
import { type ConsensusRules, firstSlotAt, isForkFrom } from '#sources/beacon/consensus.ts'
import { type PendingChange, pendingChange } from '#sources/beacon/pending.ts'
import { indicesOfKeys } from '#sources/beacon/validator-keys.ts'
import type { Transfer } from '#validators/method/measures.ts'
import type { EpochStates } from '../read/epoch.ts'
import { type BlockEffects, proposerReward } from '../rules/block-effects.ts'
import type { BlockWithdrawals } from '../rules/deductions.ts'
import type { VoteRewards } from '../rules/vote-rewards.ts'

export interface Earnings {
  /** Gwei by validator. */
  readonly earned: Float64Array
  /** Gwei by validator, zero or negative: the part of the earnings that slashings took. */
  readonly slashed: ReadonlyMap<number, number>
  /**
   * Gwei by validator. Earnings, deposits and consolidations minus withdrawals are exactly the balance change from the
   * first state to the next one. What nothing explains counts as deposited.
   */
  readonly transfers: Readonly<Record<Transfer, ReadonlyMap<number, number>>>
  /** Validators whose balance differs from the replay, with the difference in gwei. */
  readonly unexplained: ReadonlyMap<number, number>
  /** The effects of the blocks, with the penalties that were taken from sync seats. */
  readonly effectsBetween: readonly BlockEffects[]
}

/**
 * `voteRewards`: for the votes of the previous epoch. `effectsBetween`: of the blocks between the two states.
 * `withdrawals`: since Gloas, what these blocks deduct, by slot.
 */
export function computeEarnings(
  rules: ConsensusRules,
  data: EpochStates,
  voteRewards: VoteRewards | undefined,
  effectsBetween: readonly BlockEffects[],
  withdrawals: ReadonlyMap<number, BlockWithdrawals>,
): Earnings {
  const { epoch, atStart, atEnd } = data
  const nextEpochSlot = firstSlotAt(rules, epoch + 1)
  const bySlot = new Map(data.blocks.map((block) => [block.slot, block]))
  const blocks = effectsBetween.flatMap(({ slot }) => bySlot.get(slot) ?? [])
  const change = pendingChange(atStart.pending, atEnd.pending)
  const transfers = new BalanceTransfers(data, blocks, change)
  const replay = new BalanceReplay(atEnd.count, atStart.balance)
  const slashed = new Set<number>()
  const processEpochEnd = () => {
    transfers.queueExcess(replay)
    replay.applyVoteRewards(voteRewards)
    transfers.applyQueues(replay, rules.increment, slashed)
  }
  let isEnded = false
  const applied: BlockEffects[] = []
  for (const effects of effectsBetween) {
    if (effects.slot === nextEpochSlot) {
      processEpochEnd()
      isEnded = true
    }
    for (const { validator } of effects.slashed) slashed.add(validator)
    const block = bySlot.get(effects.slot)
    const deducted = block?.bid ? withdrawals.get(effects.slot) : block?.payload
    const blockWithdrawals = deducted?.withdrawals ?? []
    applied.push(replay.applyBlock(effects, blockWithdrawals))
    for (const { validator, amount } of blockWithdrawals) addTo(transfers.withdrawn, validator, amount)
    if (block) transfers.deposit(replay, block)
  }
  if (!isEnded) processEpochEnd()
  const { balance, earned, slashingPenalties } = replay
  const unexplained = new Map<number, number>()
  for (let index = 0; index < atEnd.count; index++) {
    const difference = (atEnd.balance[index] as number) - (balance[index] as number)
    if (difference === 0) continue
    if (difference < 0 && atEnd.slashed[index] === 1) {
      earned[index] = (earned[index] as number) + difference
      addTo(slashingPenalties, index, difference)
    } else if (difference < 0 && index >= atStart.count) addTo(transfers.deposited, index, difference)
    else unexplained.set(index, difference)
  }
  return {
    earned,
    slashed: slashingPenalties,
    transfers: {
      deposited: addUp(transfers.deposited, unexplained),
      withdrawn: transfers.withdrawn,
      consolidated: transfers.consolidated,
    },
    unexplained,
    effectsBetween: applied,
  }
}

function addTo(sums: Map<number, number>, validator: number, gwei: number): void {
  sums.set(validator, (sums.get(validator) ?? 0) + gwei)
}

function addUp(...parts: readonly ReadonlyMap<number, number>[]): Map<number, number> {
  const sums = new Map<number, number>()
  for (const part of parts) for (const [validator, gwei] of part) addTo(sums, validator, gwei)
  return sums
}

/** Applies the deposits and consolidations of an epoch, and adds them up. */
class BalanceTransfers {
  readonly #change: PendingChange
  readonly #indices: ReadonlyMap<string, number>
  readonly #data: EpochStates
  readonly deposited = new Map<number, number>()
  readonly consolidated = new Map<number, number>()
  readonly withdrawn = new Map<number, number>()
  /** Deposits of blocks, which Electra puts into the queue. */
  readonly #blockDeposits: string[]

  constructor(data: EpochStates, blocks: readonly Block[], change: PendingChange) {
    const { atEnd } = data
    this.#data = data
    this.#change = change
    const inBlocks = blocks.flatMap(({ deposits }) => deposits)
    this.#blockDeposits = inBlocks.map(({ pubkey, amount }) => `${pubkey} ${amount}`)
    this.#indices = indicesOfKeys(
      atEnd,
      [...inBlocks, ...change.deposits, ...change.queued].map(({ pubkey }) => pubkey),
    )
  }

  /**
   * When a validator becomes compounding, its balance above 32 ETH goes into the queue. Such an entry has no slot, as some
   * deposits of blocks, which are told apart by their key and amount.
   */
  queueExcess(replay: BalanceReplay): void {
    for (const { pubkey, gwei, slot } of this.#change.queued) {
      if (slot !== 0) continue
      const at = this.#blockDeposits.indexOf(`${pubkey} ${gwei}`)
      const validator = this.#indices.get(pubkey)
      if (at >= 0) this.#blockDeposits.splice(at, 1)
      else this.#transfer(replay, this.deposited, validator, 0 - gwei)
    }
  }

  /** `slashed`: by the blocks of the epoch. The chain drops a consolidation if its source is slashed. */
  applyQueues(replay: BalanceReplay, increment: number, slashed: ReadonlySet<number>): void {
    const { atStart } = this.#data
    for (const { pubkey, gwei } of this.#change.deposits)
      this.#transfer(replay, this.deposited, this.#indices.get(pubkey), gwei)
    for (const { source, target } of this.#change.consolidations) {
      if (!(source < atStart.count && target < atStart.count)) continue
      if (atStart.slashed[source] === 1 || slashed.has(source)) continue
      const effective = (atStart.increments[source] as number) * increment
      const gwei = Math.min(replay.balance[source] as number, effective)
      this.#transfer(replay, this.consolidated, source, 0 - gwei)
      this.#transfer(replay, this.consolidated, target, gwei)
    }
  }

  /** Before Electra, the deposits of a block are credited at once; since Electra, they are queued. */
  deposit(replay: BalanceReplay, { fork, deposits }: Block): void {
    if (isForkFrom(fork, 'electra')) return
    for (const { pubkey, amount } of deposits) this.#transfer(replay, this.deposited, this.#indices.get(pubkey), amount)
  }

  /** `validator` is undefined for a deposit with an invalid signature, which creates no validator. */
  #transfer(replay: BalanceReplay, sums: Map<number, number>, validator: number | undefined, gwei: number): void {
    if (validator === undefined) return
    replay.balance[validator] = (replay.balance[validator] as number) + gwei
    addTo(sums, validator, gwei)
  }
}

/** Balances as the consensus rules change them during an epoch. */
class BalanceReplay {
  readonly balance: Float64Array
  readonly earned: Float64Array
  readonly slashingPenalties = new Map<number, number>()

  constructor(count: number, start: Float64Array) {
    this.balance = new Float64Array(count)
    this.balance.set(start.subarray(0, count))
    this.earned = new Float64Array(count)
  }

  /** Returns the effects with what the sync seats really changed. */
  applyBlock(
    effects: BlockEffects,
    withdrawals: readonly { readonly validator: number; readonly amount: number }[],
  ): BlockEffects {
    for (const { validator, amount } of withdrawals)
      this.balance[validator] = (this.balance[validator] as number) - amount
    for (const { validator, penalty } of effects.slashed)
      addTo(this.slashingPenalties, validator, this.#earn(validator, penalty))
    this.#earn(effects.proposer, proposerReward(effects))
    const seats = effects.seats.map((seat) => ({ ...seat, gwei: this.#earn(seat.validator, seat.gwei) }))
    return { ...effects, seats }
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

  /** Returns the change of the balance. */
  #earn(index: number, gwei: number): number {
    const before = this.balance[index] as number
    const applied = Math.max(gwei, 0 - before)
    this.balance[index] = before + applied
    this.earned[index] = (this.earned[index] as number) + applied
    return applied
  }
}
