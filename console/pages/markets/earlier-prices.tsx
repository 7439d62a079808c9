// The prices of a market now, a day ago, a week ago and a month ago, as the server recorded them.
import { useQueries } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import { TetradError } from '#api/client/client.ts'
import type { Market } from '#api/contract/wire/markets.ts'
import { isNotFound } from '../../parts/failures.ts'
import { formatPercent } from '../../parts/format.ts'
import { Links } from '../../parts/links.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useConsoleContext } from '../../session.tsx'
import { hrefWith, type MarketAddress } from './market-href.ts'
import { outcomesOf } from './market-values.ts'

const dayMs = 86_400_000
const spans = [
  { label: '1 day ago', days: 1 },
  { label: '1 week ago', days: 7 },
  { label: '1 month ago', days: 30 },
] as const

interface EarlierPricesProps extends MarketAddress {
  /** The present record. */
  readonly market: Market
}

export function EarlierPrices({ slug, query, market }: EarlierPricesProps) {
  const earlier = useEarlierMarkets(slug)
  const outcomes = outcomesOf(market)
  if (outcomes.length === 0) return null
  const columns = earlier.map(({ label, found, isFailed }): Column<{ readonly name: string }> => {
    const prices = found && new Map(outcomesOf(found).map(({ name, price }) => [name, price]))
    const missing = isFailed ? 'failed' : found === undefined ? '…' : '–'
    return [label, ({ name }) => (prices ? formatPrice(prices.get(name)) : missing), 'num']
  })
  const recorded = earlier.filter(({ found }) => found)
  return (
    <>
      <Table
        name="Earlier prices"
        className="tight"
        hasRowHeaders
        rows={outcomes}
        columns={[['Outcome', ({ name }) => name], ['Now', ({ price }) => formatPrice(price), 'num'], ...columns]}
      />
      <p className="soft small">
        {recorded.length > 0 && (
          <>
            Show the market{' '}
            <Links of={recorded.map(({ label, asOf }) => ({ label, href: hrefWith(slug, query, { asOf }) }))} />.
          </>
        )}
        {earlier.some(({ found }) => found === null) &&
          ' A dash means that the server had not recorded the market then.'}
      </p>
    </>
  )
}

const formatPrice = (price: string | undefined): string => (price === undefined ? '–' : formatPercent(Number(price), 1))

const isBeforeHistory = (error: unknown): boolean => error instanceof TetradError && error.status === 410

/** The market at each of the times. Null: not recorded then; undefined: not loaded. */
function useEarlierMarkets(slug: string) {
  const { client } = useConsoleContext()
  const [nowMs] = useState(() => Date.now())
  const times = spans.map(({ label, days }) => ({ label, asOf: new Date(nowMs - days * dayMs).toISOString() }))
  const results = useQueries({
    queries: times.map(({ asOf }) => ({
      queryKey: ['earlier market', slug, asOf],
      // The past does not change.
      staleTime: Number.POSITIVE_INFINITY,
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.markets.bySlug({ slug, asOf }, { signal }).catch((error: unknown) => {
          if (isNotFound(error) || isBeforeHistory(error)) return null
          throw error
        }),
    })),
  })
  return times.map((time, at) => ({ ...time, found: results[at]?.data, isFailed: results[at]?.isError ?? false }))
}
