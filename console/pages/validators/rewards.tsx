// Rewards and penalties of a validator: a plot over time, and tables of the range that are exact to the gwei.
import { useMemo } from 'preact/compat'
import type { InputOf } from '#api/client/client.ts'
import type { AggregateRecord } from '#api/contract/wire/validators.ts'
import { Card } from '../../parts/card.tsx'
import { Tabs } from '../../parts/controls.tsx'
import { Facts } from '../../parts/facts.tsx'
import { formatCount, gwei } from '../../parts/format.ts'
import { type Line, Plot } from '../../parts/plot.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { go } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { type ChainClock, unixOf } from './chain-clock.ts'
import { Figures } from './figures.tsx'
import { rewardStatement, type StatementPart, scaleOf } from './reward-statement.ts'
import { type PartName, partNames, queryOf, type ValidatorsView } from './view.ts'

interface RewardsProps {
  readonly index: number
  readonly view: ValidatorsView
  readonly days: { readonly startDay: number; readonly endDay: number }
  readonly clock: ChainClock
}

export function Rewards({ index, view, days, clock }: RewardsProps) {
  const input: InputOf<'validators.aggregateEffectiveness'> = {
    indices: [index],
    network: view.network,
    groupBy: 'timeWindow',
    filterType: 'day',
    from: days.endDay,
    to: days.startDay,
  }
  const total = useEndpoint(
    'validators.aggregateEffectiveness',
    { ...input, granularity: 'all', size: 1 },
    { keepPrevious: true },
  )
  const granularity = view.granularity === 'hour' ? 'day' : view.granularity
  const windows = useEndpoint(
    'validators.aggregateEffectiveness',
    { ...input, granularity, size: 1000 },
    { keepPrevious: true },
  )
  return (
    <Card id="rewards" title="Rewards and penalties">
      <p className="small soft">
        Chain days {days.startDay} to {days.endDay}. Amounts are always summed by chain days.
      </p>
      <QueryResult of={total}>
        {({ reply: { data } }) =>
          data[0] ? <RewardTotals record={data[0]} /> : <p className="note">No duties in these days.</p>
        }
      </QueryResult>
      <Tabs
        name="Plotted amounts"
        value={view.part}
        options={partNames}
        labels={partLabels}
        onChoose={(part) => go('validators', [index], queryOf({ ...view, part }))}
      />
      <QueryResult of={windows}>
        {({ reply }) => <AmountPlot records={reply.data} part={view.part} clock={clock} windows={granularity} />}
      </QueryResult>
      {total.data?.reply.data[0] && <RewardTables record={total.data.reply.data[0]} />}
    </Card>
  )
}

const partLabels: Readonly<Record<PartName, string>> = {
  consensus: 'Consensus rewards',
  execution: 'Execution rewards',
  penalties: 'Penalties',
  missed: 'Missed rewards',
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
    const { unit, toAxisNumber } = scaleOf(statements.flat().map(({ gwei }) => gwei))
    const lines: Line[] = (statements[0] ?? [])
      .map(({ name }, index) => ({ label: name, values: statements.map((items) => toAxisNumber(items[index]?.gwei)) }))
      // A line that is zero throughout would only cover the axis.
      .filter(({ values }) => values.some((value) => value !== null && value !== 0))
    return { lines, unit, xs: ascending.map(({ startEpoch }) => unixOf(clock, Number(startEpoch))) }
  }, [records, part, clock])
  if (lines.length === 0) return <p className="note">{partLabels[part]}: none in these days.</p>
  return (
    <>
      <p className="small soft">
        Per {windows}, in {unit}:
      </p>
      <Plot key={unit} title={`${partLabels[part]} per ${windows}, ${unit}`} xs={xs} lines={lines} />
    </>
  )
}

function RewardTotals({ record }: { readonly record: AggregateRecord }) {
  const { earnings, all } = rewardStatement(record)
  return (
    <Figures
      isWide
      of={{
        'Balance change': [amount(earnings), 'without deposits and withdrawals'],
        'Including fees and MEV': [amount(all), 'balance change and execution rewards'],
      }}
    />
  )
}

function RewardTables({ record }: { readonly record: AggregateRecord }) {
  const statement = rewardStatement(record)
  const counts = countFields.map(([name, field]) => [name, formatCountOrUnknown(record[field])])
  return (
    <>
      <div className="sheet">
        {partNames.map((name) => (
          <PartTable key={name} title={partLabels[name]} part={statement[name]} />
        ))}
      </div>
      <details>
        <summary>Show counts</summary>
        <Facts className="counts" of={Object.fromEntries(counts)} />
      </details>
    </>
  )
}

const formatCountOrUnknown = (value: number | bigint | undefined): string =>
  value === undefined ? 'unknown' : formatCount(value)

const amount = (value: bigint | undefined): string => (value === undefined ? 'unknown' : gwei(value, 9))

function PartTable({ title, part }: { readonly title: string; readonly part: StatementPart }) {
  return (
    <div>
      <table>
        <caption>{title}</caption>
        <tbody>
          {part.items.map(({ name, gwei: value }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className={value === 0n ? 'num soft' : 'num'}>{amount(value)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <td className="num">{amount(part.total)}</td>
          </tr>
        </tfoot>
      </table>
      {part.total === undefined && (
        <p className="small soft">
          Unknown, because the server had no execution node on some of these days, or because a block may have paid a
          validator without a withdrawal address.
        </p>
      )}
    </div>
  )
}

const countFields = [
  ['Attestations due', 'totalAttestationAssignments'],
  ['Attestations included', 'totalUniqueAttestations'],
  ['Missed attestations', 'sumMissedAttestations'],
  ['Wrong head', 'sumWrongHeadVotes'],
  ['Wrong target', 'sumWrongTargetVotes'],
  ['Late source', 'sumLateSourceVotes'],
  ['Late target', 'sumLateTargetVotes'],
  ['Blocks due', 'proposerDutiesCount'],
  ['Blocks proposed', 'proposedCount'],
  ['Blocks with an empty payload', 'executionProposedEmptyCount'],
  ['Sync signatures', 'syncSignatureCount'],
  ['Slashings reported', 'slashesCollected'],
  ['Slashings received', 'slashesReceived'],
] as const
