// "My validators": the validators that somebody watches, with what needs attention first. The list is kept in the browser; the
// operator also sees the watch list of the server, open alerts, and can send a test alert.
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import type { AlertsView } from '#shared/console-calls.ts'
import { operator } from '../../operator.ts'
import { Form, Submit, TextField } from '../../parts/controls.tsx'
import { formatCount, formatDates, gwei } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Rating } from '../../parts/rating.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { go, hrefOf } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { AlertsCard, openAlertText } from './alerts-card.tsx'
import { NetworkChoice } from './controls.tsx'
import { Figures, RatedFigure } from './figures.tsx'
import { none } from './format-figures.ts'
import { Income } from './income.tsx'
import { useWatchList } from './use-watch-list.ts'
import type { ValidatorsView } from './view.ts'
import { indicesIn, watchedMax } from './watch-list.ts'
import { sumOf, useWatchedFigures, type WatchedFigures, type WatchedReport } from './watched-figures.ts'

type OpenAlerts = AlertsView['open']

/** Idle for visitors. */
function useAlerts(): UseQueryResult<AlertsView> {
  const { session } = useConsoleContext()
  return useQuery({
    queryKey: ['alerts'],
    queryFn: operator.alerts,
    enabled: session.signedIn,
    refetchInterval: 30_000,
  })
}

export function MyValidators({ view }: { readonly view: ValidatorsView }) {
  const { network } = view
  const { indices: own, add, remove } = useWatchList(network)
  const query = useAlerts()
  const { data: alerts } = query
  const ofServer = alerts?.watched.find((watched) => watched.network === network)?.indices ?? []
  const indices = [...new Set([...own, ...ofServer])].slice(0, watchedMax)
  const open = alerts?.open.filter((alert) => alert.network === network)
  const report = useWatchedFigures(network, indices)
  return (
    <>
      <h1>My validators</h1>
      <p className="lead">The validators that you watch, those that need attention first.</p>
      <section className="card" aria-label="Watch list">
        <div className="row">
          <NetworkChoice view={view} onView={(changed) => go('validators', ['mine'], { network: changed.network })} />
          <AddForm onAdd={add} />
        </div>
        {indices.length === 0 ? (
          <p className="note">
            You watch no validators on {network} yet. Add their indices above, or use “Watch” on the page of a
            validator. The list stays in this browser.
          </p>
        ) : (
          <QueryResult of={report} waiting="Loading your validators…">
            {(data) => <Dashboard report={data} open={open} own={own} onRemove={remove} view={view} />}
          </QueryResult>
        )}
      </section>
      {indices.length > 0 && report.data && (
        <Income
          input={{
            ...{ network, indices },
            ...(report.data.startDate !== null && { fromDate: report.data.startDate }),
          }}
        />
      )}
      <QueryResult of={query} waiting="Loading alerts…">
        {({ webhooks }) => <AlertsCard webhooks={webhooks} />}
      </QueryResult>
    </>
  )
}

function AddForm({ onAdd }: { readonly onAdd: (indices: readonly number[]) => void }) {
  const [text, setText] = useState('')
  const indices = indicesIn(text)
  const submit = () => {
    if (!indices) return
    onAdd(indices)
    setText('')
  }
  return (
    <Form className="row search" onSubmit={submit} aria-label="Add validators">
      <TextField
        isWide
        label={`Indices to watch, separated by commas; at most ${watchedMax}`}
        className="mono"
        value={text}
        onText={setText}
      />
      <Submit disabled={!indices}>Add</Submit>
    </Form>
  )
}

interface DashboardProps {
  readonly report: WatchedReport
  /** Undefined for visitors. */
  readonly open: OpenAlerts | undefined
  readonly own: readonly number[]
  readonly onRemove: (index: number) => void
  readonly view: ValidatorsView
}

const amountOf = (value: bigint | number | undefined): string => (value === undefined ? none : gwei(value, 6))
const countOf = (value: bigint | number | undefined): string => (value === undefined ? none : formatCount(value))

function missedBlocks({ proposedCount, proposerDutiesCount }: WatchedFigures): number | undefined {
  if (proposedCount === undefined || proposerDutiesCount === undefined) return undefined
  return Number(proposerDutiesCount) - Number(proposedCount)
}

function Dashboard({ report, open, own, onRemove, view }: DashboardProps) {
  const { validators, startDate, endDate } = report
  const [due, proposed] = [sumOf(validators, 'proposerDutiesCount'), sumOf(validators, 'proposedCount')]
  const worst = validators[0]
  const hasProgrammes = validators.some(({ compared }) => (compared?.programmes.length ?? 0) > 0)
  return (
    <>
      <Figures
        of={{
          Validators: [formatCount(validators.length), 'on the list'],
          'Lowest score': [<RatedFigure key="worst" value={worst?.validatorEffectiveness} />, 'of 100'],
          'Balance change': [amountOf(sumOf(validators, 'earnings')), 'of all, without fees and MEV'],
          'Missed attestations': [countOf(sumOf(validators, 'sumMissedAttestations')), 'of all'],
          'Missed blocks': [
            due === undefined || proposed === undefined ? none : formatCount(due - proposed),
            due === undefined ? '' : `of ${formatCount(due)} due`,
          ],
          ...(open && { 'Open alerts': [formatCount(open.length), 'have not ended'] }),
        }}
      />
      <p className="small soft">
        {startDate === null ? 'All days that were read.' : `${formatDates(startDate, endDate)}.`} Worst first.
      </p>
      <Table
        name="Watched validators"
        className="stacked"
        rows={validators}
        columns={columnsOf({ open, own, onRemove, view, hasProgrammes })}
      />
    </>
  )
}

interface ColumnOptions extends Omit<DashboardProps, 'report'> {
  readonly hasProgrammes: boolean
}

const pointsOf = (points: number | null | undefined): string =>
  points == null ? none : `${points < 0 ? '−' : '+'}${Math.abs(points).toFixed(2)}`

/** Whether the validator is above the thresholds of the programmes that apply to it. */
function Programmes({ compared }: WatchedFigures) {
  return compared?.programmes.map(({ name, isBelow, margin }) => (
    <span key={name} className={isBelow ? 'badge bad' : 'badge'} title="points above the threshold">
      {isBelow === null ? `${name}: unknown` : `${isBelow ? 'below ' : ''}${name} ${pointsOf(margin)}`}
    </span>
  ))
}

function columnsOf({ open, own, onRemove, view, hasProgrammes }: ColumnOptions): Column<WatchedFigures>[] {
  const link = (index: number) => <a href={hrefOf('validators', [index], { network: view.network })}>{index}</a>
  const alertsOf = (index: number) =>
    open?.filter(({ validatorIndex }) => validatorIndex === index).map(({ event }) => openAlertText(event))
  return [
    ['Validator', ({ index }) => link(index)],
    ['Score', ({ validatorEffectiveness }) => <Rating value={validatorEffectiveness} />, 'num'],
    ['Uptime difference', ({ compared }) => pointsOf(compared?.uptime.difference), 'num'],
    ...(hasProgrammes ? [['Programmes', Programmes] as const] : []),
    ['Balance change', ({ earnings }) => amountOf(earnings), 'num'],
    ['Missed attestations', ({ sumMissedAttestations }) => countOf(sumMissedAttestations), 'num'],
    ['Missed blocks', (figures) => countOf(missedBlocks(figures)), 'num'],
    ...(open
      ? [
          [
            'Open alerts',
            ({ index }: WatchedFigures) => <OpenAlertsOf texts={[...new Set(alertsOf(index))]} />,
          ] as const,
        ]
      : []),
    [
      'Watching',
      ({ index }) =>
        own.includes(index) ? (
          <button type="button" className="plain" aria-label={`Remove ${index}`} onClick={() => onRemove(index)}>
            Remove
          </button>
        ) : (
          <span className="soft">by the server</span>
        ),
    ],
  ]
}

const OpenAlertsOf = ({ texts }: { readonly texts: readonly string[] }) =>
  texts.length === 0 ? (
    <span className="soft">none</span>
  ) : (
    texts.map((text) => (
      <span key={text} className="badge bad">
        {text}
      </span>
    ))
  )

/** On the page of a validator. */
export function WatchButton({ index, view }: { readonly index: number; readonly view: ValidatorsView }) {
  const { indices, add, remove } = useWatchList(view.network)
  const isWatched = indices.includes(index)
  return (
    <button type="button" aria-pressed={isWatched} onClick={() => (isWatched ? remove(index) : add([index]))}>
      {isWatched ? 'Watching' : 'Watch'}
    </button>
  )
}
