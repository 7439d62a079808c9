// The income statement of one or several validators: a plot, and a table whose columns add up to the change of the balance.
import type { InputOf, ReplyOf } from '#api/client/client.ts'
import type { AggregateField } from '#api/contract/wire/validators.ts'
import { incomeCsv } from '#shared/income-csv.ts'
import { Card } from '../../parts/card.tsx'
import { download } from '../../parts/download.ts'
import { Facts } from '../../parts/facts.tsx'
import { formatCount, formatUnits, gwei } from '../../parts/format.ts'
import { type Line, Plot } from '../../parts/plot.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useEndpoint } from '../../use-endpoint.ts'

type Statement = ReplyOf<'validators.income'>
type Amounts = Statement['total']

interface IncomeProps {
  readonly input: InputOf<'validators.income'>
  /** Called with the number of a UTC day. */
  readonly onDay?: ((day: number) => void) | undefined
}

export function Income({ input, onDay }: IncomeProps) {
  const query = useEndpoint('validators.income', input, { keepPrevious: true })
  return (
    <Card id="income" title="Income">
      <p className="small soft">
        UTC days, final epochs only, in ETH. The columns explain the change of the balance to the gwei.
      </p>
      <QueryResult of={query}>
        {({ reply }) =>
          reply.days.length === 0 ? (
            <p className="note">No income in these days.</p>
          ) : (
            <>
              <IncomePlot days={reply.days} onDay={onDay} />
              <IncomeTable statement={reply} name={`income-${input.network}`} />
            </>
          )
        }
      </QueryResult>
    </Card>
  )
}

function IncomePlot({ days, onDay }: { readonly days: Statement['days'] } & Pick<IncomeProps, 'onDay'>) {
  const lines: Line[] = paidColumns
    .map(([label, field]) => ({ label, values: days.map((day) => Number(day[field]) / 1e9) }))
    // A line that is zero throughout would only cover the axis.
    .filter(({ values }) => values.some((value) => value !== 0))
  return (
    <Plot
      title="Income per day, ETH"
      xs={days.map(({ date }) => Date.parse(date) / 1000)}
      lines={lines}
      {...(onDay && { onPick: (at: number) => onDay(days[at]?.day ?? 0) })}
    />
  )
}

/** They add up to the earnings. */
const paidColumns = [
  ['Attestations', 'attestationRewards'],
  ['Sync committee', 'syncRewards'],
  ['Blocks', 'blockRewards'],
  ['Penalties', 'penalties'],
  ['Slashing', 'slashings'],
  ['Paid on another day', 'shift'],
] as const satisfies readonly (readonly [string, keyof Amounts])[]

const columns = [
  ...paidColumns,
  ['Earnings', 'earnings'],
  ['Deposits', 'deposits'],
  ['Consolidations', 'consolidations'],
  ['Withdrawals', 'withdrawals'],
  ['Balance change', 'balanceChange'],
  ['Fees and MEV', 'execution'],
] as const satisfies readonly (readonly [string, keyof ShownAmounts])[]

const isAlways = new Set<keyof ShownAmounts>(['earnings', 'balanceChange'])

interface ShownAmounts extends Omit<Amounts, 'priorityFees' | 'mev'> {
  /** They are not part of the balance. */
  readonly execution: bigint | null
}

const withExecution = <A extends Amounts>(amounts: A): A & ShownAmounts => {
  const { priorityFees, mev } = amounts
  return { ...amounts, execution: priorityFees === null || mev === null ? null : BigInt(priorityFees) + BigInt(mev) }
}

const amount = (value: number | bigint | null): string => (value === null ? 'unknown' : formatUnits(value, 9, 9, 9))

function IncomeTable({ statement, name }: { readonly statement: Statement; readonly name: string }) {
  const { days, total } = statement
  const rows = [{ ...withExecution(total), date: 'All days' }, ...days.map(withExecution).toReversed()]
  const shown = columns.filter(([, field]) => isAlways.has(field) || rows.some((row) => Number(row[field] ?? 1) !== 0))
  return (
    <>
      <Table
        name="Income of each day"
        className="stacked many tight"
        hasRowHeaders
        rows={rows}
        columns={[
          ['Date', ({ date }) => date],
          ...shown.map(([title, field]): Column<(typeof rows)[number]> => [title, (row) => amount(row[field]), 'num']),
        ]}
      />
      <div className="downloads">
        <button type="button" onClick={() => download(`${name}.csv`, 'text/csv', incomeCsv(days))}>
          Download {days.length === 1 ? '1 day' : `${days.length} days`} as CSV
        </button>
      </div>
    </>
  )
}

/** What the penalties and the missed rewards of a validator are made of. */
export function DutyCounts({ input }: { readonly input: InputOf<'validators.aggregateEffectiveness'> }) {
  const query = useEndpoint('validators.aggregateEffectiveness', input, { keepPrevious: true })
  return (
    <QueryResult of={query}>
      {({ reply: { data } }) =>
        data[0] && (
          <details>
            <summary>Show counts, penalties and missed rewards by cause</summary>
            <Facts
              className="counts"
              of={Object.fromEntries(
                countFields.map(([name, field]) => {
                  const value = data[0]?.[field]
                  const isAmount = /Penalties|Rewards/.test(field)
                  return [name, value == null ? 'unknown' : isAmount ? gwei(value, 9) : formatCount(value)]
                }),
              )}
            />
          </details>
        )
      }
    </QueryResult>
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
  ['Penalties for missed attestations', 'sumMissedAttestationPenalties'],
  ['Penalties for late source votes', 'sumLateSourcePenalties'],
  ['Penalties for late target votes', 'sumLateTargetPenalties'],
  ['Penalties for wrong target votes', 'sumWrongTargetPenalties'],
  ['Penalties for sync signatures', 'sumSyncCommitteePenalties'],
  ['Missed attestation rewards', 'sumMissedAttestationRewards'],
  ['Missed sync rewards', 'sumMissedSyncCommitteeRewards'],
  ['Missed block rewards', 'sumMissedConsensusBlockRewards'],
  ['Missed execution rewards', 'sumMissedExecutionRewards'],
] as const satisfies readonly (readonly [string, AggregateField])[]
