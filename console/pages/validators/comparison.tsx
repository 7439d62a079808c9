// Compares validators, pools or operators over the same days: a plot and a table.
import { useMemo } from 'preact/compat'
import type { InputOf } from '#api/client.ts'
import type { Network } from '#api/wire/validators.ts'
import { formatCount } from '../../parts/format.ts'
import { Busy, Failure, QueryResult } from '../../parts/query-result.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { type ChainClock, clockOf, unixOf } from './chain-clock.ts'
import { ComparisonPlot, type Measure, TotalsTable } from './comparison-figures.tsx'
import type { Subject } from './side-by-side.ts'
import { boundsOf, type ValidatorsView } from './view.ts'

interface ComparisonProps {
  readonly subjects: readonly Subject[]
  readonly view: ValidatorsView
  readonly measure: Measure
}

export function Comparison({ subjects, view, measure }: ComparisonProps) {
  // One call for each possible subject, because the number of hooks must not change.
  const days = [
    useNewestDay(subjects[0], view.network),
    useNewestDay(subjects[1], view.network),
    useNewestDay(subjects[2], view.network),
    useNewestDay(subjects[3], view.network),
  ]
  const error = days.find((day) => day.error)?.error
  if (error) return <Failure error={error} />
  if (days.some(({ isWaiting }) => isWaiting)) return <Busy />
  const clock = days.find((day) => day.clock)?.clock
  const epoch = Math.max(...days.map((day) => day.epoch ?? 0))
  if (!clock)
    return <p className="note">No duties of these validators are stored. Select others, or another network.</p>
  const date = new Date(unixOf(clock, epoch) * 1000).toISOString().slice(0, 10)
  return <DatedComparison subjects={subjects} view={view} measure={measure} clock={clock} newest={date} />
}

interface NewestDay {
  readonly isWaiting: boolean
  readonly error: unknown
  readonly epoch?: number
  readonly clock?: ChainClock | undefined
}

/** The newest day with a record, and the chain clock. */
function useNewestDay(subject: Subject | undefined, network: Network): NewestDay {
  const day = useEndpoint(
    'validators.aggregateEffectiveness',
    {
      network,
      indices: [...(subject?.indices ?? [])],
      groupBy: 'validator',
      granularity: 'day',
      include: ['startEpoch'],
      size: 1,
    },
    { isEnabled: subject !== undefined, keepPrevious: true },
  )
  const record = day.data?.reply.data[0]
  const effectiveness = useEndpoint(
    'validators.effectiveness',
    { network, validator_index_or_pubkey: record?.validatorIndex ?? 0, sortOrder: 'desc', limit: 1 },
    { isEnabled: record !== undefined, keepPrevious: true },
  )
  const times = effectiveness.data?.reply.results[0]
  const clock = useMemo(() => times && clockOf(times), [times])
  return {
    isWaiting: day.isLoading || effectiveness.isLoading,
    error: day.error ?? effectiveness.error,
    ...(record?.startEpoch !== undefined && { epoch: Number(record.startEpoch) }),
    clock,
  }
}

interface DatedProps extends ComparisonProps {
  readonly clock: ChainClock
  readonly newest: string
}

const windowsMax = 1000

function DatedComparison({ subjects, view, measure, clock, newest }: DatedProps) {
  const figures = [
    useFigures(subjects[0], view, newest),
    useFigures(subjects[1], view, newest),
    useFigures(subjects[2], view, newest),
    useFigures(subjects[3], view, newest),
  ].slice(0, subjects.length)
  const windows = useStable(figures.map((figure) => figure.windows.data?.reply.data))
  const total = Math.max(...figures.map((figure) => figure.windows.data?.reply.total ?? 0))
  const failed = figures.flatMap((figure) => [figure.windows, figure.total]).find((query) => query.error)
  if (failed) return <QueryResult of={failed}>{() => null}</QueryResult>
  if (windows.every((records) => records === undefined)) return <Busy />
  return (
    <>
      {total > windowsMax && (
        <p className="note warn">
          Only the newest {windowsMax} of {formatCount(total)} records are shown. Choose a coarser granularity or a
          shorter range to see all.
        </p>
      )}
      <ComparisonPlot
        subjects={subjects}
        records={windows}
        measure={measure}
        clock={clock}
        windows={view.granularity}
      />
      <TotalsTable subjects={subjects} records={figures.map((figure) => figure.total.data?.reply.data)} />
    </>
  )
}

/** The previous list as long as its items are the same, so that the plot is not redrawn. */
function useStable<T>(items: readonly T[]): readonly T[] {
  return useMemo(() => items, [items.length, items[0], items[1], items[2], items[3]])
}

function useFigures(subject: Subject | undefined, view: ValidatorsView, newest: string) {
  const { fromDate, toDate } = boundsOf(view, newest)
  const input: InputOf<'validators.aggregateEffectiveness'> = {
    network: view.network,
    indices: [...(subject?.indices ?? [])],
    groupBy: subject?.name === undefined ? 'validator' : 'timeWindow',
    filterType: 'datetime',
    // A time selects the chain day that contains it. The chain day that starts on a date contains the end of the date.
    ...(toDate !== undefined && { from: `${toDate}T23:59:59Z` }),
    ...(fromDate !== undefined && { to: `${fromDate}T23:59:59Z` }),
  }
  const options = { isEnabled: subject !== undefined, keepPrevious: true }
  const granularity = view.granularity === 'hour' ? 'day' : view.granularity
  return {
    total: useEndpoint('validators.aggregateEffectiveness', { ...input, granularity: 'all', size: 10 }, options),
    windows: useEndpoint('validators.aggregateEffectiveness', { ...input, granularity, size: windowsMax }, options),
  }
}
