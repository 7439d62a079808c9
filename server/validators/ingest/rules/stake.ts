// Computes the base of all rewards from effective balances: the total active stake of an epoch and the reward per
// increment.
import { type ConsensusRules, isqrt, weights } from '#sources/beacon/consensus.ts'
import { isActiveAt, type Validators } from '#sources/beacon/validators.ts'

export interface Stake {
  readonly epoch: number
  readonly validators: Validators
  /** Active effective balance, in increments; at least 1. */
  readonly activeIncrements: number
  /** Base reward per increment of effective balance, in gwei. */
  readonly perIncrement: number
  /** Gwei for one signature in a sync aggregate, and for the proposer that includes it. */
  readonly syncSeat: number
  readonly syncProposer: number
}

export function computeStake(rules: ConsensusRules, epoch: number, validators: Validators): Stake {
  let sum = 0
  for (let index = 0; index < validators.count; index++) {
    if (isActiveAt(validators, index, epoch)) sum += validators.increments[index] as number
  }
  const activeIncrements = Math.max(1, sum)
  const root = isqrt(BigInt(activeIncrements) * BigInt(rules.increment))
  const perIncrement = Number((BigInt(rules.increment) * BigInt(rules.baseRewardFactor)) / root)
  const allSeats = floorDivide(perIncrement * activeIncrements * weights.sync, weights.all * rules.slotsPerEpoch)
  const syncSeat = floorDivide(allSeats, rules.syncCommitteeSize)
  return {
    epoch,
    validators,
    activeIncrements,
    perIncrement,
    syncSeat,
    syncProposer: floorDivide(syncSeat * weights.proposer, weights.all - weights.proposer),
  }
}

/** Exact: the quotient of two integers below 2^53 never rounds up to the next integer. */
export function floorDivide(numerator: number, divisor: number): number {
  return Number.isSafeInteger(numerator) ? Math.floor(numerator / divisor) : Number(BigInt(numerator) / BigInt(divisor))
}

export const baseReward = (stake: Stake, index: number): number =>
  (stake.validators.increments[index] as number) * stake.perIncrement
