// The history of a market as a plot, with controls to show the market at an earlier time.
import { useMemo, useState } from 'preact/compat'
import type { MarketChange } from '#api/contract/wire/market-changes.ts'
import type { Market } from '#api/contract/wire/markets.ts'
import { Card } from '../../parts/card.tsx'
import { Form, Tabs, TextField } from '../../parts/controls.tsx'
import { formatPercent, formatTime } from '../../parts/format.ts'
import { Plot } from '../../parts/plot.tsx'
import { formatShort } from '../../parts/plot-format.ts'
import { navigate } from '../../route.ts'
import { eventsOf, momentsOf, type PlotName, plotNames, toPlotData } from './history.ts'
import { hrefWith, type MarketAddress } from './market-href.ts'
import { prependPrices } from './older-prices.ts'
import { useOlderPrices } from './use-older-prices.ts'

const plotLabels: Readonly<Record<PlotName, string>> = {
  prices: 'Prices',
  book: 'Bid and ask',
  volume: 'Volume',
  liquidity: 'Liquidity',
}

interface MarketHistoryProps extends MarketAddress {
  /** The present record, also when the page shows an earlier time. */
  readonly market: Market
  readonly changes: readonly MarketChange[]
  /** Loads older changes; undefined if there are none. */
  readonly onOlder: (() => void) | undefined
  readonly isLoading: boolean
}

export function MarketHistory({ slug, market, changes, query, onOlder, isLoading }: MarketHistoryProps) {
  const name = plotNames.find((plotName) => plotName === query.get('plot')) ?? 'prices'
  const olderPrices = useOlderPrices(market, name === 'prices' && onOlder !== undefined)
  const plot = useMemo(
    () => prependPrices(toPlotData(name, market, momentsOf(market, changes, Date.now() / 1000)), olderPrices),
    [name, market, changes, olderPrices],
  )
  const events = useMemo(() => eventsOf(market, changes), [market, changes])
  const timeAt = (index: number): string => new Date((plot.xs[index] ?? 0) * 1000).toISOString()
  return (
    <Card
      id="history-title"
      title="History"
      aside={
        <Tabs
          name="Plotted values"
          value={name}
          options={plotNames}
          labels={plotLabels}
          onChoose={(plotName) => navigate(hrefWith(slug, query, { plot: plotName }))}
        />
      }
    >
      {plot.xs.length === 0 ? (
        <p className="note">No changes yet. The plot starts with the first change.</p>
      ) : (
        <Plot
          title={`${plotLabels[name]} over time`}
          xs={plot.xs}
          lines={plot.lines}
          marks={events}
          format={name === 'prices' || name === 'book' ? formatShare : formatShort}
          onPick={(index) => navigate(hrefWith(slug, query, { asOf: timeAt(index) }))}
        />
      )}
      {onOlder && (
        <p className="small soft">
          Starts at {formatTime(plot.xs[0] ?? 0).slice(0, 16)} UTC.{' '}
          <button type="button" className="plain" disabled={isLoading} onClick={onOlder}>
            {isLoading ? 'Loading…' : 'Show an earlier start'}
          </button>
        </p>
      )}
      {events.length > 0 && (
        <p className="small soft">
          Events: {events.map(({ x, label }) => `${formatTime(x).slice(0, 16)} ${label}`).join('; ')}.
        </p>
      )}
      <AsOf slug={slug} query={query} />
    </Card>
  )
}

function AsOf({ slug, query }: MarketAddress) {
  const asOf = query.get('asOf')
  const [text, setText] = useState((asOf ?? new Date().toISOString()).slice(0, 19))
  const submit = () => {
    const when = new Date(`${text}Z`)
    if (!Number.isNaN(when.getTime())) navigate(hrefWith(slug, query, { asOf: when.toISOString() }))
  }
  return (
    <Form className="row spaced" onSubmit={submit}>
      <TextField
        label="Show the market at (UTC)"
        type="datetime-local"
        step="1"
        required
        value={text}
        onText={setText}
      />
      <button type="submit">Show</button>
      <span className="soft small">or click a point in the plot</span>
    </Form>
  )
}

export function AsOfNotice({ slug, query }: MarketAddress) {
  return (
    <p className="note warn" role="status">
      You see the market as of {formatTime(query.get('asOf') ?? '')}.{' '}
      <a href={hrefWith(slug, query, { asOf: undefined })}>Show the present</a>
    </p>
  )
}

/** A price is a share; a percentage needs two decimals less. */
const formatShare = (share: number, places: number): string => formatPercent(share, Math.max(0, places - 2))
