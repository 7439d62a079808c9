// Figures, dates and resolution of a market. Fields without a value are left out.
import type { ReactNode } from 'react'
import type { Market } from '#api/wire/markets.ts'
import { formatTime } from '../../parts/format.ts'
import { groupThousands } from './market-values.ts'

type Row = readonly [label: string, value: ReactNode]

export function Facts({ market }: { readonly market: Market }) {
  const rows = [...figuresOf(market), ...datesOf(market), ...resolutionOf(market)]
  return (
    <dl className="facts">
      {rows.map(([label, value]) => (
        <div key={label} className="fact">
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const amount = (value: string | number | bigint | undefined): string | undefined =>
  value === undefined ? undefined : groupThousands(String(value))

const withValue = (rows: readonly (readonly [string, ReactNode])[]): Row[] =>
  rows.filter(([, value]) => value !== undefined && value !== '')

function figuresOf(market: Market): Row[] {
  const { bestBid, bestAsk } = market
  const book = bestBid !== undefined && bestAsk !== undefined ? `${bestBid} bid, ${bestAsk} ask` : undefined
  return withValue([
    ['Last trade', amount(market.lastTradePrice)],
    ['Best bid and ask', book],
    ['Volume', amount(market.volume || market.volumeNum)],
    ['Volume, 24 hours', amount(market.volume24hr)],
    ['Volume, week', amount(market.volume1wk)],
    ['Volume, month', amount(market.volume1mo)],
    ['Liquidity', amount(market.liquidity || market.liquidityNum)],
  ])
}

function datesOf(market: Market): Row[] {
  return withValue([
    ['Starts', market.startDate && formatTime(market.startDate)],
    ['Ends', market.endDate && formatTime(market.endDate)],
    ['Closed', market.closedTime && formatTime(market.closedTime)],
    ['Updated at source', market.updatedAt && formatTime(market.updatedAt)],
  ])
}

function resolutionOf({ resolutionSource, oracleResolutionStatus }: Market): Row[] {
  return withValue([
    ['Resolution', oracleResolutionStatus],
    ['Resolution source', resolutionSource && <Source text={resolutionSource} />],
  ])
}

/** The field may contain any text; only http(s) URLs become links. */
function Source({ text }: { readonly text: string }) {
  if (!/^https?:\/\//.test(text)) return <>{text}</>
  return (
    <a href={text} target="_blank" rel="noreferrer">
      {text}
    </a>
  )
}
