// What a validator earned and lost: part by part for the whole range, exact to the gwei, and window by window as a plot.
import { useMemo } from 'react'
import type { InputOf } from '#api/client.ts'
import type { AggregateRecord } from '#api/wire/validators.ts'
import { useEndpoint } from '../../calls.ts'
import { formatCount, gwei } from '../../parts/format.ts'
import { type Line, Plot } from '../../parts/plot.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { go } from '../../route.ts'
import { type ChainClock, unixOf } from './chain-clock.ts'
import { Tabs } from './controls.tsx'
import { rewardStatement, type StatementPart, scaleOf } from './reward-statement.ts'
import { type PartName, partNames, queryOf, type ValidatorsView } from './view.ts'

export interface ChainDays {
  readonly startDay: number
  readonly endDay: number
}

interface RewardsProps {
  readonly index: number
  readonly view: ValidatorsView
  readonly days: ChainDays
  readonly clock: ChainClock
}

export function Rewards({ index, view, days, clock }: RewardsProps) {
  const question: InputOf<'validators.aggregateEffectiveness'> = {
    indices: [index],
    network: view.network,
    groupBy: 'timeWindow',
    filterType: 'day',
    from: days.endDay,
    to: days.startDay,
  }
  const whole = useEndpoint(
    'validators.aggregateEffectiveness',
    { ...question, granularity: 'all', size: 1 },
    { keepPrevious: true },
  )
  const granularity = view.grain === 'hour' ? 'day' : view.grain
  const windows = useEndpoint(
    'validators.aggregateEffectiveness',
    { ...question, granularity, size: 1000 },
    { keepPrevious: true },
  )
  return (
    <section className="card" aria-labelledby="rewards">
      <h2 id="rewards">Rewards and penalties</h2>
      <p className="small soft">
        Chain days {days.startDay} to {days.endDay}. Amounts are always counted by chain days.
      </p>
      <Tabs
        name="Which amounts the plot shows"
        value={view.part}
        labels={partLabels}
        onChoose={(part) => go('validators', [index], queryOf({ ...view, part }))}
      />
      <QueryResult of={windows}>
        {({ reply }) => <AmountPlot records={reply.data} part={view.part} clock={clock} windows={granularity} />}
      </QueryResult>
      <QueryResult of={whole}>
        {({ reply: { data } }) =>
          data[0] ? <RewardTables record={data[0]} /> : <p className="note">No duties here.</p>
        }
      </QueryResult>
    </section>
  )
}

const partLabels: Readonly<Record<PartName, string>> = {
  consensus: 'Paid by the chain',
  execution: 'Brought by blocks',
  penalties: 'Penalties',
  missed: 'Could have been paid',
}

interface AmountPlotProps {
  /** Newest first. */
  readonly records: readonly AggregateRecord[]
  readonly part: PartName
  readonly clock: ChainClock
  readonly windows: string
}

function AmountPlot({ records, part, clock, windows }: AmountPlotProps) {
  const { xs, lines, unit } = useMemo(() => {
    const ascending = records.toReversed()
    const statements = ascending.map((record) => rewardStatement(record)[part].items)
    const { unit, toAxisNumber: drawn } = scaleOf(statements.flat().map(({ gwei }) => gwei))
    const lines: Line[] = (statements[0] ?? [])
      .map(({ name }, at) => ({ label: name, values: statements.map((items) => drawn(items[at]?.gwei)) }))
      // What never was would only lie on the axis.
      .filter(({ values }) => values.some((value) => value !== null && value !== 0))
    return { lines, unit, xs: ascending.map(({ startEpoch }) => unixOf(clock, Number(startEpoch))) }
  }, [records, part, clock])
  if (lines.length === 0)
    return <p className="note">{partLabels[part]}: nothing in these days, so there is nothing to draw.</p>
  return (
    <>
      <p className="small soft">
        Per {windows}, in {unit}:
      </p>
      <Plot key={unit} title={`${partLabels[part]} per ${windows}, ${unit}`} xs={xs} lines={lines} format={plainly} />
    </>
  )
}

const plainly = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 6 })

function RewardTables({ record }: { readonly record: AggregateRecord }) {
  const statement = rewardStatement(record)
  return (
    <>
      <div className="sheet">
        {partNames.map((name) => (
          <PartTable key={name} title={partLabels[name]} part={statement[name]} />
        ))}
      </div>
      <dl className="facts totals">
        <dt>Change of the balance</dt>
        <dd>{amount(statement.earnings)}</dd>
        <dt>With fees and MEV</dt>
        <dd>{amount(statement.all)}</dd>
      </dl>
      <details>
        <summary>How often each thing happened</summary>
        <Counts record={record} />
      </details>
    </>
  )
}

const amount = (value: bigint | undefined): string => (value === undefined ? 'not known' : gwei(value, 9))

interface PartTableProps {
  readonly title: string
  readonly part: StatementPart
}

function PartTable({ title, part }: PartTableProps) {
  return (
    <div>
      <table>
        <caption>{title}</caption>
        <tbody>
          {part.items.map(({ name, gwei: value }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="num">{amount(value)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Together</th>
            <td className="num">{amount(part.total)}</td>
          </tr>
        </tfoot>
      </table>
      {part.total === undefined && (
        <p className="small soft">What is not known: the server read no execution node for these days.</p>
      )}
    </div>
  )
}

const counted = [
  ['Votes due', 'totalAttestationAssignments'],
  ['Votes in a block', 'totalUniqueAttestations'],
  ['Votes missed', 'sumMissedAttestations'],
  ['Wrong head', 'sumWrongHeadVotes'],
  ['Wrong target', 'sumWrongTargetVotes'],
  ['Late source', 'sumLateSourceVotes'],
  ['Late target', 'sumLateTargetVotes'],
  ['Blocks due', 'proposerDutiesCount'],
  ['Blocks made', 'proposedCount'],
  ['Blocks with an empty payload', 'executionProposedEmptyCount'],
  ['Sync signatures', 'syncSignatureCount'],
  ['Slashings proved', 'slashesCollected'],
  ['Slashings suffered', 'slashesReceived'],
] as const

function Counts({ record }: { readonly record: AggregateRecord }) {
  return (
    <dl className="facts counts">
      {counted.map(([name, field]) => (
        <div key={field}>
          <dt>{name}</dt>
          <dd>{record[field] === undefined ? 'not known' : formatCount(record[field])}</dd>
        </div>
      ))}
    </dl>
  )
}
