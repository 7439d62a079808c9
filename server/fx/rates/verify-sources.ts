// Every source asked once more, and what it says held against what is stored, for the doctor (behaviour/operations.md#doctor). Sources keep no
// past: only a rate of the very same time can be the very same rate. One that is newer is held against the latest stored.
import { compare, compareFractions, decimal, fractionOf } from '#core/decimal.ts'
import type { FxContext } from '../context.ts'
import { isFresh, type Rate, type StoredRate } from '../pricing/mid.ts'
import { outlierPpm } from '../pricing/terms.ts'
import { allLatestRates, rateHistory } from './rate-store.ts'
import { openRateReader } from './sources.ts'

export interface SourceVerification {
  /** The very rate that is stored. */
  readonly same: number
  /** Newer than what is stored, and near it. */
  readonly near: number
  /** Another rate under the same time. */
  readonly differing: readonly string[]
  /** Newer, and further away than the sources may be apart. */
  readonly far: readonly string[]
  /** Sources that could not be asked, and why. */
  readonly silent: readonly string[]
}

const requestTimeoutMs = 20_000

export async function verifySources(
  context: Pick<FxContext, 'state' | 'settings' | 'clock'>,
): Promise<SourceVerification> {
  const { fx } = context.settings
  const sum = { same: 0, near: 0, differing: [] as string[], far: [] as string[], silent: [] as string[] }
  for (const source of fx.sources) {
    const reader = openRateReader(source, fx, context.clock)
    if (!reader) continue
    try {
      const { rates } = await reader(AbortSignal.timeout(requestTimeoutMs))
      const latest = (await allLatestRates(context.state)).filter((one) => one.source === source.id)
      for (const rate of rates) await compareRate(context, rate, latest, sum)
    } catch (error) {
      sum.silent.push(`${source.id}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return sum
}

type VerificationTally = { same: number; near: number; differing: string[]; far: string[] }

async function compareRate(
  { state, settings, clock }: Pick<FxContext, 'state' | 'settings' | 'clock'>,
  rate: Rate,
  latestOfSource: readonly StoredRate[],
  sum: VerificationTally,
): Promise<void> {
  const { source, base, quote, atMs } = rate
  const label = `${source} ${base}/${quote}`
  const span = { base, quote, source, fromMs: atMs, untilMs: atMs + 1, rowsMax: 1 }
  const [storedThen] = await rateHistory(state, span)
  if (storedThen) {
    if (compare(decimal(storedThen.rate), decimal(rate.rate)) === 0) sum.same += 1
    else sum.differing.push(`${label}: stored ${storedThen.rate}, it says ${rate.rate} for the same time`)
    return
  }
  const latest = latestOfSource.find((one) => one.base === base && one.quote === quote)
  // Stale or never stored: then there is nothing to hold it against, and freshness is another finding's.
  if (!latest || latest.atMs > atMs || !isFresh(latest, settings.fx.sources, clock.now())) return
  if (isWithinTolerance(latest.rate, rate.rate, outlierPpm(settings.fx))) sum.near += 1
  else sum.far.push(`${label}: stored ${latest.rate}, it now says ${rate.rate}`)
}

/** |a − b| ≤ a · ppm / 10^6, in whole numbers. */
export function isWithinTolerance(a: string, b: string, ppm: bigint): boolean {
  const [one, other] = [fractionOf(decimal(a)), fractionOf(decimal(b))]
  const million = 1_000_000n
  const low = { numerator: one.numerator * (million - ppm), denominator: one.denominator * million }
  const high = { numerator: one.numerator * (million + ppm), denominator: one.denominator * million }
  return compareFractions(other, low) >= 0 && compareFractions(other, high) <= 0
}
