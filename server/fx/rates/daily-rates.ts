// The rate of a pair on past days: the mid of the last stored rate of each source on that UTC day, by the rules of quotes
// except freshness (behaviour/fx.md#daily-rates).
import { formatDecimal, toSignificant } from '#core/decimal.ts'
import type { RatesContext } from '../context.ts'
import { findMid, type Rate } from '../pricing/mid.ts'
import { outlierPpm } from '../pricing/resolve-offer.ts'
import { allLatestRates } from './rate-store.ts'

const dayMs = 86_400_000
/** Exact for the rates of most sources. Inverses and crossed rates are rounded down. */
const significantDigits = 18

/** Decimal texts by date; dates without a rate are left out. Undefined: the sources do not connect the pair. */
export async function readDailyRates(
  { state, settings: { fx } }: Pick<RatesContext, 'state' | 'settings'>,
  { base, quote }: Pick<Rate, 'base' | 'quote'>,
  dates: readonly string[],
): Promise<ReadonlyMap<string, string> | undefined> {
  const rules = { crossVia: fx.crossVia, outlierPpm: outlierPpm(fx) }
  const currencies = new Set([base, quote, ...fx.crossVia])
  const sources = new Set(fx.sources.map(({ id }) => id))
  const stated = (await allLatestRates(state)).filter(
    (rate) => sources.has(rate.source) && currencies.has(rate.base) && currencies.has(rate.quote),
  )
  if (findMid(stated, base, quote, rules).is === 'none') return undefined
  const rates = new Map<string, string>()
  for (const date of dates) {
    const fromMs = Date.parse(`${date}T00:00:00Z`)
    const last = await Promise.all(
      stated.map((pair) =>
        // Past rates have no sides.
        state.get<Rate>(
          `select source, base, quote, rate, at_ms as "atMs" from fx_rates
           where source = ? and base = ? and quote = ? and at_ms >= ? and at_ms < ? order by at_ms desc limit 1`,
          ...[pair.source, pair.base, pair.quote, fromMs, fromMs + dayMs],
        ),
      ),
    )
    const found = findMid(
      last.flatMap((rate) => (rate ? [{ ...rate }] : [])),
      base,
      quote,
      rules,
    )
    if (found.is === 'mid') rates.set(date, formatDecimal(toSignificant(found.mid.value, significantDigits)))
  }
  return rates
}
