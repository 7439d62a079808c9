// Formulas of the epoch transition that depend on no state of their own: the churn of deposits, the correlated penalty of
// slashed validators, and the hysteresis of effective balances.
import { type ConsensusRules, isFrom } from '#sources/beacon/consensus.ts'

/** Gwei of deposits that the end of an epoch may apply, besides what earlier epochs left. Since Electra. */
export function depositChurn(rules: ConsensusRules, epoch: number, activeIncrements: number): number {
  const { increment, depositChurn: churn } = rules
  const { quotient, max } = isFrom(rules, 'gloas', epoch) ? churn.gloas : churn
  const share = Number((BigInt(activeIncrements) * BigInt(increment)) / BigInt(quotient))
  const gwei = Math.max(churn.min, share)
  return Math.min(max, gwei - (gwei % increment))
}

/** The penalty of a validator by its increments. `slashings`: gwei that were slashed, by epoch. */
export function slashingPenalties(
  rules: ConsensusRules,
  epoch: number,
  slashings: Float64Array,
  activeIncrements: number,
): (increments: number) => number {
  const { increment, slashingMultiplier } = rules
  const multiplier = slashingMultiplier[isFrom(rules, 'bellatrix', epoch) ? 'bellatrix' : 'altair']
  const slashed = slashings.reduce((sum, gwei) => sum + BigInt(gwei), 0n) * BigInt(multiplier)
  const total = BigInt(activeIncrements) * BigInt(increment)
  const adjusted = slashed < total ? slashed : total
  if (isFrom(rules, 'electra', epoch))
    return (increments) => Number((adjusted / BigInt(activeIncrements)) * BigInt(increments))
  return (increments) => Number(((BigInt(increments) * adjusted) / total) * BigInt(increment))
}

/** Whether an effective balance stays as it is, although the balance differs from it. Gwei. */
export function hysteresisBand({
  increment,
  hysteresis,
}: ConsensusRules): (effective: number, balance: number) => boolean {
  const step = Math.floor(increment / hysteresis.quotient)
  const [down, up] = [step * hysteresis.down, step * hysteresis.up]
  return (effective, balance) => balance + down >= effective && effective + up >= balance
}
