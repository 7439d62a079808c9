// The fast fields of each kind of record: values that a source changes all the time, such as prices, volumes and
// `updatedAt`. They can be stored apart from the record (README.md). Stored numbers are indexes into these lists, so a new
// name is appended, and no name is removed or moved.
import type { KindName } from '../records/kinds.ts'

const amounts = [
  ...['volume', 'volumeNum', 'volumeClob', 'volumeAmm', 'volume24hr', 'volume24hrClob', 'volume24hrAmm'],
  ...['volume1wk', 'volume1wkClob', 'volume1wkAmm', 'volume1mo', 'volume1moClob', 'volume1moAmm'],
  ...['volume1yr', 'volume1yrClob', 'volume1yrAmm', 'liquidity', 'liquidityNum', 'liquidityClob', 'liquidityAmm'],
]
const prices = [
  ...['outcomePrices', 'lastTradePrice', 'bestBid', 'bestAsk', 'spread', 'competitive'],
  ...['oneHourPriceChange', 'oneDayPriceChange', 'oneWeekPriceChange', 'oneMonthPriceChange', 'oneYearPriceChange'],
]

export const fastFields: Partial<Readonly<Record<KindName, readonly string[]>>> = {
  market: ['updatedAt', ...prices, ...amounts],
  event: [
    ...['updatedAt', 'volume', 'volume24hr', 'volume1wk', 'volume1mo', 'volume1yr', 'liquidity', 'liquidityClob'],
    ...['liquidityAmm', 'openInterest', 'competitive', 'commentCount', 'socialPostCount'],
  ],
  series: ['updatedAt', 'volume', 'volume24hr', 'liquidity', 'score', 'commentCount', 'competitive'],
}
