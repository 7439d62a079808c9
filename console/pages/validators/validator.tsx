// The page of one validator: a verdict, effectiveness over time, duties of a day, rewards, then who it is.
import { useMemo } from 'preact/compat'
import type { Network } from '#api/contract/wire/networks.ts'
import type { ValidatorMetadata } from '#api/contract/wire/validators-metadata.ts'
import { validatorStatus } from '#shared/validator-status.ts'
import { isNotFound } from '../../parts/failures.ts'
import { shortenHex } from '../../parts/format.ts'
import { Links } from '../../parts/links.tsx'
import { Failure, QueryResult } from '../../parts/query-result.tsx'
import { go, hrefOf } from '../../route.ts'
import { useRemember } from '../../search/recent.ts'
import { type QueryReply, useEndpoint } from '../../use-endpoint.ts'
import { Calendar } from './calendar.tsx'
import { clockOf } from './chain-clock.ts'
import { NetworkChoice } from './controls.tsx'
import { CurrentDuties } from './current-duties.tsx'
import { Day } from './day.tsx'
import { Identity, ValidatorAddresses } from './identity.tsx'
import { DutyCounts, Income } from './income.tsx'
import { WatchButton } from './mine.tsx'
import { NetworkComparison } from './network-comparison.tsx'
import { OverTime, type OverTimeProps } from './over-time.tsx'
import { StatusBadge } from './status-badge.tsx'
import { useNetworks } from './use-networks.ts'
import { type Slashing, slashingIn } from './verdict.ts'
import { VerdictCard } from './verdict-card.tsx'
import { boundsOf, queryOf, type ValidatorsView } from './view.ts'

/** `id` is an index or a public key. */
export function Validator({ id, view }: { readonly id: string; readonly view: ValidatorsView }) {
  const metadata = useEndpoint('validators.metadata', { validator_index_or_pubkey: id, network: view.network })
  return (
    <>
      <p className="small">
        <a href={hrefOf('validators', [], { network: view.network })}>Validators</a> / {view.network}
      </p>
      {!isNotFound(metadata.error) && <Heading id={id} metadata={metadata.data} view={view} />}
      <QueryResult
        of={metadata}
        failure={(error) =>
          isNotFound(error) ? <ValidatorNotFound id={id} network={view.network} /> : <Failure error={error} />
        }
      >
        {({ reply, meta }) => (
          <>
            <p className="lead">
              Effectiveness, duties, rewards and operator of this validator,{' '}
              {meta?.finality === 'head'
                ? `up to epoch ${meta.asOf}. The newest epochs are not final.`
                : 'from finalized epochs.'}
            </p>
            <FoundValidator metadata={reply} view={view} />
          </>
        )}
      </QueryResult>
    </>
  )
}

function ValidatorNotFound({ id, network }: { readonly id: string; readonly network: Network }) {
  const others = useNetworks().filter((other) => other !== network)
  return (
    <>
      <h1>Validator {id} not found</h1>
      <p>
        This server has no validator {id} on {network}. Try{' '}
        <Links of={others.map((other) => ({ label: other, href: hrefOf('validators', [id], { network: other }) }))} />,
        or <a href={hrefOf('validators', [], { network })}>search for another validator</a>.
      </p>
    </>
  )
}

interface HeadingProps {
  /** An index or a public key. */
  readonly id: string
  /** Undefined while it loads. */
  readonly metadata: QueryReply<ValidatorMetadata> | undefined
  readonly view: ValidatorsView
}

/** Undefined while it loads. */
function useSlashing(network: Network, index: number | undefined): Slashing | undefined {
  const input = { network, indices: index === undefined ? [] : [index] }
  const { data } = useEndpoint('validators.income', input, { isEnabled: index !== undefined })
  return data && slashingIn(data.reply)
}

/** The same heading while the page loads and afterwards, because it has the focus. */
function Heading({ id, metadata, view }: HeadingProps) {
  const { reply, meta } = metadata ?? {}
  const index = reply?.validatorIndex
  // The last epoch that was read; NaN if none was.
  const asOf = Number(meta?.asOf)
  const slashing = useSlashing(view.network, index)
  return (
    <div className="spread">
      <h1>
        Validator {index ?? shortenHex(id)}{' '}
        {reply && !Number.isNaN(asOf) && (
          <StatusBadge status={validatorStatus(reply, asOf)} isSlashed={slashing !== undefined} />
        )}
      </h1>
      {index !== undefined && (
        <div className="row">
          <NetworkChoice view={view} onView={(newView) => go('validators', [index], queryOf(newView))} />
          <WatchButton index={index} view={view} />
          <a href={hrefOf('validators', ['compare'], { network: view.network, of: index })}>Compare with others</a>
        </div>
      )}
    </div>
  )
}

interface FoundValidatorProps {
  readonly metadata: ValidatorMetadata
  readonly view: ValidatorsView
}

function FoundValidator({ metadata, view }: FoundValidatorProps) {
  const { validatorIndex: index } = metadata
  const { network } = view
  useRemember({
    kind: 'Validator',
    label: `Validator ${index} on ${network}`,
    href: hrefOf('validators', [index], { network }),
  })
  const newest = useEndpoint('validators.effectiveness', {
    validator_index_or_pubkey: index,
    network,
    utc: view.utc,
    sortOrder: 'desc',
    limit: 1,
  })
  const record = newest.data?.reply.results[0]
  const clock = useMemo(() => record && clockOf(record), [record])
  return (
    <>
      <QueryResult of={newest}>
        {({ reply: { results } }) => {
          const date = results[0]?.date ?? results[0]?.startDate
          return date ? (
            <History index={index} view={view} newest={date} />
          ) : (
            <p className="note">
              No duties of this validator are stored yet. It may not have been active in the epochs that this server has
              read.
            </p>
          )
        }}
      </QueryResult>
      <div className="cards">
        <Identity metadata={metadata} network={network} clock={clock} />
        <ValidatorAddresses metadata={metadata} network={network} />
      </div>
    </>
  )
}

/** The day that the address names, then the verdict, then what it is based on. */
function History(props: OverTimeProps) {
  const { index, view, newest } = props
  const bounds = boundsOf(view, newest)
  const slashing = useSlashing(view.network, index)
  return (
    <>
      {view.day !== undefined && <Day index={index} view={view} day={view.day} />}
      <VerdictCard {...props} slashing={slashing} />
      <OverTime {...props} />
      <CurrentDuties index={index} network={view.network} />
      <NetworkComparison index={index} view={view} />
      <Calendar {...props} />
      <Income
        input={{ network: view.network, indices: [index], ...bounds }}
        onDay={(day) => go('validators', [index], queryOf({ ...view, utc: true, day }))}
      />
      <DutyCounts
        input={{
          ...{ network: view.network, indices: [index], granularity: 'all', size: 1 },
          ...(bounds.toDate && { from: bounds.toDate }),
          ...(bounds.fromDate && { to: bounds.fromDate }),
        }}
      />
    </>
  )
}
