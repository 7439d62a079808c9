// Compares validators, pools or operators over the same days: a plot and a table.
import type { UseQueryResult } from '@tanstack/preact-query'
import type { InputOf } from '#api/client/client.ts'
import type { Network } from '#api/contract/wire/validators.ts'
import type { OperatorRecord } from '#api/contract/wire/validators-operators.ts'
import { formatCount } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { type Calling, useCalls } from '../../use-endpoint.ts'
import { type ChainClock, clockOf, unixOf } from './chain-clock.ts'
import { ComparisonPlot, type Measure, TotalsTable } from './comparison-figures.tsx'
import type { ComparedRecord, Subject } from './side-by-side.ts'
import { boundsOf, type ValidatorsView } from './view.ts'

interface ComparisonProps {
  readonly subjects: readonly Subject[]
  readonly view: ValidatorsView
  readonly measure: Measure
}

export function Comparison(props: ComparisonProps) {
  const newest = useNewestDay(props.subjects, props.view.network)
  return (
    <QueryResult of={newest}>
      {(day) =>
        day === null ? (
          <p className="note">No duties of these validators are stored. Select others, or another network.</p>
        ) : (
          <DatedComparison {...props} newest={day} />
        )
      }
    </QueryResult>
  )
}

interface NewestDay {
  readonly date: string
  readonly clock: ChainClock
}

/** The newest day with a record; null without one. */
function useNewestDay(subjects: readonly Subject[], network: Network): UseQueryResult<NewestDay | null> {
  const groups = subjects.map(({ indices }) => [...indices])
  return useCalls(
    ['newest day', network, groups],
    async ({ client, signal }) => {
      const input: InputOf<'validators.aggregateEffectiveness'> = { network, include: ['startEpoch'], size: 1 }
      const replies = await Promise.all(
        groups.map((indices) => client.validators.aggregateEffectiveness({ ...input, indices }, { signal })),
      )
      const records = replies.flatMap(({ data }) => data)
      const [record] = records.toSorted((a, b) => Number(b.startEpoch) - Number(a.startEpoch))
      if (record?.validatorIndex === undefined) return null
      const { results } = await client.validators.effectiveness(
        { network, validator_index_or_pubkey: record.validatorIndex, sortOrder: 'desc', limit: 1 },
        { signal },
      )
      const clock = results[0] && clockOf(results[0])
      if (!clock) return null
      return { clock, date: new Date(unixOf(clock, Number(record.startEpoch)) * 1000).toISOString().slice(0, 10) }
    },
    { keepPrevious: true },
  )
}

const windowsMax = 1000

function DatedComparison({ subjects, view, measure, newest }: ComparisonProps & { readonly newest: NewestDay }) {
  const figures = useFigures(subjects, view, newest.date)
  return (
    <QueryResult of={figures}>
      {({ windows, totals, windowsCount }) => (
        <>
          {windowsCount > windowsMax && (
            <p className="note warn">
              Only the newest {windowsMax} of {formatCount(windowsCount)} records are shown. Choose a coarser
              granularity or a shorter range to see all.
            </p>
          )}
          <ComparisonPlot
            subjects={subjects}
            records={windows}
            measure={measure}
            clock={newest.clock}
            windows={view.granularity}
          />
          <TotalsTable subjects={subjects} records={totals} network={view.network} />
        </>
      )}
    </QueryResult>
  )
}

/** The records of each subject, in the same order. */
function useFigures(subjects: readonly Subject[], view: ValidatorsView, newest: string) {
  const { fromDate, toDate } = boundsOf(view, newest)
  const range: RecordsInput = {
    network: view.network,
    filterType: 'datetime',
    ...(toDate !== undefined && { from: toDate }),
    ...(fromDate !== undefined && { to: fromDate }),
  }
  const granularity = view.granularity === 'hour' ? 'day' : view.granularity
  return useCalls(
    ['compared figures', subjects, range, granularity],
    async (calling) => {
      const read = (changes: RecordsInput) =>
        Promise.all(subjects.map((subject) => readRecords(calling, subject, { ...range, ...changes })))
      const [windows, totals] = await Promise.all([
        read({ granularity, size: windowsMax }),
        read({ granularity: 'all', size: 10 }),
      ])
      return {
        windows: windows.map(({ data }) => data),
        totals: totals.map(({ data }) => data),
        /** The highest number of records of a subject. */
        windowsCount: Math.max(...windows.map(({ total }) => total)),
      }
    },
    { keepPrevious: true },
  )
}

type RecordsInput = Omit<InputOf<'validators.operatorEffectiveness'>, 'operator_id'>

/** Of a pool or operator, the server has daily summaries of all its validators. */
async function readRecords({ client, signal }: Calling, { kind, name, indices }: Subject, input: RecordsInput) {
  if (name === undefined)
    return client.validators.aggregateEffectiveness({ ...input, indices: [...indices] }, { signal })
  const idType = kind === 'pool' ? 'pool' : 'nodeOperator'
  const { data, total } = await client.validators.operatorEffectiveness(
    { ...input, operator_id: name, idType },
    { signal },
  )
  const toCompared = (record: OperatorRecord): ComparedRecord => ({
    ...record,
    validatorEffectiveness: record.avgValidatorEffectiveness,
    attesterEffectiveness: record.avgAttesterEffectiveness,
    uptime: record.avgUptime,
    proposedCount: record.sumProposedCount,
    proposerDutiesCount: record.sumProposerDutiesCount,
    estimatedPenalties: record.sumEstimatedPenalties,
    earnings: record.sumEarnings,
  })
  return { data: data.map(toCompared), total }
}
