// Adds the prices before the changes that the page has loaded to its plot, which then begins with the first stored price.
import type { ReplyOf } from '#api/client/client.ts'
import type { Line } from '../../parts/plot.tsx'

export type PriceHistory = ReplyOf<'markets.pricesHistory'>['history']

interface PlotData {
  readonly xs: readonly number[]
  readonly lines: readonly Line[]
}

/** The plot with the prices before its start. A line has no value in a gap of its history. */
export function prependPrices(plot: PlotData, histories: readonly PriceHistory[]): PlotData {
  if (histories.length === 0 || histories.length !== plot.lines.length) return plot
  const startUnix = plot.xs[0] ?? Number.POSITIVE_INFINITY
  const prices = histories.map((history) => new Map(history.map(({ t, p }) => [t, p])))
  const times = withGaps([...new Set(prices.flatMap((priceAt) => [...priceAt.keys()]))].filter((t) => t < startUnix))
  return {
    xs: [...times, ...plot.xs],
    lines: plot.lines.map((line, at) => ({
      ...line,
      values: [...times.map((t) => prices[at]?.get(t) ?? null), ...line.values],
    })),
  }
}

/** The times in order, and one without a value where points are missing. */
function withGaps(times: readonly number[]): number[] {
  const sorted = times.toSorted((a, b) => a - b)
  const steps = sorted.slice(1).map((t, at) => t - (sorted[at] ?? 0))
  const step = steps.length < 3 ? Number.POSITIVE_INFINITY : (steps.toSorted((a, b) => a - b)[steps.length >> 1] ?? 0)
  return sorted.flatMap((t, at) => ((steps[at] ?? 0) > step ? [t, t + step] : [t]))
}
