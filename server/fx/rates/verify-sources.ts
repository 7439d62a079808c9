// Reads every source once and compares its rates with the stored ones, for the doctor (behaviour/operations.md#doctor).
// Sources return only current rates. A rate with the same time must be equal; a newer one is compared with the latest
// stored rate within the outlier limit.
import { compare, compareFractions, decimal, fractionOf } from '#core/decimal.ts'
import { errorMessage } from '#core/error-message.ts'
import { timeoutSignal } from '#runtime/clock.ts'
import type { RatesContext } from '../context.ts'
import { isFresh, type Rate, type StoredRate } from '../pricing/mid.ts'
import { outlierPpm } from '../pricing/resolve-offer.ts'
import { allLatestRates, rateHistory } from './rate-store.ts'
import { openRateReader } from './sources.ts'

interface SourceVerification {
  /** Same time and same rate as stored. */
  same: number
  /** Newer than the stored rate, within the outlier limit. */
  close: number
  /** Same time, different rate. */
  readonly differing: string[]
  /** Newer than the stored rate, beyond the outlier limit. */
  readonly far: string[]
  /** Sources that could not be read, and why. */
  readonly silent: string[]
}

const requestTimeoutMs = 20_000

export async function verifySources(context: RatesContext): Promise<SourceVerification> {
  const { fx } = context.settings
  const sum: SourceVerification = { same: 0, close: 0, differing: [], far: [], silent: [] }
  for (const source of fx.sources) {
    const reader = openRateReader(source, fx, context.clock)
    if (!reader) continue
    try {
      const { rates } = await reader(timeoutSignal(context.clock, requestTimeoutMs))
      const latest = (await allLatestRates(context.state)).filter((rate) => rate.source === source.id)
      for (const rate of rates) await compareRate(context, rate, latest, sum)
    } catch (error) {
      sum.silent.push(`${source.id}: ${errorMessage(error)}`)
    }
  }
  return sum
}

async function compareRate(
  { state, settings, clock }: RatesContext,
  rate: Rate,
  latestOfSource: readonly StoredRate[],
  sum: SourceVerification,
): Promise<void> {
  const { source, base, quote, atMs } = rate
  const label = `${source} ${base}/${quote}`
  const query = { base, quote, source, fromMs: atMs, untilMs: atMs + 1, rowsMax: 1 }
  const [stored] = await rateHistory(state, query)
  if (stored) {
    if (compare(decimal(stored.rate), decimal(rate.rate)) === 0) sum.same += 1
    else sum.differing.push(`${label}: stored ${stored.rate}, the source returns ${rate.rate} for the same time`)
    return
  }
  const latest = latestOfSource.find((other) => other.base === base && other.quote === quote)
  // A stale rate cannot be compared with a newer one. Another finding reports stale rates.
  if (!latest || latest.atMs > atMs || !isFresh(latest, settings.fx.sources, clock.now())) return
  if (isWithinTolerance(latest.rate, rate.rate, outlierPpm(settings.fx))) sum.close += 1
  else sum.far.push(`${label}: stored ${latest.rate}, the source now returns ${rate.rate}`)
}

/** |a − b| ≤ a · ppm / 10^6, exactly. */
export function isWithinTolerance(a: string, b: string, ppm: bigint): boolean {
  const [one, other] = [fractionOf(decimal(a)), fractionOf(decimal(b))]
  const million = 1_000_000n
  const low = { numerator: one.numerator * (million - ppm), denominator: one.denominator * million }
  const high = { numerator: one.numerator * (million + ppm), denominator: one.denominator * million }
  return compareFractions(other, low) >= 0 && compareFractions(other, high) <= 0
}
