// The usage of one key by day and by endpoint.
import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import type { KeyUsage } from '#shared/console-calls.ts'
import { operator } from '../../operator.ts'
import { Tabs } from '../../parts/controls.tsx'
import { formatCount } from '../../parts/format.ts'
import { type Line, Plot } from '../../parts/plot.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { hrefOf } from '../../route.ts'

const spans = [7, 30, 90] as const
const daySeconds = 86_400
/** Usage is stored with a short delay, and people often watch it while they send requests. */
const refreshMs = 5000

export function Usage({ id }: { readonly id: string }) {
  const [days, setDays] = useState<number>(30)
  const usage = useQuery({
    queryKey: ['usage', id, days],
    queryFn: () => operator.usage(id, days),
    refetchInterval: refreshMs,
  })
  return (
    <section className="card" aria-labelledby="usage">
      <div className="spread">
        <h2 id="usage">Requests per day</h2>
        <Tabs name="Range" value={days} options={spans} labels={(span) => `${span} days`} onChoose={setDays} />
      </div>
      <QueryResult
        of={usage}
        notFound={
          <>
            Key <code>{id}</code> does not exist. Choose one from <a href={hrefOf('keys')}>all keys</a>. Keys of ended
            sessions are deleted.
          </>
        }
      >
        {(data) => <Figures usage={data} />}
      </QueryResult>
    </section>
  )
}

function Figures({ usage }: { readonly usage: KeyUsage }) {
  const { xs, lines } = plotOf(usage)
  const endpoints = totals(usage)
  return (
    <>
      <Plot
        title="Requests per day"
        fromZero
        xs={xs}
        lines={lines}
        formatX={(unix) => new Date(unix * 1000).toISOString().slice(0, 10)}
      />
      {endpoints.length === 0 && <p className="soft">No requests in these days.</p>}
      {endpoints.length > 0 && (
        <Table
          name="Requests by endpoint"
          rows={endpoints}
          columns={[
            ['Endpoint', ([endpoint]) => endpoint, 'mono'],
            ['Accepted', ([, { accepted }]) => formatCount(accepted), 'num'],
            ['Rejected', ([, { refused }]) => formatCount(refused), 'num'],
          ]}
        />
      )}
    </>
  )
}

const sum = (figures: Readonly<Record<string, number>>): number =>
  Object.values(figures).reduce((total, count) => total + count, 0)

function plotOf({ from, to, days }: KeyUsage): { xs: number[]; lines: Line[] } {
  const byDay = new Map(days.map((entry) => [entry.day, entry]))
  const first = Date.parse(from) / 1000
  const xs = Array.from(
    { length: (Date.parse(to) / 1000 - first) / daySeconds + 1 },
    (_, index) => first + index * daySeconds,
  )
  const dayOf = (unix: number) => byDay.get(new Date(unix * 1000).toISOString().slice(0, 10))
  return {
    xs,
    lines: [
      { label: 'accepted', values: xs.map((unix) => dayOf(unix)?.accepted ?? 0) },
      { label: 'rejected', values: xs.map((unix) => sum(dayOf(unix)?.refused ?? {})) },
    ],
  }
}

function totals({ days }: KeyUsage): [string, { accepted: number; refused: number }][] {
  const byEndpoint = new Map<string, { accepted: number; refused: number }>()
  for (const { endpoints } of days) {
    for (const [endpoint, tally] of Object.entries(endpoints)) {
      const total = byEndpoint.get(endpoint) ?? { accepted: 0, refused: 0 }
      byEndpoint.set(endpoint, {
        accepted: total.accepted + tally.accepted,
        refused: total.refused + sum(tally.refused),
      })
    }
  }
  return [...byEndpoint].sort(([, a], [, b]) => b.accepted - a.accepted)
}
