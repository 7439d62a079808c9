// The income statement of one or several validators: a table of the last days, and all days as CSV.
import { useState } from 'preact/compat'
import type { ReplyOf } from '#api/client/client.ts'
import type { Network } from '#api/contract/wire/validators.ts'
import { incomeCsv } from '#shared/income-csv.ts'
import { Card } from '../../parts/card.tsx'
import { download } from '../../parts/download.ts'
import { gwei } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { useEndpoint } from '../../use-endpoint.ts'

type Statement = ReplyOf<'validators.income'>
type Amounts = Statement['total']

const shownDays = 31

/** Reading all days of many validators takes a while, so they are requested on demand. */
export function Income({ network, indices }: { readonly network: Network; readonly indices: readonly number[] }) {
  const [isShown, setShown] = useState(false)
  const input = { network, indices: [...indices] }
  const query = useEndpoint('validators.income', input, { isEnabled: isShown && indices.length > 0 })
  return (
    <Card id="income" title="Income by day">
      <p className="small soft">
        UTC days, final epochs only. Earnings, deposits and consolidations minus withdrawals are the change of the
        balance.
      </p>
      {isShown ? (
        <QueryResult of={query}>{({ reply }) => <IncomeTable statement={reply} network={network} />}</QueryResult>
      ) : (
        <button type="button" onClick={() => setShown(true)}>
          Show income
        </button>
      )}
    </Card>
  )
}

function IncomeTable({ statement, network }: { readonly statement: Statement; readonly network: Network }) {
  const { days, total } = statement
  if (days.length === 0) return <p className="note">No duties are stored yet.</p>
  return (
    <>
      <div className="downloads">
        <button type="button" onClick={() => download(`income-${network}.csv`, 'text/csv', incomeCsv(days))}>
          Download {days.length === 1 ? '1 day' : `all ${days.length} days`} as CSV
        </button>
      </div>
      <Scroll name="Income of each day">
        <table className="stacked many">
          <caption>{days.length > shownDays ? `The last ${shownDays} days, newest first` : 'Newest first'}</caption>
          <thead>
            <tr>
              <th scope="col">Date</th>
              {columns.map(({ name }) => (
                <th key={name} scope="col" className="num">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {days
              .slice(-shownDays)
              .toReversed()
              .map((day) => (
                <Row key={day.day} name={day.date} amounts={day} />
              ))}
            <Row name="All days" amounts={total} />
          </tbody>
        </table>
      </Scroll>
    </>
  )
}

const columns: readonly { readonly name: string; readonly of: (amounts: Amounts) => bigint | null }[] = [
  { name: 'Rewards', of: (day) => BigInt(day.attestationRewards) + BigInt(day.syncRewards) + BigInt(day.blockRewards) },
  { name: 'Penalties', of: (day) => BigInt(day.penalties) },
  { name: 'Earnings', of: (day) => BigInt(day.earnings) },
  {
    name: 'Fees and MEV',
    of: ({ priorityFees, mev }) => (priorityFees === null || mev === null ? null : BigInt(priorityFees) + BigInt(mev)),
  },
  { name: 'Deposits', of: (day) => BigInt(day.deposits) },
  { name: 'Withdrawals', of: (day) => BigInt(day.withdrawals) },
  { name: 'Consolidations', of: (day) => BigInt(day.consolidations) },
  { name: 'Balance change', of: (day) => BigInt(day.balanceChange) },
]

function Row({ name, amounts }: { readonly name: string; readonly amounts: Amounts }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      {columns.map((column) => {
        const value = column.of(amounts)
        return (
          <td key={column.name} className="num" data-label={column.name}>
            {value === null ? 'unknown' : gwei(value, 9)}
          </td>
        )
      })}
    </tr>
  )
}
