// The fast fields of each kind of record: values that a source changes all the time, such as prices, volumes and
// `updatedAt`. They are stored apart from their records (block-values.ts).
import { recordFrom } from '#core/record-from.ts'
import { type KindName, kindNames, ownFields } from '../records/kinds.ts'

const amounts = [
  ...['volume', 'volumeNum', 'volumeClob', 'volumeAmm', 'volume24hr', 'volume24hrClob', 'volume24hrAmm'],
  ...['volume1wk', 'volume1wkClob', 'volume1wkAmm', 'volume1mo', 'volume1moClob', 'volume1moAmm'],
  ...['volume1yr', 'volume1yrClob', 'volume1yrAmm', 'liquidity', 'liquidityNum', 'liquidityClob', 'liquidityAmm'],
]
const prices = [
  ...['outcomePrices', 'lastTradePrice', 'bestBid', 'bestAsk', 'spread', 'competitive'],
  ...['oneHourPriceChange', 'oneDayPriceChange', 'oneWeekPriceChange', 'oneMonthPriceChange', 'oneYearPriceChange'],
]

const names: Partial<Readonly<Record<KindName, readonly string[]>>> = {
  market: ['updatedAt', ...prices, ...amounts],
  event: [
    ...['updatedAt', 'volume', 'volume24hr', 'volume1wk', 'volume1mo', 'volume1yr', 'liquidity', 'liquidityClob'],
    ...['liquidityAmm', 'openInterest', 'competitive', 'commentCount', 'socialPostCount'],
  ],
  series: ['updatedAt', 'volume', 'volume24hr', 'liquidity', 'score', 'commentCount', 'competitive'],
}

/** In the order of the contract. Empty for kinds without fast fields. */
export const fastFields: Readonly<Record<KindName, ReadonlySet<string>>> = recordFrom(
  kindNames,
  (kind) => new Set([...ownFields[kind]].filter((name) => names[kind]?.includes(name))),
)

export const hasFastFields = (kind: KindName): boolean => fastFields[kind].size > 0

type Fields = Readonly<Record<string, unknown>>

/** The fields without the fast ones, and the fast ones. */
export function splitFields(kind: KindName, fields: Fields): readonly [slow: Fields, fast: Fields] {
  const isFast = fastFields[kind]
  if (isFast.size === 0) return [fields, {}]
  const [slow, fast]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}]
  for (const name in fields) (isFast.has(name) ? fast : slow)[name] = fields[name]
  return [slow, fast]
}

/**
 * Packed rows have the number of a field: its place in this list. So a new name is appended, and no name is removed or
 * moved. A field that is left out here cannot be fast.
 */
const numberedNames = [
  ...['updatedAt', 'outcomePrices', 'lastTradePrice', 'bestBid', 'bestAsk', 'spread', 'competitive'],
  ...['oneHourPriceChange', 'oneDayPriceChange', 'oneWeekPriceChange', 'oneMonthPriceChange', 'oneYearPriceChange'],
  ...['volume', 'volumeNum', 'volumeClob', 'volumeAmm', 'volume24hr', 'volume24hrClob', 'volume24hrAmm'],
  ...['volume1wk', 'volume1wkClob', 'volume1wkAmm', 'volume1mo', 'volume1moClob', 'volume1moAmm'],
  ...['volume1yr', 'volume1yrClob', 'volume1yrAmm', 'liquidity', 'liquidityNum', 'liquidityClob', 'liquidityAmm'],
  ...['openInterest', 'commentCount', 'socialPostCount', 'score'],
]

const numbers: ReadonlyMap<string, number> = new Map(numberedNames.map((name, at) => [name, at]))

export function numberOfField(name: string): number {
  const number = numbers.get(name)
  if (number === undefined) throw new Error(`${name} is no fast field`)
  return number
}

export const nameOfField = (number: number): string => numberedNames[number] ?? ''
