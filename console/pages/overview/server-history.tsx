// The operator's plots of the last hour and the last day, recorded by the server.
import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import { type Group, groups } from '#api/contract/routes.ts'
import type { HistoryRange, ServerHistory, TrafficHistory } from '#shared/console-calls.ts'
import { operator } from '../../operator.ts'
import { Card } from '../../parts/card.tsx'
import { Choice, Tabs } from '../../parts/controls.tsx'
import { type Line, Plot } from '../../parts/plot.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { groupTitles } from '../../titles.ts'

const refreshMs = 30_000
const ranges = ['hour', 'day'] as const
const rangeLabels: Readonly<Record<keyof ServerHistory, string>> = { hour: 'Last hour', day: 'Last day' }

const scopes = ['all', ...groups] as const
const scopeLabels: Readonly<Record<Group | 'all', string>> = { all: 'All interfaces', ...groupTitles }

export function ServerHistoryCard() {
  const [range, setRange] = useState<keyof ServerHistory>('hour')
  const [scope, setScope] = useState<Group | 'all'>('all')
  const history = useQuery({ queryKey: ['history'], queryFn: operator.history, refetchInterval: refreshMs })
  return (
    <Card
      id="history"
      title="History"
      aside={<Tabs name="Time range" value={range} options={ranges} labels={rangeLabels} onChoose={setRange} />}
    >
      <div className="row view">
        <Choice label="Interface" value={scope} options={scopes} labels={scopeLabels} onChoose={setScope} />
      </div>
      <p className="small soft">
        Recorded by the server since it started, {range === 'hour' ? 'by minute' : 'by quarter of an hour'}.
      </p>
      <QueryResult of={history}>
        {(data) => <HistoryPlots range={data[range]} scope={scope} when={rangeLabels[range].toLowerCase()} />}
      </QueryResult>
    </Card>
  )
}

interface HistoryPlotsProps {
  readonly range: HistoryRange
  readonly scope: Group | 'all'
  /** `last hour`, for the names of the plots. */
  readonly when: string
}

function HistoryPlots({ range: { times, traffic, lag }, scope, when }: HistoryPlotsProps) {
  const series = traffic[scope]
  const linesOf = (names: readonly (keyof TrafficHistory)[]): Line[] =>
    names.map((label) => ({ label, values: series[label] }))
  const streams = lag
    .filter(({ group, seconds }) => (scope === 'all' || scope === group) && seconds.some((age) => age !== null))
    .map(({ stream, seconds }) => ({ label: stream, values: seconds }))
  const plots = [
    { title: 'Response time in ms, percentiles', name: 'Response time', lines: linesOf(['p50', 'p95', 'p99']) },
    { title: 'Requests per second', lines: linesOf(['requests', 'errors', 'refused']) },
    { title: 'Age of the newest data', lines: streams, format: formatAge, ySteps: ageSteps },
  ]
  return (
    <div className="cards plain">
      {plots.map(({ title, name = title, ...plot }) => (
        <section key={title} aria-label={title}>
          <h3>{title}</h3>
          <Plot title={`${name}, ${when}`} xs={times} height={180} fromZero {...plot} />
        </section>
      ))}
    </div>
  )
}

/** Round in seconds, minutes, hours and days. */
const ageSteps = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3600),
  ...[1, 2, 5, 10, 50, 100, 500].map((days) => days * 86_400),
]

const ageUnits = [
  [172_800, 86_400, 'd'],
  [7200, 3600, 'h'],
  [120, 60, 'min'],
  [0, 1, 's'],
] as const

/** In one unit, short enough for an axis. */
function formatAge(seconds: number): string {
  const [, size, unit] = ageUnits.find(([from]) => seconds >= from) ?? ageUnits[3]
  return `${(seconds / size).toLocaleString('en', { maximumFractionDigits: 1 })} ${unit}`
}
