// Validators or pools beside each other: one plot, one table, the same days for all.
import { useMemo } from 'react'
import type { InputOf } from '#api/client.ts'
import type { Network } from '#api/wire/validators.ts'
import { useEndpoint } from '../../calls.ts'
import { formatCount } from '../../parts/format.ts'
import { Failure, QueryResult } from '../../parts/query-result.tsx'
import { type ChainClock, clockOf, unixOf } from './chain-clock.ts'
import { ComparisonPlot, type Measure, Sums } from './compared.tsx'
import type { Subject, Subjects } from './side-by-side.ts'
import { boundsOf, type ValidatorsView } from './view.ts'

interface ComparisonProps {
  readonly subjects: Subjects
  readonly view: ValidatorsView
  readonly measure: Measure
}

export function Comparison({ subjects, view, measure }: ComparisonProps) {
  const newest = useNewest(subjects[0], view.network)
  const other = useNewest(subjects[1], view.network)
  const failed = newest.error ?? other.error
  if (failed) return <Failure error={failed} />
  if (newest.isWaiting || other.isWaiting)
    return (
      <p className="busy" role="status">
        Asking…
      </p>
    )
  const clock = newest.clock ?? other.clock
  const epoch = Math.max(newest.epoch ?? 0, other.epoch ?? 0)
  if (!clock)
    return <p className="note">No duties of any of these are known here. Choose others, or another network.</p>
  const date = new Date(unixOf(clock, epoch) * 1000).toISOString().slice(0, 10)
  return <Dated subjects={subjects} view={view} measure={measure} clock={clock} newest={date} />
}

interface Newest {
  readonly isWaiting: boolean
  readonly error: unknown
  readonly epoch?: number
  readonly clock?: ChainClock | undefined
}

/** The newest day with a record, and how its epochs lie in time. */
function useNewest(subject: Subject | undefined, network: Network): Newest {
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
    { when: subject !== undefined, keepPrevious: true },
  )
  const record = day.data?.reply.data[0]
  const one = useEndpoint(
    'validators.effectiveness',
    { network, validator_index_or_pubkey: record?.validatorIndex ?? 0, sortOrder: 'desc', limit: 1 },
    { when: record !== undefined, keepPrevious: true },
  )
  const place = one.data?.reply.results[0]
  const clock = useMemo(() => place && clockOf(place), [place])
  return {
    isWaiting: day.isLoading || one.isLoading,
    error: day.error ?? one.error,
    ...(record?.startEpoch !== undefined && { epoch: Number(record.startEpoch) }),
    clock,
  }
}

interface DatedProps extends ComparisonProps {
  readonly clock: ChainClock
  readonly newest: string
}

const windowsMax = 1000

function Dated({ subjects, view, measure, clock, newest }: DatedProps) {
  const first = useFigures(subjects[0], view, newest)
  const second = useFigures(subjects[1], view, newest)
  return (
    <>
      <QueryResult of={first.windows}>
        {({ reply }) => (
          <>
            {reply.total > windowsMax && (
              <p className="note warn">
                The newest {windowsMax} of {formatCount(reply.total)} records are drawn. Choose longer windows or a
                shorter range to see all of it.
              </p>
            )}
            <ComparisonPlot
              subjects={subjects}
              records={reply.data}
              others={second.windows.data?.reply.data}
              measure={measure}
              clock={clock}
              windows={view.grain}
            />
          </>
        )}
      </QueryResult>
      <QueryResult of={first.whole}>
        {({ reply }) => <Sums subjects={subjects} records={reply.data} others={second.whole.data?.reply.data} />}
      </QueryResult>
      <QueryResult of={second.whole}>{() => null}</QueryResult>
    </>
  )
}

function useFigures(subject: Subject | undefined, view: ValidatorsView, newest: string) {
  const { fromDate, toDate } = boundsOf(view, newest)
  const question: InputOf<'validators.aggregateEffectiveness'> = {
    network: view.network,
    indices: [...(subject?.indices ?? [])],
    groupBy: subject?.name === undefined ? 'validator' : 'timeWindow',
    filterType: 'datetime',
    // A time stands for the chain day that holds it; one that begins on a date holds the date's end.
    ...(toDate !== undefined && { from: `${toDate}T23:59:59Z` }),
    ...(fromDate !== undefined && { to: `${fromDate}T23:59:59Z` }),
  }
  const how = { when: subject !== undefined, keep: true }
  const granularity = view.grain === 'hour' ? 'day' : view.grain
  return {
    whole: useEndpoint('validators.aggregateEffectiveness', { ...question, granularity: 'all', size: 10 }, how),
    windows: useEndpoint('validators.aggregateEffectiveness', { ...question, granularity, size: windowsMax }, how),
  }
}
