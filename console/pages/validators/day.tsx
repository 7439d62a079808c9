// The duties behind a day: what was missed, late or wrong, epoch by epoch, and what of it was not the validator's fault.
import { useEffect, useRef } from 'react'
import type { ExplainedDay } from '#api/wire/validators-explain.ts'
import { useEndpoint } from '../../calls.ts'
import { Columns } from '../../parts/columns.tsx'
import { formatCount, formatTime, gwei } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { hrefOf } from '../../route.ts'
import { DayPicture } from './day-picture.tsx'
import { rating } from './figures.tsx'
import { faultLabels, formatIncident, formatTally, type Incident, incidentsOf } from './incidents.ts'
import { queryOf, type ValidatorsView } from './view.ts'

interface DayProps {
  readonly index: number
  readonly view: ValidatorsView
  readonly day: number
}

export function Day({ index, view, day }: DayProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another day is another place to look at
  useEffect(() => {
    heading.current?.scrollIntoView({ block: 'nearest' })
  }, [day])
  const query = useEndpoint(
    'validators.explain',
    { validator_index_or_pubkey: index, network: view.network, utc: view.utc, fromDay: day, toDay: day, limit: 1 },
    { keepPrevious: true },
  )
  const record = query.data?.reply.results[0]
  const at = (other: number | undefined) => hrefOf('validators', [index], queryOf({ ...view, day: other }))
  return (
    <section className="card" aria-labelledby="day">
      <div className="spread">
        <h2 id="day" ref={heading}>
          The duties of {view.utc ? 'UTC' : 'chain'} day {day}
          {record?.day === day && `, ${record.date}`}
        </h2>
        <nav aria-label="Days" className="row">
          {day > 0 && <a href={at(day - 1)}>← Day before</a>}
          <a href={at(day + 1)}>Day after →</a>
          <a href={at(undefined)}>Close</a>
        </nav>
      </div>
      <QueryResult of={query} waiting="Asking for the duties of the day…">
        {({ reply: { results } }) =>
          results[0] ? (
            <DayDetails day={results[0]} />
          ) : (
            <p className="note">No duties are known on this day. Choose one of the days that are drawn above.</p>
          )
        }
      </QueryResult>
    </section>
  )
}

function DayDetails({ day }: { readonly day: ExplainedDay }) {
  const incidents = day.epochs.flatMap(incidentsOf)
  const summary = formatTally(incidents)
  return (
    <>
      <p>
        Effectiveness <strong>{rating(day.validatorEffectiveness)}</strong> of 100. Of{' '}
        {formatCount(day.totalAttestationAssignments)} votes due, {formatCount(day.totalUniqueAttestations)} got into a
        block
        {Number(day.proposerDutiesCount) > 0 &&
          `; of ${formatCount(day.proposerDutiesCount)} blocks due, ${formatCount(day.proposedCount)} made`}
        . Penalties {gwei(day.estimatedPenalties, 9)}, change of the balance {gwei(day.earnings, 9)}.
      </p>
      {!day.epochsKnown && (
        <p className="note warn">
          Not every epoch of this day can be told one by one: some were read before the server kept them. The sums above
          are complete.
        </p>
      )}
      {summary === '' && day.epochsKnown && <p className="note good">Nothing was missed, late or wrong on this day.</p>}
      {summary !== '' && <p>{summary[0]?.toUpperCase() + summary.slice(1)}.</p>}
      <Excuse incidents={incidents} />
      {(day.epochsKnown || incidents.length > 0) && (
        <DayPicture
          incidents={incidents}
          epochs={{ from: day.startEpoch, until: day.endEpoch + 1 }}
          description={`Epochs ${day.startEpoch} to ${day.endEpoch}: ${summary || 'nothing went wrong'}`}
        />
      )}
      {incidents.length > 0 && <Incidents incidents={incidents} day={day} />}
    </>
  )
}

function Excuse({ incidents }: { readonly incidents: readonly Incident[] }) {
  const excused = incidents.filter(({ fault }) => fault === 'none').length
  if (excused === 0) return null
  return (
    <p className="note good">
      {excused === incidents.length
        ? 'None of it was this validator’s fault'
        : `${formatCount(excused)} of these ${formatCount(incidents.length)} were not this validator’s fault`}
      : the slots after its duty had no block, so its vote could not be taken sooner.
    </p>
  )
}

const rowsMax = 300

const faultTone: Readonly<Record<Incident['fault'], string>> = { own: 'soft', none: 'good', both: 'warn' }

interface IncidentsProps {
  readonly incidents: readonly Incident[]
  readonly day: ExplainedDay
}

function Incidents({ incidents, day }: IncidentsProps) {
  const startOf = new Map(day.epochs.map(({ epoch, startTimestamp }) => [epoch, startTimestamp]))
  return (
    <Scroll name="What happened, epoch by epoch">
      <table>
        <Columns of={['Epoch', 'From', 'Slot', 'What happened', 'Whose fault']} />
        <tbody>
          {incidents.slice(0, rowsMax).map((incident) => (
            <tr key={`${incident.epoch} ${incident.slot} ${incident.kind}`}>
              <td>{incident.epoch}</td>
              <td>{formatTime(startOf.get(incident.epoch) ?? '')}</td>
              <td>{incident.slot}</td>
              <td>{formatIncident(incident)}</td>
              <td className={faultTone[incident.fault]}>{faultLabels[incident.fault]}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {incidents.length > rowsMax && <p className="soft">and {formatCount(incidents.length - rowsMax)} more</p>}
    </Scroll>
  )
}
