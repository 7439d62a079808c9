// Stored first fundings as a table: who was funded, by whom, when and how much.

import type { AddressLabel } from '#api/contract/wire/trail.ts'
import type { StoredFunding } from '#shared/console-calls.ts'
import { AddressLink } from '../../parts/address-link.tsx'
import { coins } from '../../parts/chains.ts'
import { formatTime, shortenHex } from '../../parts/format.ts'
import { type Column, Table } from '../../parts/table.tsx'
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
  const lastColumn: Column<StoredFunding> = hasTransactions
    ? ['Transaction', ({ fundingTxn }) => <TransactionLink hash={fundingTxn} />]
    : ['Finality', ({ finality }) => (finality === 'head' ? 'not finalized' : 'finalized')]
  return (
    <Table
      name={name}
      className="stacked"
      rows={fundings}
      columns={[
        [
          'Funded address',
          ({ chainid, address, label }) => <LabelledAddress {...{ chain: chainid, address, label }} />,
        ],
        [
          'Funded by',
          ({ chainid, fundingAddress, funderLabel }) => (
            <LabelledAddress chain={chainid} address={fundingAddress} label={funderLabel} />
          ),
        ],
        ['Amount', ({ chainid, value }) => coins(chainid, value, 6, 6), 'num'],
        ['Time', ({ timeStamp }) => formatTime(Number(timeStamp)), 'nowrap'],
        ['Chain', ({ chainid }) => chainName(chainid)],
        lastColumn,
      ]}
    />
  )
}

export const TransactionLink = ({ hash, isFull = false }: { readonly hash: string; readonly isFull?: boolean }) => (
  <a className="mono" href={hrefOf('explorer', ['tx', hash])} title={hash}>
    {isFull ? hash : shortenHex(hash)}
  </a>
)

interface LabelledAddressProps {
  readonly chain: string
  readonly address: string
  readonly label: AddressLabel | undefined
}

export const LabelledAddress = ({ chain, address, label }: LabelledAddressProps) => (
  <>
    {label && <div>{label.name}</div>}
    <AddressLink chain={chain} address={address} />
  </>
)
