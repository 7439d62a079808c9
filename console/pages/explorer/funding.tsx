// The first funding of an address (endpoint explorer.fundedBy), with the label that the trail contains.
import type { UseQueryResult } from '@tanstack/preact-query'
import { ExplorerError, type ReplyOf } from '#api/client/client.ts'
import type { Trail } from '#api/contract/wire/trail.ts'
import { AddressLink } from '../../parts/address-link.tsx'
import { Card } from '../../parts/card.tsx'
import { coins } from '../../parts/chains.ts'
import { Facts } from '../../parts/facts.tsx'
import { formatCount, formatDuration, formatTime } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { useChains } from '../../parts/use-chains.ts'
import type { QueryReply } from '../../use-endpoint.ts'
import { Confidence } from './confidence.tsx'
import { ExplorerErrorNotice } from './error-notice.tsx'
import { TransactionLink } from './funding-table.tsx'
import { LabelName } from './label-name.tsx'

type FundingReply = QueryReply<ReplyOf<'explorer.fundedBy'>>

interface FundingProps {
  readonly chain: string
  readonly query: UseQueryResult<FundingReply>
  /** Contains the label of the address. */
  readonly trail: QueryReply<{ readonly result: Trail }> | undefined
}

export function Funding({ chain, query, trail }: FundingProps) {
  const label = trail?.reply.result.label
  return (
    <Card id="funding-title" title="First funding">
      {label && (
        <p>
          Label: <LabelName label={label} />
        </p>
      )}
      <QueryResult
        of={query}
        waiting="Searching. The first search for an address can take some seconds…"
        failure={(error) => <FundingMissing chain={chain} error={error} meta={trail?.meta} />}
      >
        {(data) => <FundingFacts chain={chain} {...data} />}
      </QueryResult>
    </Card>
  )
}

function FundingFacts({ chain, reply, meta }: FundingReply & { readonly chain: string }) {
  const { block, timeStamp, fundingAddress, fundingTxn, value } = reply.result
  const agoSeconds = Math.max(0, Math.floor(Date.now() / 1000) - Number(timeStamp))
  return (
    <Facts
      of={{
        'Funded by': <AddressLink chain={chain} address={fundingAddress} isFull />,
        Amount: <strong>{coins(chain, value, 18)}</strong>,
        Time: (
          <>
            {formatTime(Number(timeStamp))} <span className="soft">· {formatDuration(agoSeconds)} ago</span>
          </>
        ),
        Block: formatCount(block),
        Transaction: <TransactionLink hash={fundingTxn} isFull />,
        Confidence: <Confidence meta={meta} />,
      }}
    />
  )
}

interface MissingProps {
  readonly chain: string
  readonly error: unknown
  /** Confidence headers of the trail; an error response of the first funding has none. */
  readonly meta: QueryReply<unknown>['meta']
}

function FundingMissing({ chain, error, meta }: MissingProps) {
  const otherChains = useChains()?.filter((id) => id !== chain) ?? []
  if (!(error instanceof ExplorerError && error.notFound)) return <ExplorerErrorNotice error={error} chain={chain} />
  return (
    <>
      <p className="note">
        Not funded: this address has not received a transfer of the chain’s native coin. Token transfers, genesis
        balances, block rewards and withdrawals do not count, because they have no funding transaction.
      </p>
      <p className="small">
        <Confidence meta={meta} />
      </p>
      {otherChains.length > 0 && (
        <p className="soft">Addresses have the same format on every chain. Try another chain in the list above.</p>
      )}
    </>
  )
}
