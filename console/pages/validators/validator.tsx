// One validator: who is behind it, how well it did over time, what happened on a bad day, and what it earned.
import { Fragment, useMemo } from 'react'
import { TetradError } from '#api/client.ts'
import type { Network, ValidatorMetadata } from '#api/wire/validators.ts'
import { useEndpoint } from '../../calls.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { go, hrefOf } from '../../route.ts'
import { clockOf, validatorStatus } from './chain-clock.ts'
import { NetworkChoice } from './controls.tsx'
import { Day } from './day.tsx'
import { Identity, MoneyBehind } from './identity.tsx'
import { OverTime } from './over-time.tsx'
import { Rewards } from './rewards.tsx'
import { StatusBadge } from './status-badge.tsx'
import { boundsOf, networks, queryOf, type ValidatorsView } from './view.ts'

/** Index or public key. */
export function One({ id, look: view }: { readonly id: string; readonly look: ValidatorsView }) {
  const metadata = useEndpoint('validators.metadata', { validator_index_or_pubkey: id, network: view.network })
  return (
    <>
      <p className="small">
        <a href={hrefOf('validators', [], { network: view.network })}>Validators</a> / {view.network}
      </p>
      {metadata.error instanceof TetradError && metadata.error.notFound ? (
        <Unknown id={id} network={view.network} />
      ) : (
        <QueryResult of={metadata}>
          {({ reply, meta }) => <KnownValidator metadata={reply} asOf={Number(meta?.asOf)} view={view} />}
        </QueryResult>
      )}
    </>
  )
}

function Unknown({ id, network }: { readonly id: string; readonly network: Network }) {
  return (
    <>
      <h1>No validator {id} here</h1>
      <p>
        This server knows no such validator on {network}. Look on{' '}
        {networks
          .filter((other) => other !== network)
          .map((other) => (
            <Fragment key={other}>
              <a href={hrefOf('validators', [id], { network: other })}>{other}</a>,{' '}
            </Fragment>
          ))}
        or <a href={hrefOf('validators', [], { network })}>search for another one</a>.
      </p>
    </>
  )
}

interface KnownProps {
  readonly metadata: ValidatorMetadata
  /** The last epoch that was read; not a number when none was. */
  readonly asOf: number
  readonly view: ValidatorsView
}

function KnownValidator({ metadata, asOf, view }: KnownProps) {
  const { validatorIndex: index } = metadata
  const { network } = view
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
      <div className="spread">
        <h1>
          Validator {index} {!Number.isNaN(asOf) && <StatusBadge standing={validatorStatus(metadata, asOf)} />}
        </h1>
        <div className="row">
          <NetworkChoice view={view} onView={(other) => go('validators', [index], queryOf(other))} />
          <a href={hrefOf('validators', ['compare'], { network, of: index })}>Compare with others</a>
        </div>
      </div>
      <p className="lead">
        How well it did its duties, from finalized epochs only; what it earned, and who stands behind it.
      </p>
      <div className="cards">
        <Identity metadata={metadata} network={network} clock={clock} />
        <MoneyBehind metadata={metadata} network={network} />
      </div>
      <QueryResult of={newest}>
        {({ reply: { results } }) =>
          results[0]?.startDate ? (
            <>
              <OverTime index={index} view={view} newest={results[0].date ?? results[0].startDate} />
              {view.day !== undefined && <Day index={index} view={view} day={view.day} />}
              <RewardsOf index={index} view={view} newest={results[0].date ?? results[0].startDate} />
            </>
          ) : (
            <p className="note">
              Nothing has been read about its duties yet: it may not have been active in the days that are here.
            </p>
          )
        }
      </QueryResult>
    </>
  )
}

interface RewardsOfProps {
  readonly index: number
  readonly view: ValidatorsView
  readonly newest: string
}

/** Amounts go by chain days: which ones lie in the range is asked first. */
function RewardsOf({ index, view, newest }: RewardsOfProps) {
  const whole = useEndpoint(
    'validators.effectiveness',
    {
      validator_index_or_pubkey: index,
      network: view.network,
      utc: false,
      ...boundsOf(view, newest),
      granularity: 'all',
      limit: 1,
    },
    { keepPrevious: true },
  )
  const record = whole.data?.reply.results[0]
  const clock = useMemo(() => record && clockOf(record), [record])
  if (!record || !clock || record.startDay === null || record.endDay === null)
    return <QueryResult of={whole}>{() => null}</QueryResult>
  const days = { startDay: record.startDay, endDay: record.endDay }
  return <Rewards index={index} view={view} days={days} clock={clock} />
}
