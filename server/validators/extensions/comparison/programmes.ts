// Rules of staking programmes: a figure of a validator must be higher than the network's mean minus some points, over the
// last days (settings: validators.programmes; behaviour/validators.md#programmes).
import type { Network } from '#api/contract/wire/validators.ts'
import type { Programme } from '#runtime/settings/webhooks.ts'
import type { Settings } from '#runtime/settings.ts'
import { type Comparison, difference, type Fraction, totalOf } from './read-comparison.ts'

export interface ProgrammeMember {
  readonly index: number
  readonly pool: string | null
  /** The first node operator. */
  readonly operator: string | null
}

export interface ProgrammeResult {
  readonly programme: Programme
  /** Complete days of the period. */
  readonly days: number
  readonly value: Fraction
  /** The mean of the network minus the points of the rule. */
  readonly threshold: Fraction
  /** Undefined: the validator or the network has no value. */
  readonly isBelow: boolean | undefined
}

export const programmesOf = ({ validators }: Settings, network: Network): readonly Programme[] =>
  validators.programmes.filter((programme) => programme.network === network)

export const appliesTo = ({ pool, operator, validators }: Programme, member: ProgrammeMember): boolean =>
  (pool === undefined || pool === member.pool) &&
  (operator === undefined || operator === member.operator) &&
  (validators === undefined || validators.includes(member.index))

/** A value that equals the threshold is below it: programmes require more. */
export function evaluateProgramme(comparison: Comparison, programme: Programme, validator: number): ProgrammeResult {
  const { figure, basisPoints, days: count } = programme
  const from = (comparison.days?.until ?? 0) - count
  const isIn = (day: number) => day >= from
  const networkDays = [...comparison.network].filter(([day]) => isIn(day)).map(([, summary]) => summary)
  const own = (comparison.validators.get(validator) ?? []).filter(({ day }) => isIn(day))
  const [mean, value] = [totalOf(networkDays, figure), totalOf(own, figure)]
  const threshold = difference(mean, { above: BigInt(basisPoints), below: 100n })
  const margin = difference(value, threshold)
  return {
    ...{ programme, value, threshold, days: networkDays.length },
    isBelow: margin.below === 0n ? undefined : margin.above <= 0n,
  }
}
