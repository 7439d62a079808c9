// The state and the rules of a simulated chain. The rules are implemented independently of the server, close to the
// consensus specifications (one validator at a time, bigints), so that ingest can be tested against them.
import type { Fork } from '#sources/beacon/consensus.ts'
import { eth, far, least, maxEffective } from './amounts.ts'
import { reserveExit } from './gloas/churn.ts'
import { type ChainConstants, chainConstants, type GloasState } from './gloas/gloas-state.ts'
import type { NetworkPlan } from './plan.ts'
import type { Identity, SimulatedPendingDeposit, SimulatedValidator } from './records.ts'
import type { Truth } from './truth.ts'

/** The mutable state, as plain data that can be saved and restored. */
export const freshChain = () => ({
  validators: [] as SimulatedValidator[],
  justified: 0,
  previousJustified: 0,
  finalized: 0,
  bits: [false, false, false, false],
  slashed: new Array<bigint>(chainConstants.slashingsVector).fill(0n),
  /** Deposits that are applied at the end of an epoch. */
  queue: [] as SimulatedPendingDeposit[],
  consolidations: [] as { readonly from: number; readonly to: number; readonly epoch: number }[],
  /** Sources of all consolidations so far. */
  consolidated: [] as number[],
  /** Since Gloas. */
  gloas: undefined as GloasState | undefined,
})

export type ChainData = ReturnType<typeof freshChain>

interface EpochStake {
  readonly active: readonly number[]
  readonly total: bigint
  readonly perIncrement: bigint
}

export class ChainState {
  readonly plan: NetworkPlan
  readonly data: ChainData
  readonly truth: Truth
  readonly constants: ChainConstants
  readonly #stakes = new Map<number, EpochStake>()

  constructor(plan: NetworkPlan, truth: Truth, data: ChainData, constants: ChainConstants = chainConstants) {
    this.plan = plan
    this.truth = truth
    this.data = data
    this.constants = constants
  }

  /** Exists since Gloas. */
  get gloas(): GloasState {
    if (!this.data.gloas) throw new Error('the chain has not reached Gloas')
    return this.data.gloas
  }

  get validators(): SimulatedValidator[] {
    return this.data.validators
  }

  /** No block of this slot has a payload yet. */
  startSlot(slot: number): void {
    if (this.data.gloas) this.data.gloas.availability[slot % this.constants.historicalRoots] = false
  }

  isFrom(fork: Fork, epoch: number): boolean {
    return epoch >= (this.plan.forkEpochs[fork] ?? far)
  }

  active(epoch: number): readonly number[] {
    return this.#stakeAt(epoch).active
  }

  /** Sum of effective balances in gwei. */
  totalActive(epoch: number): bigint {
    return this.#stakeAt(epoch).total
  }

  perIncrement(epoch: number): bigint {
    return this.#stakeAt(epoch).perIncrement
  }

  baseReward(index: number, epoch: number): bigint {
    return (this.at(index).effective / eth) * this.perIncrement(epoch)
  }

  at(index: number): SimulatedValidator {
    return this.validators[index] as SimulatedValidator
  }

  /** Earnings count for the epoch whose first state precedes them. */
  /** Returns the change of the balance, which does not fall below zero. */
  earn(index: number, amount: bigint, slot: number): bigint {
    const validator = this.at(index)
    const applied = validator.balance + amount < 0n ? -validator.balance : amount
    validator.balance += applied
    this.truth.add(Math.floor((slot - 1) / this.plan.slotsPerEpoch), index, 'earnings', applied)
    return applied
  }

  penalizeSlashed(index: number, penalty: bigint, slot: number): void {
    const applied = this.earn(index, -penalty, slot)
    this.truth.add(Math.floor((slot - 1) / this.plan.slotsPerEpoch), index, 'slashing_penalty', applied)
  }

  enter(identity: Identity, balance: bigint, activation: number): void {
    this.validators.push({
      ...identity,
      balance,
      effective: least(balance - (balance % eth), maxEffective(identity.credentials)),
      slashed: false,
      eligible: activation,
      activation,
      exit: far,
      withdrawable: far,
      score: 0n,
      previous: 0,
      current: 0,
    })
  }

  /** Returns the reward of the proposer. */
  slash(index: number, proposer: number, slot: number): bigint {
    const epoch = Math.floor(slot / this.plan.slotsPerEpoch)
    const validator = this.at(index)
    const { slashingsVector } = this.constants
    this.beginExit(index, epoch)
    validator.slashed = true
    validator.withdrawable = Math.max(validator.withdrawable, epoch + slashingsVector)
    const at = epoch % slashingsVector
    this.data.slashed[at] = (this.data.slashed[at] as bigint) + validator.effective
    const quotient = this.isFrom('electra', epoch) ? 4096n : this.isFrom('bellatrix', epoch) ? 32n : 64n
    this.penalizeSlashed(index, validator.effective / quotient, slot)
    const reward = validator.effective / (this.isFrom('electra', epoch) ? 4096n : 512n)
    this.earn(proposer, reward, slot)
    this.truth.add(epoch, proposer, 'block_reward', reward)
    this.truth.add(epoch, proposer, 'slashes_collected', 1)
    this.truth.add(epoch, index, 'slashes_received', 1)
    return reward
  }

  /** Has no effect if the validator is already exiting. */
  beginExit(index: number, epoch: number): void {
    const validator = this.at(index)
    if (validator.exit !== far) return
    const exit = this.data.gloas ? reserveExit(this, validator.effective, epoch) : epoch + 2
    Object.assign(validator, { exit, withdrawable: exit + this.constants.withdrawalDelay })
  }

  /** After the validators or their effective balances have changed. */
  clearStakes(): void {
    this.#stakes.clear()
  }

  #stakeAt(epoch: number): EpochStake {
    const known = this.#stakes.get(epoch)
    if (known) return known
    const active = [...this.validators.keys()].filter((index) => {
      const { activation, exit } = this.at(index)
      return activation <= epoch && epoch < exit
    })
    const total = atLeastOneEth(active.reduce((sum, index) => sum + this.at(index).effective, 0n))
    const stake = { active, total, perIncrement: (eth * 64n) / integerRoot(total) }
    this.#stakes.set(epoch, stake)
    return stake
  }
}

export const atLeastOneEth = (sum: bigint): bigint => (sum < eth ? eth : sum)

/** Newton's method, as in the consensus specifications. */
export function integerRoot(value: bigint): bigint {
  let x = value
  let y = (x + 1n) / 2n
  while (y < x) {
    x = y
    y = (x + value / x) / 2n
  }
  return x
}
