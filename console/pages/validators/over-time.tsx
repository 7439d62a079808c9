// The ratings of a validator over time: totals of the range, and a plot.
import { useMemo } from 'preact/compat'
import type { EffectivenessRecord } from '#api/contract/wire/validators.ts'
import { Card } from '../../parts/card.tsx'
import { Tabs } from '../../parts/controls.tsx'
import { formatTime } from '../../parts/format.ts'
import { type Line, Plot } from '../../parts/plot.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { formatRating } from '../../parts/rating.tsx'
import { colourOf, levelOf, ratingLevels } from '../../parts/rating-scale.ts'
import { go } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { ViewControls } from './controls.tsx'
import { Figures, RatedFigure } from './figures.tsx'
import { decimal, share, slots } from './format-figures.ts'
import { boundsOf, type PlotName, plotNames, queryOf, type ValidatorsView, zoomInto } from './view.ts'

/** The maximum of one response. */
const windowsMax = 1000

export interface OverTimeProps {
  readonly index: number
  readonly view: ValidatorsView
  /** Date of the newest record. */
  readonly newest: string
}

export function OverTime({ index, view, newest }: OverTimeProps) {
  const onView = (newView: ValidatorsView) => go('validators', [index], queryOf(newView))
  const input = {
    validator_index_or_pubkey: index,
    network: view.network,
    utc: view.utc,
    ...boundsOf(view, newest),
  } as const
  const total = useEndpoint(
    'validators.effectiveness',
    { ...input, granularity: 'all', limit: 1 },
    { keepPrevious: true },
  )
  const windows = useEndpoint(
    'validators.effectiveness',
    { ...input, granularity: view.granularity, sortOrder: 'desc', limit: windowsMax },
    { keepPrevious: true },
  )
  return (
    <Card id="over-time" title="Effectiveness over time">
      <Tabs
        name="Plotted measure"
        value={view.plot}
        options={plotNames}
        labels={(name) => plots[name].label}
        onChoose={(plot) => onView({ ...view, plot })}
      />
      <QueryResult of={windows}>
        {({ reply }) => (
          <>
            {reply.pages > 1 && (
              <p className="note warn">
                This range has more than {windowsMax} points. Only the newest are shown. Choose a coarser granularity or
                a shorter range to see all.
              </p>
            )}
            <WindowPlot records={reply.results} view={view} onView={onView} />
          </>
        )}
      </QueryResult>
      <ViewControls view={view} onView={onView} />
      <QueryResult of={total}>{({ reply }) => <RangeSummary record={reply.results[0]} />}</QueryResult>
    </Card>
  )
}

function RangeSummary({ record }: { readonly record: EffectivenessRecord | undefined }) {
  if (!record)
    return <p className="note">No duties in these days. Choose an earlier or a longer range, or “All days”.</p>
  return (
    <>
      <p className="small soft">
        {formatTime(record.startTimestamp ?? '')} – {formatTime(record.endTimestamp ?? '')}, epochs {record.startEpoch}{' '}
        to {record.endEpoch}
      </p>
      <Figures
        of={{
          Validator: [
            <RatedFigure key="rated" value={record.validatorEffectiveness} />,
            'of 100, attester and proposer combined',
          ],
          Attester: [<RatedFigure key="rated" value={record.attesterEffectiveness} />, 'uptime × correctness ÷ delay'],
          Proposer: [
            <RatedFigure key="rated" value={record.proposerEffectiveness} />,
            record.proposerEffectiveness === null ? 'no blocks were due' : 'blocks proposed; an empty one counts ¼',
          ],
          Uptime: [share(record.uptime), 'attestations included'],
          Correctness: [share(record.avgCorrectness), 'correct source, target and head'],
          'Inclusion delay': [decimal(record.avgInclusionDelay), 'slots until inclusion; best is 1'],
        }}
      />
    </>
  )
}

const plots = {
  effectiveness: {
    label: 'Effectiveness',
    format: formatRating,
    max: 100,
    lines: {
      Validator: 'validatorEffectiveness',
      Attester: 'attesterEffectiveness',
      Proposer: 'proposerEffectiveness',
    },
  },
  votes: {
    label: 'Uptime and correctness',
    format: share,
    max: 1,
    lines: { Uptime: 'uptime', Correctness: 'avgCorrectness' },
  },
  delay: { label: 'Inclusion delay', format: slots, max: undefined, lines: { 'Inclusion delay': 'avgInclusionDelay' } },
} as const satisfies Record<PlotName, object>

/** Only days with a lower rating get a point. */
const ratingColour = (value: number): string | undefined => {
  const level = levelOf(value)
  return level === ratingLevels[0] ? undefined : colourOf(level)
}

interface WindowsProps {
  /** Newest first. */
  readonly records: readonly EffectivenessRecord[]
  readonly view: ValidatorsView
  readonly onView: (view: ValidatorsView) => void
}

function WindowPlot({ records, view, onView }: WindowsProps) {
  const { plot } = view
  const { windows, xs, lines } = useMemo(() => {
    const windows = records.toReversed()
    const lines: Line[] = Object.entries(plots[plot].lines)
      .map(([label, field], at) => ({
        label,
        values: windows.map((record) => record[field]),
        // The first line is the rating itself. The others are its parts.
        ...(plot === 'effectiveness' && at === 0 && { pointColour: ratingColour }),
      }))
      .filter(({ values }) => values.some((value) => value !== null))
    return { windows, lines, xs: windows.map(({ startTimestamp }) => Date.parse(startTimestamp ?? '') / 1000) }
  }, [records, plot])
  if (windows.length === 0) return null
  const isDay = view.granularity === 'hour' || view.granularity === 'day'
  return (
    <>
      <Plot
        title={`${plots[plot].label} in ${windows.length} ${view.granularity}s`}
        xs={xs}
        lines={lines}
        height={260}
        format={plots[plot].format}
        yMax={plots[plot].max}
        onPick={(index) => {
          const window = windows[index]
          if (window) onView(zoomInto(view, window))
        }}
        onZoom={(from, to) => onView({ ...view, from, to })}
      />
      <p className="small soft">
        {isDay
          ? 'Click a point to see the duties of its day below. Drag to zoom, double-click to reset.'
          : `Click a point to see the days of its ${view.granularity}. Drag to zoom, double-click to reset.`}
      </p>
    </>
  )
}
