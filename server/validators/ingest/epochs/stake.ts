// What a state's effective balances mean for rewards: the whole stake of an epoch and what one increment of it earns.
import { type ConsensusRules, isqrt, weights } from '#sources/beacon/consensus.ts'
import { isActiveAt, type Validators } from '#sources/beacon/validators.ts'

export interface Stake {
  readonly epoch: number
  readonly validators: Validators
  /** Active effective balance, in increments; at least 1. */
  readonly activeIncrements: number
  /** Gwei that one increment of effective balance is the base of, in this epoch. */
  readonly perIncrement: number
  /** Gwei for one signature in a sync aggregate, and what the proposer gets for including it. */
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

/** Exact: the quotient of two whole numbers below 2^53 never rounds up to the next whole number. */
export function floorDivide(above: number, below: number): number {
  return Number.isSafeInteger(above) ? Math.floor(above / below) : Number(BigInt(above) / BigInt(below))
}

export const baseReward = (stake: Stake, index: number): number =>
  (stake.validators.increments[index] as number) * stake.perIncrement
