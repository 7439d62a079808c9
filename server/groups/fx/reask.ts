// Every source asked once more, and what it says held against what is stored, for the doctor (decision 0130). Sources keep no
// past: only a rate of the very same time can be the very same rate. One that is newer is held against the latest stored.
import { compare, compareFractions, decimal, fractionOf } from '#core/decimal.ts'
import type { FxContext } from './context.ts'
import { isFresh, type Rate, type StoredRate } from './mid.ts'
import { allLatestRates, rateHistory } from './rate-store.ts'
import { openReader } from './sources.ts'
import { outlierPpm } from './terms.ts'

export interface Reasked {
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

const askMs = 20_000

export async function reaskSources(context: Pick<FxContext, 'state' | 'settings' | 'clock'>): Promise<Reasked> {
  const { fx } = context.settings
  const sum = { same: 0, near: 0, differing: [] as string[], far: [] as string[], silent: [] as string[] }
  for (const source of fx.sources) {
    const reader = openReader(source, fx, context.clock)
    if (!reader) continue
    try {
      const { rates } = await reader(AbortSignal.timeout(askMs))
      const latest = (await allLatestRates(context.state)).filter((one) => one.source === source.id)
      for (const rate of rates) await judge(context, rate, latest, sum)
    } catch (error) {
      sum.silent.push(`${source.id}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return sum
}

type Sum = { same: number; near: number; differing: string[]; far: string[] }

async function judge(
  { state, settings, clock }: Pick<FxContext, 'state' | 'settings' | 'clock'>,
  rate: Rate,
  latestOfSource: readonly StoredRate[],
  sum: Sum,
): Promise<void> {
  const { source, base, quote, atMs } = rate
  const words = `${source} ${base}/${quote}`
  const span = { base, quote, source, fromMs: atMs, untilMs: atMs + 1, rowsMax: 1 }
  const [then] = await rateHistory(state, span)
  if (then) {
    if (compare(decimal(then.rate), decimal(rate.rate)) === 0) sum.same += 1
    else sum.differing.push(`${words}: stored ${then.rate}, it says ${rate.rate} for the same time`)
    return
  }
  const latest = latestOfSource.find((one) => one.base === base && one.quote === quote)
  // Stale or never stored: then there is nothing to hold it against, and freshness is another finding's.
  if (!latest || latest.atMs > atMs || !isFresh(latest, settings.fx.sources, clock.now())) return
  if (isNear(latest.rate, rate.rate, outlierPpm(settings.fx))) sum.near += 1
  else sum.far.push(`${words}: stored ${latest.rate}, it now says ${rate.rate}`)
}

/** |a − b| ≤ a · ppm / 10^6, in whole numbers. */
export function isNear(a: string, b: string, ppm: bigint): boolean {
  const [one, other] = [fractionOf(decimal(a)), fractionOf(decimal(b))]
  const million = 1_000_000n
  const low = { over: one.over * (million - ppm), under: one.under * million }
  const high = { over: one.over * (million + ppm), under: one.under * million }
  return compareFractions(other, low) >= 0 && compareFractions(other, high) <= 0
}
