// The page of a transaction: the addresses that it funded first.
import type { TransactionView } from '#shared/console-calls.ts'
import { Card } from '../../parts/card.tsx'
import { Facts, Mono } from '../../parts/facts.tsx'
import { formatCount, formatTime, shortenHex } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { useChainName } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { useRemember } from '../../search/recent.ts'
import { FundingTable } from './funding-table.tsx'
import { useTransaction } from './lookups.ts'

export function Transaction({ hash }: { readonly hash: string }) {
  const query = useTransaction(hash)
  return (
    <>
      <p className="small">
        <a href={hrefOf('explorer')}>Explorer</a> / Transaction
      </p>
      <h1>Transaction {shortenHex(hash)}</h1>
      <QueryResult
        of={query}
        waiting="Searching…"
        notFound={
          <>
            This transaction is not stored. The server stores a transaction if it was the first to fund an address, and
            if its block has been read or the address has been searched. Transactions of finalized blocks are found only
            if the server has <code>explorer.reverseLookups: true</code>.
          </>
        }
      >
        {(transaction) => <TransactionDetails transaction={transaction} />}
      </QueryResult>
    </>
  )
}

function TransactionDetails({ transaction }: { readonly transaction: TransactionView }) {
  const { hash, fundings, hasMore } = transaction
  useRemember({
    kind: 'Transaction',
    label: `Transaction ${shortenHex(hash)}`,
    href: hrefOf('explorer', ['tx', hash]),
  })
  const chainName = useChainName()
  const chains = [...new Set(fundings.map(({ chainid }) => chainid))]
  const [first] = fundings
  return (
    <>
      <Card id="transaction-facts" title="Block">
        <Facts
          of={{
            Hash: <Mono text={hash} />,
            Chain: chains.map(chainName).join(', '),
            // The same hash can be on two chains, if they share a past.
            ...(first && chains.length === 1 && { Block: formatCount(first.block) }),
            ...(first && chains.length === 1 && { Time: formatTime(Number(first.timeStamp)) }),
          }}
        />
      </Card>
      <Card id="transaction-fundings" title="Addresses funded first">
        <p className="soft">
          The earliest known transfer to each of these addresses is in this transaction. Other transfers are not stored.
        </p>
        <FundingTable name="First fundings in this transaction" fundings={fundings} hasTransactions={false} />
        {hasMore && <p className="soft small">Only the first {fundings.length} addresses are shown.</p>}
      </Card>
    </>
  )
}
