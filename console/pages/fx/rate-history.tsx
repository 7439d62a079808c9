// The rates of a pair over the last hours, one line for each source.
import { useMemo, useState } from 'preact/compat'
import type { ReplyOf } from '#api/client/client.ts'
import { Card } from '../../parts/card.tsx'
import { Tabs } from '../../parts/controls.tsx'
import { Plot } from '../../parts/plot.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { useEndpoint } from '../../use-endpoint.ts'

const refreshMs = 15_000
const spans = [1, 24, 168] as const
const spanLabels: Readonly<Record<(typeof spans)[number], string>> = {
  1: 'Last hour',
  24: 'Last day',
  168: 'Last week',
}

export function RateHistory({ base, quote }: { readonly base: string; readonly quote: string }) {
  const [hours, setHours] = useState<(typeof spans)[number]>(1)
  const history = useEndpoint('fx.rateHistory', { base, quote, hours }, { refreshMs, keepPrevious: true })
  const tabs = <Tabs name="Time range" value={hours} options={spans} labels={spanLabels} onChoose={setHours} />
  return (
    <Card id="rate-history" title={`Rate history: ${quote} per ${base}`} aside={tabs}>
      <QueryResult of={history}>
        {({ reply }) => <RatePlot sources={reply.sources} base={base} quote={quote} />}
      </QueryResult>
    </Card>
  )
}

interface RatePlotProps {
  readonly sources: ReplyOf<'fx.rateHistory'>['sources']
  readonly base: string
  readonly quote: string
}

function RatePlot({ sources, base, quote }: RatePlotProps) {
  const { xs, lines } = useMemo(() => {
    const times = sources.flatMap(({ points }) => points.map(({ at }) => Date.parse(at) / 1000))
    const ascending = [...new Set(times)].sort((a, b) => a - b)
    return {
      xs: ascending,
      lines: sources.map(({ source, points }) => {
        const rates = new Map(points.map(({ at, rate }) => [Date.parse(at) / 1000, rate]))
        let last: number | null = null
        // A rate holds until the next one.
        const values = ascending.map((time) => {
          last = rates.get(time) ?? last
          return last
        })
        return { label: source, values, steps: true }
      }),
    }
  }, [sources])
  if (xs.length === 0)
    return (
      <p className="soft">
        No source has stated rates of {base} and {quote} in this time. The price of a quote may be computed through a
        third currency.
      </p>
    )
  return <Plot title={`${quote} per ${base}, by source`} xs={xs} lines={lines} height={180} />
}
