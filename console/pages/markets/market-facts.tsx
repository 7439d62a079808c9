// Figures, dates and resolution of a market. Fields without a value are left out.
import type { Market } from '#api/wire/markets.ts'
import { Facts } from '../../parts/facts.tsx'
import { formatTime } from '../../parts/format.ts'
import { groupThousands } from './market-values.ts'

export function MarketFacts({ market }: { readonly market: Market }) {
  const { bestBid, bestAsk, resolutionSource } = market
  return (
    <Facts
      of={{
        'Last trade': amount(market.lastTradePrice),
        'Best bid and ask': bestBid !== undefined && bestAsk !== undefined && `${bestBid} bid, ${bestAsk} ask`,
        Volume: amount(market.volume || market.volumeNum),
        'Volume, 24 hours': amount(market.volume24hr),
        'Volume, week': amount(market.volume1wk),
        'Volume, month': amount(market.volume1mo),
        Liquidity: amount(market.liquidity || market.liquidityNum),
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

const amount = (value: string | number | bigint | undefined): string | undefined =>
  value === undefined ? undefined : groupThousands(String(value))

/** The field may contain any text; only http(s) URLs become links. */
function Source({ text }: { readonly text: string }) {
  if (!/^https?:\/\//.test(text)) return <>{text}</>
  return (
    <a href={text} target="_blank" rel="noreferrer">
      {text}
    </a>
  )
}
