// Limits the sum of a key's tradable quotes within an hour. The sum is read at most once a second for each rule and key, and
// this server adds its own quotes at once. So quotes of other servers in the last second are missing in it.
import { type Decimal, formatDecimal, unitsOf } from '#core/decimal.ts'
import { Fault } from '#core/fault.ts'
import type { FxContext } from '../context.ts'

const hourMs = 3_600_000
const readEveryMs = 1000
const sumsMax = 10_000
/** Sizes are stored in millionths, rounded up. */
export const sizePlaces = 6

export interface HourSum {
  readonly readMs: number
  /** In millionths. */
  units: bigint
}

export interface HourLimit {
  readonly rule: string
  /** The unit of both amounts. */
  readonly currency: string
  readonly max: Decimal
  /** In millionths. */
  readonly size: bigint
}

/** Counts a quote, or throws a fault if the sum would be above the limit. */
export async function countTowardsHour(
  context: Pick<FxContext, 'fx' | 'state' | 'clock'>,
  { rule, currency, max, size }: HourLimit,
  keyId: string,
): Promise<void> {
  const sum = await readSum(context, rule, keyId)
  if (sum.units + size > unitsOf(max, sizePlaces, 'down')) {
    throw new Fault('fx.amount_range', {
      message: `Your tradable quotes of the last hour would sum up to more than ${formatDecimal(max)} ${currency}.`,
    })
  }
  sum.units += size
}

async function readSum(
  { fx: { hourSums }, state, clock }: Pick<FxContext, 'fx' | 'state' | 'clock'>,
  rule: string,
  keyId: string,
): Promise<HourSum> {
  const name = JSON.stringify([rule, keyId])
  const readMs = clock.monotonicMs()
  const known = hourSums.get(name)
  if (known && readMs - known.readMs < readEveryMs) return known
  const row = await state.get<{ whole: number | null; parts: number | null }>(
    // In two parts, so that no sum exceeds an integer that is exact.
    `select cast(sum(hour_size / 1000000) as bigint) as whole, cast(sum(hour_size % 1000000) as bigint) as parts
     from fx_quotes where hour_rule = ? and key_id = ? and created_ms > ?`,
    ...[rule, keyId, clock.now() - hourMs],
  )
  const sum = { readMs, units: BigInt(row?.whole ?? 0) * 1_000_000n + BigInt(row?.parts ?? 0) }
  if (hourSums.size >= sumsMax) hourSums.clear()
  // Another request may have read it meanwhile, and have counted a quote.
  const newer = hourSums.get(name)
  if (newer && newer !== known) return newer
  hourSums.set(name, sum)
  return sum
}
