// The verdict about a validator: its rating in the range, how many days were bad and whose fault they were, and the worst
// days with links to their duties.
import type { UseQueryResult } from '@tanstack/preact-query'
import type { InputOf } from '#api/client/client.ts'
import type { EffectivenessRecord } from '#api/contract/wire/validators.ts'
import { formatDates } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { formatRating, Rating } from '../../parts/rating.tsx'
import { levelOf } from '../../parts/rating-scale.ts'
import { hrefOf } from '../../route.ts'
import { useCalls } from '../../use-endpoint.ts'
import { formatTally } from './incidents.ts'
import type { OverTimeProps } from './over-time.tsx'
import {
  badBelow,
  type DayFault,
  faultOfDay,
  faultTexts,
  ratedIncidents,
  type Slashing,
  slashedText,
  verdictText,
} from './verdict.ts'
import { boundsOf, queryOf, type ValidatorsView } from './view.ts'

/** Days that are counted. */
const daysMax = 50
/** Days whose duties are requested, one request each. */
const explainedMax = 10
const shownMax = 5

interface WorstDay {
  readonly record: EffectivenessRecord
  /** Undefined: only the worst days are explained. */
  readonly cause: { readonly fault: DayFault; readonly tally: string } | undefined
}

interface Judgement {
  readonly total: EffectivenessRecord | undefined
  /** Days below 100, the worst first. */
  readonly days: readonly WorstDay[]
  /** There may be more bad days. */
  readonly hasMore: boolean
}

function useJudgement({ index, view, newest }: OverTimeProps): UseQueryResult<Judgement> {
  const input = {
    ...{ validator_index_or_pubkey: index, network: view.network, utc: view.utc },
    ...boundsOf(view, newest),
  } satisfies InputOf<'validators.effectiveness'>
  return useCalls(
    ['verdict', input],
    async ({ client: { validators }, signal }) => {
      const [all, worst] = await Promise.all([
        validators.effectiveness({ ...input, granularity: 'all', limit: 1 }, { signal }),
        validators.effectiveness(
          { ...input, granularity: 'day', sortBy: 'validatorEffectiveness', limit: daysMax },
          { signal },
        ),
      ])
      const imperfect = worst.results.filter(({ validatorEffectiveness }) => (validatorEffectiveness ?? 100) < 100)
      const days = await Promise.all(
        imperfect.map(async (record, at): Promise<WorstDay> => {
          if (at >= explainedMax || record.day === null) return { record, cause: undefined }
          const dayInput = { fromDay: record.day, toDay: record.day, limit: 1 }
          const { network, utc, validator_index_or_pubkey } = input
          const { results } = await validators.explain(
            { network, utc, validator_index_or_pubkey, ...dayInput },
            { signal },
          )
          const day = results[0]
          return { record, cause: day && { fault: faultOfDay(day), tally: formatTally(ratedIncidents(day)) } }
        }),
      )
      return { total: all.results[0], days, hasMore: worst.results.length === daysMax && imperfect.every(isBad) }
    },
    { keepPrevious: true },
  )
}

const isBad = ({ validatorEffectiveness }: EffectivenessRecord): boolean =>
  validatorEffectiveness !== null && Math.round(validatorEffectiveness * 100) / 100 < badBelow

export function VerdictCard({ slashing, ...props }: OverTimeProps & Pick<VerdictProps, 'slashing'>) {
  const judgement = useJudgement(props)
  return (
    <section className="card verdict" aria-label="Verdict">
      <QueryResult of={judgement}>
        {(data) => <Verdict {...data} slashing={slashing} index={props.index} view={props.view} />}
      </QueryResult>
    </section>
  )
}

interface VerdictProps extends Judgement {
  readonly slashing: Slashing | undefined
  readonly index: number
  readonly view: ValidatorsView
}

function Verdict({ slashing, total, days, hasMore, index, view }: VerdictProps) {
  if (!total && slashing) return <p className="sentence">{slashedText(slashing)}</p>
  if (!total) return <p className="note">No duties in these days. Choose an earlier or a longer range below.</p>
  const bad = days.filter(({ record }) => isBad(record))
  const faults = bad.flatMap(({ cause }) => (cause ? [cause.fault] : []))
  const value = total.validatorEffectiveness
  return (
    <>
      <div className="score">
        <span className={`badge rating ${levelOf(value).name}`}>{formatRating(value)}</span>
        <div>
          <p className="sentence">{verdictText({ slashing, badDays: bad.length, hasMore, faults })}</p>
          <p className="small soft">
            {formatDates(total.startDate, total.endDate)}, of 100. A day is bad below {badBelow}.
          </p>
        </div>
      </div>
      {days.length > 0 && <WorstDays days={days.slice(0, shownMax)} index={index} view={view} />}
    </>
  )
}

/** Links to the worst days, which also work without a mouse. */
function WorstDays({ days, index, view }: Pick<VerdictProps, 'days' | 'index' | 'view'>) {
  // In the demo, several days can begin on one date.
  const isUnique = (date: string | null) => days.filter(({ record }) => record.date === date).length === 1
  return (
    <>
      <h2 className="small soft">Worst days in this range</h2>
      <ul className="worst">
        {days.map(({ record: { day, date, validatorEffectiveness }, cause }) => (
          <li key={day}>
            <Rating value={validatorEffectiveness} />
            <a
              href={hrefOf('validators', [index], queryOf({ ...view, day: day ?? undefined }))}
              aria-current={day === view.day ? 'true' : undefined}
            >
              {isUnique(date) ? date : `${date}, day ${day}`}
            </a>
            <span className="soft">{cause && [cause.tally, faultTexts[cause.fault]].filter(Boolean).join(': ')}</span>
          </li>
        ))}
      </ul>
    </>
  )
}
