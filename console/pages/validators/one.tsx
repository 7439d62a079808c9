// One validator: who is behind it, how well it did over time, what happened on a bad day, and what it earned.
import { Fragment, useMemo } from 'react'
import { TetradError } from '#api/client.ts'
import type { Network, ValidatorMetadata } from '#api/wire/validators.ts'
import { useAsk } from '../../calls.ts'
import { Answer } from '../../parts/answer.tsx'
import { go, hrefOf } from '../../place.ts'
import { clockOf, standingOf } from './chain-clock.ts'
import { NetworkChoice } from './controls.tsx'
import { Day } from './day.tsx'
import { boundsOf, type Look, networks, queryOf } from './look.ts'
import { OverTime } from './over-time.tsx'
import { Rewards } from './rewards.tsx'
import { StandingBadge } from './standing.tsx'
import { MoneyBehind, Who } from './who.tsx'

/** Index or public key. */
export function One({ id, look }: { readonly id: string; readonly look: Look }) {
  const metadata = useAsk('validators.metadata', { validator_index_or_pubkey: id, network: look.network })
  return (
    <>
      <p className="small">
        <a href={hrefOf('validators', [], { network: look.network })}>Validators</a> / {look.network}
      </p>
      {metadata.error instanceof TetradError && metadata.error.notFound ? (
        <Unknown id={id} network={look.network} />
      ) : (
        <Answer of={metadata}>
          {({ reply, meta }) => <Known metadata={reply} asOf={Number(meta?.asOf)} look={look} />}
        </Answer>
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
  readonly look: Look
}

function Known({ metadata, asOf, look }: KnownProps) {
  const { validatorIndex: index } = metadata
  const { network } = look
  const newest = useAsk('validators.effectiveness', {
    validator_index_or_pubkey: index,
    network,
    utc: look.utc,
    sortOrder: 'desc',
    limit: 1,
  })
  const record = newest.data?.reply.results[0]
  const clock = useMemo(() => record && clockOf(record), [record])
  return (
    <>
      <div className="spread">
        <h1>
          Validator {index} {!Number.isNaN(asOf) && <StandingBadge standing={standingOf(metadata, asOf)} />}
        </h1>
        <div className="row">
          <NetworkChoice look={look} onLook={(other) => go('validators', [index], queryOf(other))} />
          <a href={hrefOf('validators', ['compare'], { network, of: index })}>Compare with others</a>
        </div>
      </div>
      <p className="lead">
        How well it did its duties, from finalized epochs only; what it earned, and who stands behind it.
      </p>
      <div className="cards">
        <Who metadata={metadata} network={network} clock={clock} />
        <MoneyBehind metadata={metadata} network={network} />
      </div>
      <Answer of={newest}>
        {({ reply: { results } }) =>
          results[0]?.startDate ? (
            <>
              <OverTime index={index} look={look} newest={results[0].date ?? results[0].startDate} />
              {look.day !== undefined && <Day index={index} look={look} day={look.day} />}
              <RewardsOf index={index} look={look} newest={results[0].date ?? results[0].startDate} />
            </>
          ) : (
            <p className="note">
              Nothing has been read about its duties yet: it may not have been active in the days that are here.
            </p>
          )
        }
      </Answer>
    </>
  )
}

interface RewardsOfProps {
  readonly index: number
  readonly look: Look
  readonly newest: string
}

/** Amounts go by chain days: which ones lie in the range is asked first. */
function RewardsOf({ index, look, newest }: RewardsOfProps) {
  const whole = useAsk(
    'validators.effectiveness',
    {
      validator_index_or_pubkey: index,
      network: look.network,
      utc: false,
      ...boundsOf(look, newest),
      granularity: 'all',
      limit: 1,
    },
    { keep: true },
  )
  const record = whole.data?.reply.results[0]
  const clock = useMemo(() => record && clockOf(record), [record])
  if (!record || !clock || record.startDay === null || record.endDay === null)
    return <Answer of={whole}>{() => null}</Answer>
  const days = { startDay: record.startDay, endDay: record.endDay }
  return <Rewards index={index} look={look} days={days} clock={clock} />
}
