// A table of markets: status, prices, volume and end.
import type { ReactNode } from 'preact/compat'
import type { Market } from '#api/contract/wire/markets.ts'
import { formatPercent, formatTime } from '../../parts/format.ts'
import { formatShort } from '../../parts/plot-format.ts'
import { Table } from '../../parts/table.tsx'
import { hrefOf } from '../../route.ts'
import { currencyOf, groupThousands, outcomesOf } from './market-values.ts'

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
      className="stacked"
      rows={markets}
      columns={[
        ['Market', ({ slug = '', question }) => <a href={hrefOf('markets', [slug])}>{question || slug}</a>],
        ['Status', statusOf],
        ['Prices', formatPrices],
        ['Volume', formatVolume, 'num'],
        ['Ends', ({ endDate }) => endDate && formatTime(endDate).slice(0, 10), 'nowrap'],
      ]}
    />
  )
}

const formatPrices = (market: ListedMarket): string =>
  outcomesOf(market)
    .map(({ name, price }) => `${name} ${price === undefined ? '–' : formatPercent(Number(price), 1)}`)
    .join(', ')

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
