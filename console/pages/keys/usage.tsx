// What one key was used for, day by day.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { KeyUsage } from '#api/console.ts'
import { operator } from '../../operator.ts'
import { Columns } from '../../parts/columns.tsx'
import { formatCount } from '../../parts/format.ts'
import { type Line, Plot } from '../../parts/plot.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { hrefOf } from '../../route.ts'

const spans = [7, 30, 90] as const
const daySeconds = 86_400
/** Calls are stored a moment after they were made, and whoever looks at them is often making them. */
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
      <p className="small">
        <a href={hrefOf('keys')}>All keys</a>
      </p>
      <div className="spread">
        <h2 id="usage">
          Calls with <code>{id}</code>
        </h2>
        <div className="tabs">
          {spans.map((one) => (
            <button key={one} type="button" aria-pressed={days === one} onClick={() => setDays(one)}>
              {one} days
            </button>
          ))}
        </div>
      </div>
      <QueryResult
        of={usage}
        notFound={
          <>
            There is no key <code>{id}</code>. Choose one from <a href={hrefOf('keys')}>all keys</a>; those of sessions
            that have ended are gone.
          </>
        }
      >
        {(found) => <Figures usage={found} />}
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
        title="Calls a day"
        fromZero
        xs={xs}
        lines={lines}
        formatX={(unix) => new Date(unix * 1000).toISOString().slice(0, 10)}
      />
      {endpoints.length === 0 && <p className="soft">No calls in this time.</p>}
      {endpoints.length > 0 && (
        <table>
          <Columns of={['Endpoint', 'Admitted', 'Refused']} figures={['Admitted', 'Refused']} />
          <tbody>
            {endpoints.map(([endpoint, { admitted, refused }]) => (
              <tr key={endpoint}>
                <td className="mono">{endpoint}</td>
                <td className="num">{formatCount(admitted)}</td>
                <td className="num">{formatCount(refused)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}

const sum = (figures: Readonly<Record<string, number>>): number =>
  Object.values(figures).reduce((all, one) => all + one, 0)

function plotOf({ from, to, days }: KeyUsage): { xs: number[]; lines: Line[] } {
  const byDay = new Map(days.map((one) => [one.day, one]))
  const first = Date.parse(from) / 1000
  const xs = Array.from(
    { length: (Date.parse(to) / 1000 - first) / daySeconds + 1 },
    (_, index) => first + index * daySeconds,
  )
  const dayOf = (unix: number) => byDay.get(new Date(unix * 1000).toISOString().slice(0, 10))
  return {
    xs,
    lines: [
      { label: 'admitted', values: xs.map((unix) => dayOf(unix)?.admitted ?? 0) },
      { label: 'refused', values: xs.map((unix) => sum(dayOf(unix)?.refused ?? {})) },
    ],
  }
}

function totals({ days }: KeyUsage): [string, { admitted: number; refused: number }][] {
  const all = new Map<string, { admitted: number; refused: number }>()
  for (const { endpoints } of days) {
    for (const [endpoint, tally] of Object.entries(endpoints)) {
      const so = all.get(endpoint) ?? { admitted: 0, refused: 0 }
      all.set(endpoint, { admitted: so.admitted + tally.admitted, refused: so.refused + sum(tally.refused) })
    }
  }
  return [...all].sort(([, a], [, b]) => b.admitted - a.admitted)
}
