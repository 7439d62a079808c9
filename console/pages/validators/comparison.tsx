// Validators or pools beside each other: one plot, one table, the same days for all.
import { useMemo } from 'react'
import type { InputOf } from '#api/client.ts'
import type { Network } from '#api/wire/validators.ts'
import { useAsk } from '../../calls.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { count } from '../../parts/words.ts'
import { type ChainClock, clockOf, unixOf } from './chain-clock.ts'
import { Lines, type Measure, Sums } from './compared.tsx'
import { boundsOf, type Look } from './look.ts'
import type { Parties, Party } from './side-by-side.ts'

interface ComparisonProps {
  readonly parties: Parties
  readonly look: Look
  readonly measure: Measure
}

export function Comparison({ parties, look, measure }: ComparisonProps) {
  const newest = useNewest(parties[0], look.network)
  const other = useNewest(parties[1], look.network)
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
  return <Dated parties={parties} look={look} measure={measure} clock={clock} newest={date} />
}

interface Newest {
  readonly isWaiting: boolean
  readonly error: unknown
  readonly epoch?: number
  readonly clock?: ChainClock | undefined
}

/** The newest day with a record, and how its epochs lie in time. */
function useNewest(party: Party | undefined, network: Network): Newest {
  const day = useAsk(
    'validators.aggregateEffectiveness',
    {
      network,
      indices: [...(party?.indices ?? [])],
      groupBy: 'validator',
      granularity: 'day',
      include: ['startEpoch'],
      size: 1,
    },
    { when: party !== undefined, keep: true },
  )
  const record = day.data?.reply.data[0]
  const one = useAsk(
    'validators.effectiveness',
    { network, validator_index_or_pubkey: record?.validatorIndex ?? 0, sortOrder: 'desc', limit: 1 },
    { when: record !== undefined, keep: true },
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

function Dated({ parties, look, measure, clock, newest }: DatedProps) {
  const first = useFigures(parties[0], look, newest)
  const second = useFigures(parties[1], look, newest)
  return (
    <>
      <Answer of={first.windows}>
        {({ reply }) => (
          <>
            {reply.total > windowsMax && (
              <p className="note warn">
                The newest {windowsMax} of {count(reply.total)} records are drawn. Choose longer windows or a shorter
                range to see all of it.
              </p>
            )}
            <Lines
              parties={parties}
              records={reply.data}
              others={second.windows.data?.reply.data}
              measure={measure}
              clock={clock}
              windows={look.grain}
            />
          </>
        )}
      </Answer>
      <Answer of={first.whole}>
        {({ reply }) => <Sums parties={parties} records={reply.data} others={second.whole.data?.reply.data} />}
      </Answer>
      <Answer of={second.whole}>{() => null}</Answer>
    </>
  )
}

function useFigures(party: Party | undefined, look: Look, newest: string) {
  const { fromDate, toDate } = boundsOf(look, newest)
  const question: InputOf<'validators.aggregateEffectiveness'> = {
    network: look.network,
    indices: [...(party?.indices ?? [])],
    groupBy: party?.name === undefined ? 'validator' : 'timeWindow',
    filterType: 'datetime',
    // A time stands for the chain day that holds it; one that begins on a date holds the date's end.
    ...(toDate !== undefined && { from: `${toDate}T23:59:59Z` }),
    ...(fromDate !== undefined && { to: `${fromDate}T23:59:59Z` }),
  }
  const how = { when: party !== undefined, keep: true }
  const granularity = look.grain === 'hour' ? 'day' : look.grain
  return {
    whole: useAsk('validators.aggregateEffectiveness', { ...question, granularity: 'all', size: 10 }, how),
    windows: useAsk('validators.aggregateEffectiveness', { ...question, granularity, size: windowsMax }, how),
  }
}
