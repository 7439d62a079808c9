// Stored first fundings as a table: who was funded, by whom, when and how much.
import type { StoredFunding } from '#api/console.ts'
import type { AddressLabel } from '#api/wire/trail.ts'
import { coins } from '../../parts/chains.ts'
import { formatTime, shortenHex } from '../../parts/format.ts'
import { Table } from '../../parts/table.tsx'
import { useChainName } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'

interface FundingTableProps {
  readonly name: string
  readonly fundings: readonly StoredFunding[]
  /** Leave the column out where all rows have the same transaction. */
  readonly hasTransactions: boolean
}

export function FundingTable({ name, fundings, hasTransactions }: FundingTableProps) {
  const chainName = useChainName()
  return (
    <Table
      name={name}
      className="stacked"
      columns={[
        ...['Funded address', 'Funded by', 'Amount', 'Time', 'Chain'],
        ...(hasTransactions ? ['Transaction'] : ['Finality']),
      ]}
      figures={['Amount']}
    >
      {fundings.map((funding) => (
        <tr key={`${funding.chainid}/${funding.address}`}>
          <td>
            <AddressLink chain={funding.chainid} address={funding.address} label={funding.label} />
          </td>
          <td data-label="Funded by">
            <AddressLink chain={funding.chainid} address={funding.fundingAddress} label={funding.funderLabel} />
          </td>
          <td className="num" data-label="Amount">
            {coins(funding.chainid, funding.value)}
          </td>
          <td className="nowrap" data-label="Time">
            {formatTime(Number(funding.timeStamp))}
          </td>
          <td>{chainName(funding.chainid)}</td>
          <td data-label={hasTransactions ? 'Transaction' : 'Finality'}>
            {hasTransactions ? (
              <TransactionLink hash={funding.fundingTxn} />
            ) : funding.finality === 'head' ? (
              'not finalized'
            ) : (
              'finalized'
            )}
          </td>
        </tr>
      ))}
    </Table>
  )
}

export const TransactionLink = ({ hash, isFull = false }: { readonly hash: string; readonly isFull?: boolean }) => (
  <a className="mono" href={hrefOf('explorer', ['tx', hash])} title={hash}>
    {isFull ? hash : shortenHex(hash)}
  </a>
)

interface AddressLinkProps {
  readonly chain: string
  readonly address: string
  readonly label: AddressLabel | undefined
}

const AddressLink = ({ chain, address, label }: AddressLinkProps) => (
  <>
    {label && <div>{label.name}</div>}
    <a className="mono" href={hrefOf('explorer', [chain, address])} title={address}>
      {shortenHex(address)}
    </a>
  </>
)
