// The duties of one day: missed, late and wrong duties by epoch, and which of them were not the validator's fault.
import { useEffect, useRef } from 'preact/compat'
import type { ExplainedDay, ExplainedProposal } from '#api/contract/wire/validators-explain.ts'
import { formatCount, formatTime, gwei } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Rating } from '../../parts/rating.tsx'
import { Table } from '../../parts/table.tsx'
import { hrefOf } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { DayPicture } from './day-picture.tsx'
import { faultLabels, formatIncident, formatTally, type Incident, incidentsOfDay } from './incidents.ts'
import { queryOf, type ValidatorsView } from './view.ts'

interface DayProps {
  readonly index: number
  readonly view: ValidatorsView
  readonly day: number
}

export function Day({ index, view, day }: DayProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: scroll when the day changes
  useEffect(() => {
    heading.current?.scrollIntoView({ block: 'nearest' })
  }, [day])
  const query = useEndpoint(
    'validators.explain',
    { validator_index_or_pubkey: index, network: view.network, utc: view.utc, fromDay: day, toDay: day, limit: 1 },
    { keepPrevious: true },
  )
  const record = query.data?.reply.results[0]
  const dayHref = (target: number | undefined) => hrefOf('validators', [index], queryOf({ ...view, day: target }))
  return (
    <section className="card" aria-labelledby="day">
      <div className="spread">
        <h2 id="day" ref={heading}>
          Duties of {view.utc ? 'UTC' : 'chain'} day {day}
          {record?.day === day && `, ${record.date}`}
        </h2>
        <nav aria-label="Days" className="row">
          {day > 0 && <a href={dayHref(day - 1)}>← Previous day</a>}
          <a href={dayHref(day + 1)}>Next day →</a>
          <a href={dayHref(undefined)}>Close</a>
        </nav>
      </div>
      <QueryResult of={query} waiting="Loading the duties of the day…">
        {({ reply: { results } }) =>
          results[0] ? (
            <DayDetails day={results[0]} />
          ) : (
            <p className="note">No duties on this day. Choose another day in the plot above.</p>
          )
        }
      </QueryResult>
    </section>
  )
}

function DayDetails({ day }: { readonly day: ExplainedDay }) {
  const incidents = incidentsOfDay(day)
  const summary = formatTally(incidents)
  return (
    <>
      <p>
        Effectiveness <Rating value={day.validatorEffectiveness} /> of 100. Attestations included:{' '}
        {formatCount(day.totalUniqueAttestations)} of {formatCount(day.totalAttestationAssignments)}.
        {Number(day.proposerDutiesCount) > 0 &&
          ` Blocks proposed: ${formatCount(day.proposedCount)} of ${formatCount(day.proposerDutiesCount)}.`}{' '}
        Penalties: {gwei(day.estimatedPenalties, 9)}. Balance change: {gwei(day.earnings, 9)}.
      </p>
      {!day.epochsKnown && (
        <p className="note warn">Details are not stored for every epoch of this day. The totals above are complete.</p>
      )}
      {summary === '' && day.epochsKnown && <p className="note good">No missed, late or wrong duties on this day.</p>}
      {summary !== '' && <p>{summary[0]?.toUpperCase() + summary.slice(1)}.</p>}
      <NotAtFault incidents={incidents} />
      {(day.epochsKnown || incidents.length > 0) && (
        <DayPicture
          incidents={incidents}
          epochs={{ from: day.startEpoch, until: day.endEpoch + 1 }}
          description={`Epochs ${day.startEpoch} to ${day.endEpoch}: ${summary || 'no incidents'}`}
        />
      )}
      {incidents.length > 0 && <Incidents incidents={incidents} day={day} />}
      {day.proposals && <Proposals proposals={day.proposals} />}
    </>
  )
}

const payloadLabels = { full: 'part of the chain', empty: 'not part of the chain', unknown: 'not decided yet' } as const

function Proposals({ proposals }: { readonly proposals: readonly ExplainedProposal[] }) {
  return (
    <>
      <h3>Payloads of its blocks</h3>
      <Table
        name="Payloads of its blocks"
        className="stacked"
        rows={proposals.slice(0, rowsMax)}
        columns={[
          ['Slot', ({ slot }) => slot],
          ['Built by', ({ builder }) => (builder === null ? 'the validator' : `builder ${builder}`)],
          ['Payload', ({ payload }) => payloadLabels[payload]],
          ['Bid', ({ builder, valueGwei }) => (builder === null ? '–' : gwei(valueGwei, 9)), 'num'],
          ['Paid', ({ paid }) => (paid === null ? '–' : paid ? 'yes' : 'no')],
        ]}
      />
    </>
  )
}

function NotAtFault({ incidents }: { readonly incidents: readonly Incident[] }) {
  const excused = incidents.filter(({ fault }) => fault === 'none').length
  if (excused === 0) return null
  return (
    <p className="note good">
      {excused === incidents.length
        ? 'None of this is the validator’s fault'
        : `${formatCount(excused)} of these ${formatCount(incidents.length)} are not the validator’s fault`}
      : the slots after its duty had no block, so its attestation could not be included earlier.
    </p>
  )
}

const rowsMax = 300

const faultTone: Readonly<Record<Incident['fault'], string>> = {
  validator: 'soft',
  none: 'good',
  both: 'warn',
  builder: 'good',
  costless: 'soft',
}

interface IncidentsProps {
  readonly incidents: readonly Incident[]
  readonly day: ExplainedDay
}

function Incidents({ incidents, day }: IncidentsProps) {
  const startOf = new Map(day.epochs.map(({ epoch, startTimestamp }) => [epoch, startTimestamp]))
  return (
    <>
      <Table
        name="Incidents by epoch"
        className="stacked"
        rows={incidents.slice(0, rowsMax)}
        columns={[
          ['Epoch', ({ epoch }) => epoch],
          ['Epoch start', ({ epoch }) => formatTime(startOf.get(epoch) ?? '')],
          ['Slot', ({ slot }) => slot],
          ['Incident', formatIncident],
          ['Cause', ({ fault }) => <span className={faultTone[fault]}>{faultLabels[fault]}</span>],
        ]}
      />
      {incidents.length > rowsMax && (
        <p className="soft">{formatCount(incidents.length - rowsMax)} more incidents are not shown.</p>
      )}
    </>
  )
}
