// Computes which withdrawals a block deducts since Gloas, as the consensus specifications define it: payments of builders,
// queued partial withdrawals, balances of exited builders, and the sweep over all validators. So no payload is needed.
import type { BuilderWithdrawal, Withdrawal } from '#sources/beacon/block.ts'
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { partialWithdrawalSize } from '#sources/beacon/gloas.ts'
import type { PayloadState } from '#sources/beacon/payload-state.ts'
import { View } from '#sources/beacon/ssz.ts'
import type { BlockWithdrawals } from '../rules/deductions.ts'
import type { Builder } from './replayed-builders.ts'

export interface SweptValidators {
  readonly count: number
  balance(index: number): number
  /** Gwei. */
  effective(index: number): number
  effectiveMax(index: number): number
  /** Whether withdrawals can be paid to an address. */
  hasAddress(index: number): boolean
  withdrawable(index: number): number
  isExiting(index: number): boolean
}

interface SweptBuilders {
  readonly builders: readonly Builder[]
  readonly queue: readonly BuilderWithdrawal[]
}

export class WithdrawalSweep {
  readonly #rules: ConsensusRules
  /** New requests are not added: they take effect much later than the end of a gap. */
  #partials: Uint8Array
  #nextValidator: number
  #nextBuilder: number

  constructor(
    rules: ConsensusRules,
    {
      partialWithdrawals,
      nextWithdrawalValidator,
      nextWithdrawalBuilder,
    }: Pick<PayloadState, 'partialWithdrawals' | 'nextWithdrawalValidator' | 'nextWithdrawalBuilder'>,
  ) {
    this.#rules = rules
    this.#partials = partialWithdrawals
    this.#nextValidator = nextWithdrawalValidator
    this.#nextBuilder = nextWithdrawalBuilder
  }

  /** The withdrawals of the next block. */
  take(epoch: number, validators: SweptValidators, builders: SweptBuilders): BlockWithdrawals {
    const max = this.#rules.blockLimits.withdrawals
    const builderWithdrawals = builders.queue.slice(0, max - 1)
    const withdrawals: Withdrawal[] = []
    const count = () => builderWithdrawals.length + withdrawals.length
    const rest = (index: number) =>
      withdrawals.reduce(
        (sum, { validator, amount }) => (validator === index ? sum - amount : sum),
        validators.balance(index),
      )
    this.#takePartials(epoch, validators, rest, withdrawals, max - 1 - count())
    this.#sweepBuilders(epoch, builders.builders, builderWithdrawals, () => count() >= max - 1)
    this.#sweepValidators(epoch, validators, rest, withdrawals, () => count() >= max)
    return { withdrawals, builderWithdrawals }
  }

  #takePartials(
    epoch: number,
    validators: SweptValidators,
    rest: (index: number) => number,
    withdrawals: Withdrawal[],
    space: number,
  ): void {
    const { sweep, effectiveMax } = this.#rules
    const limit = Math.min(sweep.partials, space)
    let done = 0
    // The queue is long, so only its start is read.
    for (; (done + 1) * partialWithdrawalSize <= this.#partials.length; done++) {
      const record = new View(this.#partials.subarray(done * partialWithdrawalSize, (done + 1) * partialWithdrawalSize))
      const [validator, amount, withdrawable] = [record.u64(0), record.u64(8), record.u64(16)]
      if (withdrawable > epoch || withdrawals.length >= limit) break
      const excess = rest(validator) - effectiveMax.phase0
      const isEligible = !validators.isExiting(validator) && validators.effective(validator) >= effectiveMax.phase0
      if (isEligible && excess > 0) withdrawals.push({ validator, amount: Math.min(excess, amount) })
    }
    this.#partials = this.#partials.subarray(done * partialWithdrawalSize)
  }

  #sweepBuilders(
    epoch: number,
    builders: readonly Builder[],
    withdrawals: BuilderWithdrawal[],
    isFull: () => boolean,
  ): void {
    if (builders.length === 0) return
    let done = 0
    for (; done < Math.min(builders.length, this.#rules.sweep.builders) && !isFull(); done++) {
      const builder = (this.#nextBuilder + done) % builders.length
      const { withdrawable, balance } = builders[builder] as Builder
      if (withdrawable <= epoch && balance > 0) withdrawals.push({ builder, amount: balance })
    }
    this.#nextBuilder = (this.#nextBuilder + done) % builders.length
  }

  #sweepValidators(
    epoch: number,
    validators: SweptValidators,
    rest: (index: number) => number,
    withdrawals: Withdrawal[],
    isFull: () => boolean,
  ): void {
    const { count } = validators
    const { validators: sweepMax } = this.#rules.sweep
    for (let done = 0; done < Math.min(count, sweepMax) && !isFull(); done++) {
      const validator = (this.#nextValidator + done) % count
      if (!validators.hasAddress(validator)) continue
      const max = validators.effectiveMax(validator)
      // Most validators have nothing to withdraw, so what they already withdraw in this block is subtracted later.
      const balance = validators.balance(validator)
      const isOver = validators.withdrawable(validator) <= epoch
      if (!isOver && !(validators.effective(validator) === max && balance > max)) continue
      const amount = rest(validator) - (isOver ? 0 : max)
      if (amount > 0) withdrawals.push({ validator, amount })
    }
    const last = withdrawals.at(-1)
    const next = isFull() && last ? last.validator + 1 : this.#nextValidator + sweepMax
    this.#nextValidator = next % count
  }
}
