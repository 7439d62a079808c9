// The first funding of one address, as 4.3 answers it, with the name that the trail knows for it.
import type { UseQueryResult } from '@tanstack/react-query'
import { ExplorerError, type ReplyOf } from '#api/client.ts'
import type { Trail } from '#api/wire/trail.ts'
import type { QueryReply } from '../../calls.ts'
import { coins } from '../../parts/chains.ts'
import { formatCount, formatDuration, formatTime } from '../../parts/format.ts'
import { useChains } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { Confidence } from './confidence.tsx'
import { ExplorerErrorNotice } from './error-notice.tsx'
import { LabelName } from './label-name.tsx'

type FundingReply = QueryReply<ReplyOf<'explorer.fundedBy'>>

interface FundingProps {
  readonly chain: string
  readonly query: UseQueryResult<FundingReply>
  /** What else is known of the address. */
  readonly trail: QueryReply<{ readonly result: Trail }> | undefined
}

export function Funding({ chain, query, trail }: FundingProps) {
  const label = trail?.reply.result.label
  return (
    <section className="card" aria-labelledby="funding-title">
      <h2 id="funding-title">First funding</h2>
      {label && (
        <p>
          This is <LabelName label={label} />.
        </p>
      )}
      {query.data ? (
        <Facts chain={chain} {...query.data} />
      ) : query.error ? (
        <FundingMissing chain={chain} error={query.error} meta={trail?.meta} />
      ) : (
        <p className="busy" role="status">
          Looking it up; an address that was never asked for may take some seconds…
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
      <dt>Value</dt>
      <dd>
        <strong>{coins(chain, value, 18)}</strong>
      </dd>
      <dt>When</dt>
      <dd>
        {formatTime(Number(timeStamp))} <span className="soft">· {formatDuration(agoSeconds)} ago</span>
      </dd>
      <dt>Block</dt>
      <dd>{formatCount(block)}</dd>
      <dt>Transaction</dt>
      <dd className="mono">{fundingTxn}</dd>
      <dt>How sure</dt>
      <dd>
        <Confidence meta={meta} />
      </dd>
    </dl>
  )
}

interface MissingProps {
  readonly chain: string
  readonly error: Error
  /** Of the trail, which ends where it starts and says how much has been read. */
  readonly meta: QueryReply<unknown>['meta']
}

function FundingMissing({ chain, error, meta }: MissingProps) {
  const chains = useChains()
  if (!(error instanceof ExplorerError && error.notFound))
    return <ExplorerErrorNotice error={error} chain={chain} chains={chains} />
  return (
    <>
      <p className="note">
        Never funded: no transfer of the chain’s own coin has come in to this address. Token transfers, genesis
        allocations, block rewards and withdrawals do not count, because they have no funding transaction.
      </p>
      <p className="small">
        <Confidence meta={meta} />
      </p>
      <OtherChains chain={chain} chains={chains} />
    </>
  )
}

/** An address may live on another chain. */
function OtherChains({
  chain,
  chains = [],
}: {
  readonly chain: string
  readonly chains?: readonly string[] | undefined
}) {
  if (!chains.some((id) => id !== chain)) return null
  return <p className="soft">Addresses look the same on every chain: try another one in the list above.</p>
}
