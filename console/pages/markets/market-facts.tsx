// Figures, dates and resolution of a market. Fields without a value are left out.
import type { Market } from '#api/contract/wire/markets.ts'
import { Facts } from '../../parts/facts.tsx'
import { formatTime } from '../../parts/format.ts'
import { currencyOf, groupThousands } from './market-values.ts'

export function MarketFacts({ market }: { readonly market: Market }) {
  const { bestBid, bestAsk, resolutionSource } = market
  const currency = currencyOf(market)
  const money = (value: string | number | bigint | undefined) => withCurrency(value, currency)
  return (
    <Facts
      of={{
        'Last trade': amount(market.lastTradePrice),
        'Best bid and ask': bestBid !== undefined && bestAsk !== undefined && `${bestBid} bid, ${bestAsk} ask`,
        Volume: money(market.volume || market.volumeNum),
        'Volume, 24 hours': money(market.volume24hr),
        'Volume, week': money(market.volume1wk),
        'Volume, month': money(market.volume1mo),
        Liquidity: money(market.liquidity || market.liquidityNum),
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

function withCurrency(value: string | number | bigint | undefined, currency: string | undefined): string | undefined {
  const text = amount(value)
  return text === undefined || currency === undefined ? text : `${text} ${currency}`
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
