// One validator's ratings over time: the range as a whole, window by window as a plot, and where it went worst.
import { useMemo } from 'react'
import type { EffectivenessRecord } from '#api/wire/validators.ts'
import { useEndpoint } from '../../calls.ts'
import { formatTime } from '../../parts/format.ts'
import { type Line, Plot } from '../../parts/plot.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { go, hrefOf } from '../../route.ts'
import { Tabs, ViewControls } from './controls.tsx'
import { decimal, Figures, rating, share, slots } from './figures.tsx'
import { boundsOf, closer, type DateBounds, type PlotName, queryOf, type ValidatorsView } from './view.ts'

/** As many as one page of the interface holds. */
const windowsMax = 1000
const worstShown = 5

interface OverTimeProps {
  readonly index: number
  readonly view: ValidatorsView
  /** Date of the newest record. */
  readonly newest: string
}

export function OverTime({ index, view, newest }: OverTimeProps) {
  const onView = (other: ValidatorsView) => go('validators', [index], queryOf(other))
  const bounds = boundsOf(view, newest)
  const question = {
    validator_index_or_pubkey: index,
    network: view.network,
    utc: view.utc,
    ...bounds,
  } as const
  const whole = useEndpoint(
    'validators.effectiveness',
    { ...question, granularity: 'all', limit: 1 },
    { keepPrevious: true },
  )
  const windows = useEndpoint(
    'validators.effectiveness',
    { ...question, granularity: view.grain, sortOrder: 'desc', limit: windowsMax },
    { keepPrevious: true },
  )
  return (
    <section className="card" aria-labelledby="over-time">
      <h2 id="over-time">Effectiveness over time</h2>
      <ViewControls view={view} onView={onView} />
      <QueryResult of={whole}>{({ reply }) => <RangeSummary record={reply.results[0]} />}</QueryResult>
      <Tabs
        name="What the plot shows"
        value={view.plot}
        labels={plotLabels}
        onChoose={(plot) => onView({ ...view, plot })}
      />
      <QueryResult of={windows}>
        {({ reply }) => (
          <>
            {reply.pages > 1 && (
              <p className="note warn">
                More than {windowsMax} windows lie in this range; the newest are drawn. Choose longer windows or a
                shorter range to see all of it.
              </p>
            )}
            <WindowPlot records={reply.results} view={view} onView={onView} />
          </>
        )}
      </QueryResult>
      <Worst index={index} view={view} bounds={bounds} />
    </section>
  )
}

function RangeSummary({ record }: { readonly record: EffectivenessRecord | undefined }) {
  if (!record)
    return (
      <p className="note">No duties are known in these days. Choose an earlier or a longer range, or “All days”.</p>
    )
  return (
    <>
      <p className="small soft">
        {formatTime(record.startTimestamp ?? '')} – {formatTime(record.endTimestamp ?? '')}, epochs {record.startEpoch}{' '}
        to {record.endEpoch}
      </p>
      <Figures
        figures={[
          {
            name: 'Validator',
            value: rating(record.validatorEffectiveness),
            hint: 'of 100; attester and proposer together',
          },
          { name: 'Attester', value: rating(record.attesterEffectiveness), hint: 'uptime × correctness ÷ delay' },
          {
            name: 'Proposer',
            value: rating(record.proposerEffectiveness),
            hint:
              record.proposerEffectiveness === null ? 'it had no block to make' : 'blocks made; an empty one counts ¼',
          },
          { name: 'Uptime', value: share(record.uptime), hint: 'votes that got into a block' },
          { name: 'Correctness', value: share(record.avgCorrectness), hint: 'source, target and head right' },
          {
            name: 'Delay',
            value: decimal(record.avgInclusionDelay),
            hint: 'slots until a vote was in a block; best is 1',
          },
        ]}
      />
    </>
  )
}

const plotLabels: Readonly<Record<PlotName, string>> = {
  effectiveness: 'Effectiveness',
  votes: 'Uptime and correctness',
  delay: 'Inclusion delay',
}

type Figure =
  | 'validatorEffectiveness'
  | 'attesterEffectiveness'
  | 'proposerEffectiveness'
  | 'uptime'
  | 'avgCorrectness'
  | 'avgInclusionDelay'

const plotLines: Readonly<Record<PlotName, readonly (readonly [label: string, field: Figure])[]>> = {
  effectiveness: [
    ['Validator', 'validatorEffectiveness'],
    ['Attester', 'attesterEffectiveness'],
    ['Proposer', 'proposerEffectiveness'],
  ],
  votes: [
    ['Uptime', 'uptime'],
    ['Correctness', 'avgCorrectness'],
  ],
  delay: [['Inclusion delay', 'avgInclusionDelay']],
}

const formats: Readonly<Record<PlotName, (value: number) => string>> = {
  effectiveness: rating,
  votes: share,
  delay: slots,
}

interface WindowsProps {
  /** Newest first. */
  readonly records: readonly EffectivenessRecord[]
  readonly view: ValidatorsView
  readonly onView: (look: ValidatorsView) => void
}

function WindowPlot({ records, view, onView }: WindowsProps) {
  const { plot } = view
  const { windows, xs, lines } = useMemo(() => {
    const windows = records.toReversed()
    const lines: Line[] = plotLines[plot]
      .map(([label, field]) => ({ label, values: windows.map((record) => record[field]) }))
      .filter(({ values }) => values.some((value) => value !== null))
    return { windows, lines, xs: windows.map(({ startTimestamp }) => Date.parse(startTimestamp ?? '') / 1000) }
  }, [records, plot])
  if (windows.length === 0) return null
  const isDay = view.grain === 'hour' || view.grain === 'day'
  return (
    <>
      <Plot
        title={`${plotLabels[plot]} in ${windows.length} ${view.grain}s`}
        xs={xs}
        lines={lines}
        height={260}
        format={formats[plot]}
        onPick={(at) => {
          const window = windows[at]
          if (window) onView(closer(view, window))
        }}
      />
      <p className="small soft">
        {isDay
          ? 'Click a point to see the duties of its day below; drag to look closer, double-click to come back.'
          : `Click a point to see the days of its ${view.grain}; drag to look closer, double-click to come back.`}
      </p>
    </>
  )
}

interface WorstProps {
  readonly index: number
  readonly view: ValidatorsView
  readonly bounds: DateBounds
}

/** The way to a bad day without pointing at it. */
function Worst({ index, view, bounds }: WorstProps) {
  const worst = useEndpoint(
    'validators.effectiveness',
    {
      validator_index_or_pubkey: index,
      network: view.network,
      utc: view.utc,
      ...bounds,
      granularity: 'day',
      sortBy: 'validatorEffectiveness',
      limit: worstShown,
    },
    { keepPrevious: true },
  )
  return (
    <QueryResult of={worst}>
      {({ reply: { results } }) => {
        const bad = results.filter(({ validatorEffectiveness: rated }) => rated !== null && rated < 100)
        if (results.length === 0) return null
        if (bad.length === 0) return <p>Nothing went wrong on any day of this range.</p>
        return (
          <p className="worst">
            <strong>Worst days in this range:</strong>{' '}
            {bad.map((record) => (
              <a
                key={record.day}
                href={hrefOf('validators', [index], queryOf({ ...view, day: record.day ?? undefined }))}
                aria-current={record.day === view.day ? 'true' : undefined}
              >
                {record.date} <span className="badge">{rating(record.validatorEffectiveness)}</span>
              </a>
            ))}
          </p>
        )
      }}
    </QueryResult>
  )
}
