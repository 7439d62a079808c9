// Extension: the current rates of one currency, computed as for a reference quote (behaviour/fx.md#current-rates).
import { extensions } from '#api/contract/extensions.ts'
import type { CurrentRate } from '#api/contract/wire/fx-lists.ts'
import { formatDecimal, toSignificant } from '#core/decimal.ts'
import { Fault } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import { findMid, isFresh, type MidResult } from '../../pricing/mid.ts'
import { rateDigitsMax } from '../../pricing/price.ts'
import { outlierPpm } from '../../pricing/resolve-offer.ts'
import { allLatestRates } from '../../rates/rate-store.ts'

export const rates = createHandler(extensions['fx.rates'], async (input, { state, settings: { fx }, clock }) => {
  const currencies = [...new Set(fx.tokens.map(({ tracks }) => tracks))]
  const { base = currencies[0] ?? '' } = input
  if (!currencies.includes(base)) throw new Fault('fx.pair_unknown', { message: `No offered currency tracks ${base}.` })
  const nowMs = clock.now()
  const fresh = (await allLatestRates(state)).filter((rate) => isFresh(rate, fx.sources, nowMs))
  const rules = { crossVia: fx.crossVia, outlierPpm: outlierPpm(fx) }
  const others = currencies.filter((currency) => currency !== base)
  return {
    is: 'body',
    body: { base, rates: others.map((quote) => ({ quote, ...toCurrentRate(findMid(fresh, base, quote, rules)) })) },
  }
})

function toCurrentRate(result: MidResult): Omit<CurrentRate, 'quote'> {
  if (result.is !== 'mid') {
    return { status: result.is === 'none' ? 'stale' : 'disputed', rate: null, at: null, via: null, sources: [] }
  }
  const { value, rates, via = null } = result.mid
  return {
    status: 'fresh',
    rate: formatDecimal(toSignificant(value, rateDigitsMax)),
    at: new Date(Math.min(...rates.map(({ atMs }) => atMs))).toISOString(),
    via,
    sources: [...new Set(rates.map(({ source }) => source))].sort(),
  }
}
