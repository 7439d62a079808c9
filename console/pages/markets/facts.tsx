// What is known about a market, in figures and dates. A field without a value has no row.
import type { ReactNode } from 'react'
import type { Market } from '#api/wire/markets.ts'
import { formatTime } from '../../parts/format.ts'
import { grouped } from './market-values.ts'

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
  value === undefined ? undefined : grouped(String(value))

const given = (rows: readonly (readonly [string, ReactNode])[]): Row[] =>
  rows.filter(([, value]) => value !== undefined && value !== '')

function figuresOf(market: Market): Row[] {
  const { bestBid, bestAsk } = market
  const book = bestBid !== undefined && bestAsk !== undefined ? `${bestBid} bid, ${bestAsk} asked` : undefined
  return given([
    ['Last trade', amount(market.lastTradePrice)],
    ['Best offers', book],
    ['Volume', amount(market.volume || market.volumeNum)],
    ['… in 24 hours', amount(market.volume24hr)],
    ['… in a week', amount(market.volume1wk)],
    ['… in a month', amount(market.volume1mo)],
    ['Liquidity', amount(market.liquidity || market.liquidityNum)],
  ])
}

function datesOf(market: Market): Row[] {
  return given([
    ['Starts', market.startDate && formatTime(market.startDate)],
    ['Ends', market.endDate && formatTime(market.endDate)],
    ['Closed', market.closedTime && formatTime(market.closedTime)],
    ['Changed at source', market.updatedAt && formatTime(market.updatedAt)],
  ])
}

function resolutionOf({ resolutionSource, oracleResolutionStatus }: Market): Row[] {
  return given([
    ['Resolution', oracleResolutionStatus],
    ['Resolved from', resolutionSource && <Source text={resolutionSource} />],
  ])
}

/** A source may write anything here; only web addresses become links. */
function Source({ text }: { readonly text: string }) {
  if (!/^https?:\/\//.test(text)) return <>{text}</>
  return (
    <a href={text} target="_blank" rel="noreferrer">
      {text}
    </a>
  )
}
