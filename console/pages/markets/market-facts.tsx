// Figures, dates and resolution of a market. Fields without a value are left out.
import type { Market } from '#api/contract/wire/markets.ts'
import { Facts } from '../../parts/facts.tsx'
import { alignDecimals, formatTime, groupThousands } from '../../parts/format.ts'
import { currencyOf } from './market-values.ts'

export function MarketFacts({ market }: { readonly market: Market }) {
  const { resolutionSource } = market
  const currency = currencyOf(market)
  const [lastTrade, bestBid, bestAsk] = formatAmounts([market.lastTradePrice, market.bestBid, market.bestAsk])
  const [volume, volumeOfDay, volumeOfWeek, volumeOfMonth, liquidity] = formatAmounts([
    market.volume || market.volumeNum,
    ...[market.volume24hr, market.volume1wk, market.volume1mo],
    market.liquidity || market.liquidityNum,
  ]).map((amount) => amount && [amount, currency].filter((text) => text !== undefined).join(' '))
  return (
    <Facts
      of={{
        'Last trade': lastTrade,
        'Best bid and ask': bestBid !== undefined && bestAsk !== undefined && `${bestBid} bid, ${bestAsk} ask`,
        Volume: volume,
        'Volume, 24 hours': volumeOfDay,
        'Volume, week': volumeOfWeek,
        'Volume, month': volumeOfMonth,
        Liquidity: liquidity,
        Starts: market.startDate && formatTime(market.startDate),
        Ends: market.endDate && formatTime(market.endDate),
        Closed: market.closedTime && formatTime(market.closedTime),
        'Updated at source': market.updatedAt && formatTime(market.updatedAt),
        Resolution: market.oracleResolutionStatus,
        'Resolution source': resolutionSource && <Source text={resolutionSource} />,
      }}
    />
  )
}

type Amount = string | number | bigint | undefined

/** With the same number of decimals, because they are below each other. */
function formatAmounts(amounts: readonly Amount[]): readonly (string | undefined)[] {
  const aligned = alignDecimals(amounts.map((amount) => String(amount ?? '')))
  return aligned.map((text, at) => (amounts[at] === undefined ? undefined : groupThousands(text)))
}

/** The field may contain any text; only http(s) URLs become links. */
export function Source({ text }: { readonly text: string }) {
  if (!/^https?:\/\//.test(text)) return <>{text}</>
  return (
    <a href={text} target="_blank" rel="noreferrer">
      {text}
    </a>
  )
}
