// The first funding of an address (endpoint explorer.fundedBy), with the label that the trail contains.
import type { UseQueryResult } from '@tanstack/react-query'
import { ExplorerError, type ReplyOf } from '#api/client.ts'
import type { Trail } from '#api/wire/trail.ts'
import { coins } from '../../parts/chains.ts'
import { formatCount, formatDuration, formatTime } from '../../parts/format.ts'
import { useChains } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import type { QueryReply } from '../../use-endpoint.ts'
import { Confidence } from './confidence.tsx'
import { ExplorerErrorNotice } from './error-notice.tsx'
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
    <section className="card" aria-labelledby="funding-title">
      <h2 id="funding-title">First funding</h2>
      {label && (
        <p>
          Label: <LabelName label={label} />
        </p>
      )}
      {query.data ? (
        <Facts chain={chain} {...query.data} />
      ) : query.error ? (
        <FundingMissing chain={chain} error={query.error} meta={trail?.meta} />
      ) : (
        <p className="busy" role="status">
          Searching. The first search for an address can take some seconds…
        </p>
      )}
    </section>
  )
}

function Facts({ chain, reply, meta }: FundingReply & { readonly chain: string }) {
  const { block, timeStamp, fundingAddress, fundingTxn, value } = reply.result
  const agoSeconds = Math.max(0, Math.floor(Date.now() / 1000) - Number(timeStamp))
  return (
    <dl className="facts">
      <dt>Funded by</dt>
      <dd>
        <a className="mono" href={hrefOf('explorer', [chain, fundingAddress])}>
          {fundingAddress}
        </a>
      </dd>
      <dt>Amount</dt>
      <dd>
        <strong>{coins(chain, value, 18)}</strong>
      </dd>
      <dt>Time</dt>
      <dd>
        {formatTime(Number(timeStamp))} <span className="soft">· {formatDuration(agoSeconds)} ago</span>
      </dd>
      <dt>Block</dt>
      <dd>{formatCount(block)}</dd>
      <dt>Transaction</dt>
      <dd className="mono">{fundingTxn}</dd>
      <dt>Confidence</dt>
      <dd>
        <Confidence meta={meta} />
      </dd>
    </dl>
  )
}

interface MissingProps {
  readonly chain: string
  readonly error: Error
  /** Confidence headers of the trail; an error response of the first funding has none. */
  readonly meta: QueryReply<unknown>['meta']
}

function FundingMissing({ chain, error, meta }: MissingProps) {
  const chains = useChains()
  if (!(error instanceof ExplorerError && error.notFound))
    return <ExplorerErrorNotice error={error} chain={chain} chains={chains} />
  return (
    <>
      <p className="note">
        Not funded: this address has not received a transfer of the chain’s native coin. Token transfers, genesis
        balances, block rewards and withdrawals do not count, because they have no funding transaction.
      </p>
      <p className="small">
        <Confidence meta={meta} />
      </p>
      <OtherChains chain={chain} chains={chains} />
    </>
  )
}

/** The address may be in use on another chain. */
function OtherChains({
  chain,
  chains = [],
}: {
  readonly chain: string
  readonly chains?: readonly string[] | undefined
}) {
  if (!chains.some((id) => id !== chain)) return null
  return <p className="soft">Addresses have the same format on every chain. Try another chain in the list above.</p>
}
