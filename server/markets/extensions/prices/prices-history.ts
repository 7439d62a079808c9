// `GET /prices-history`, an endpoint beyond the specification: the past prices of an outcome, as clients of the original
// interface request them (behaviour/markets.md#price-history).
import { extensions } from '#api/contract/extensions.ts'
import { invalid } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { unreadOrNotFound } from '../../read/feed-coverage.ts'
import { readHistory } from '../../threads/thread-query.ts'
import { type PricesInput, pricesQuery } from './prices-query.ts'

export const pricesHistory = createHandler(
  extensions['markets.pricesHistory'],
  async (input, context: MarketsContext, { caller }) => {
    const nowMs = Math.floor(context.clock.now() / 1000) * 1000
    refuseTwoPeriods(input)
    const { feeds, prices } = await readHistory(context, caller, pricesQuery, { input, nowMs })
    if (!prices) return unreadOrNotFound(feeds, 'market')
    const { asOf } = feeds
    const confidence = { coverage: prices.coverage, ...(asOf !== undefined && { asOf }) }
    return { is: 'bytes', bytes: prices.body, confidence }
  },
)

function refuseTwoPeriods({ interval, startTs, endTs }: PricesInput): void {
  if (interval !== undefined && (startTs !== undefined || endTs !== undefined))
    throw invalid(['query', 'interval'], 'cannot be combined with startTs or endTs')
  if (startTs !== undefined && endTs !== undefined && startTs >= endTs)
    throw invalid(['query', 'endTs'], 'must be after startTs')
}
