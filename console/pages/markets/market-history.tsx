// The past of a market as a plot, and the way to any moment of it: a point that is clicked, or a time that is written.
import { type FormEvent, useMemo, useState } from 'react'
import type { MarketChange } from '#api/wire/market-changes.ts'
import type { Market } from '#api/wire/markets.ts'
import { formatPercent, formatTime } from '../../parts/format.ts'
import { type Line, Plot } from '../../parts/plot.tsx'
import { momentsOf, type PlotName, plotNames, toPlotData } from './history.ts'
import { hrefWith } from './market-href.ts'

const plotLabels: Readonly<Record<PlotName, string>> = {
  prices: 'Prices',
  book: 'Bid and ask',
  volume: 'Volume',
  liquidity: 'Liquidity',
}

interface PastProps {
  readonly slug: string
  /** As it is now, not as it was. */
  readonly market: Market
  readonly changes: readonly MarketChange[]
  readonly query: URLSearchParams
}

export function MarketHistory({ slug, market, changes, query }: PastProps) {
  const name = plotNames.find((one) => one === query.get('plot')) ?? 'prices'
  const plot = useMemo(
    () => toPlotData(name, market, momentsOf(market, changes, Date.now() / 1000)),
    [name, market, changes],
  )
  const at = (index: number): string => new Date((plot.xs[index] ?? 0) * 1000).toISOString()
  return (
    <section className="card" aria-labelledby="past-title">
      <div className="spread">
        <h2 id="past-title">Its past</h2>
        <div className="tabs">
          {plotNames.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === name}
              onClick={() => window.location.assign(hrefWith(slug, query, { plot: one }))}
            >
              {plotLabels[one]}
            </button>
          ))}
        </div>
      </div>
      {plot.xs.length === 0 ? (
        <p className="note">No change has been seen yet; the line begins with the first one.</p>
      ) : (
        <Plot
          title={`${plotLabels[name]} over time`}
          xs={plot.xs}
          lines={plot.lines as readonly Line[]}
          {...((name === 'prices' || name === 'book') && { format: (value: number) => formatPercent(value, 1) })}
          onPick={(index) => window.location.assign(hrefWith(slug, query, { asOf: at(index) }))}
        />
      )}
      <AsOf slug={slug} query={query} />
    </section>
  )
}

interface AsOfProps {
  readonly slug: string
  readonly query: URLSearchParams
}

function AsOf({ slug, query }: AsOfProps) {
  const asOf = query.get('asOf')
  const [text, setText] = useState((asOf ?? new Date().toISOString()).slice(0, 19))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const when = new Date(`${text}Z`)
    if (!Number.isNaN(when.getTime())) window.location.assign(hrefWith(slug, query, { asOf: when.toISOString() }))
  }
  return (
    <form className="row spaced" onSubmit={submit}>
      <label className="field">
        As it was at (UTC)
        <input type="datetime-local" step="1" required value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <button type="submit">Go there</button>
      <span className="soft small">or choose a point in the plot</span>
    </form>
  )
}

export function PastNote({ slug, query }: AsOfProps) {
  return (
    <p className="note warn" role="status">
      The market as it was known here at {formatTime(query.get('asOf') ?? '')}.{' '}
      <a href={hrefWith(slug, query, { asOf: undefined })}>Back to now</a>
    </p>
  )
}
