// A table of markets: status, prices, volume and end.
import type { ReactNode } from 'preact/compat'
import type { Market } from '#api/contract/wire/markets.ts'
import { formatPercent, formatTime, groupThousands } from '../../parts/format.ts'
import { formatShort } from '../../parts/plot-format.ts'
import { Table } from '../../parts/table.tsx'
import { hrefOf } from '../../route.ts'
import { currencyOf, outcomesOf } from './market-values.ts'

type Field = 'slug' | 'question' | 'outcomes' | 'outcomePrices' | 'volumeNum' | 'denominationToken' | 'endDate'
export type ListedMarket = Pick<Market, Field>

interface MarketTableProps<M> {
  readonly name: string
  readonly markets: readonly M[]
  readonly statusOf: (market: M) => ReactNode
}

export function MarketTable<M extends ListedMarket>({ name, markets, statusOf }: MarketTableProps<M>) {
  return (
    <Table
      name={name}
      className="stacked compact many"
      rows={markets}
      columns={[
        ['Market', ({ slug = '', question }) => <a href={hrefOf('markets', [slug])}>{question || slug}</a>],
        ['Prices', (market) => <Prices market={market} />],
        ['Volume', formatVolume, 'num'],
        ['Ends', ({ endDate }) => endDate && formatTime(endDate).slice(0, 10), 'nowrap'],
        ['Status', statusOf],
      ]}
    />
  )
}

/** Outcomes beyond these are on the page of the market. */
const outcomesMax = 3

function Prices({ market }: { readonly market: ListedMarket }) {
  const outcomes = outcomesOf(market)
  return (
    <span className="prices">
      {outcomes.slice(0, outcomesMax).map(({ name, price }) => (
        <span key={name}>
          {name} <b>{price === undefined ? '–' : formatPercent(Number(price), 1)}</b>
        </span>
      ))}
      {outcomes.length > outcomesMax && <span className="soft">and {outcomes.length - outcomesMax} more</span>}
    </span>
  )
}

/** Short, with the exact figure in its title. */
function formatVolume(market: ListedMarket): ReactNode {
  const { volumeNum } = market
  if (volumeNum === undefined) return '–'
  const currency = currencyOf(market) ?? ''
  return (
    <span title={`${groupThousands(String(volumeNum))} ${currency}`}>
      {formatShort(Number(volumeNum))} {currency}
    </span>
  )
}
