// Who is behind a validator: what the network and the lists of operators say of it, and where its addresses had their
// first money from, as the explorer tells it.
import type { ReactNode } from 'react'
import type { Network, ValidatorMetadata } from '#api/wire/validators.ts'
import { useEndpoint } from '../../calls.ts'
import { ether, formatTime, shortenHex } from '../../parts/format.ts'
import { hrefOf } from '../../route.ts'
import { type ChainClock, unixOf } from './chain-clock.ts'

interface IdentityProps {
  readonly metadata: ValidatorMetadata
  readonly network: Network
  readonly clock: ChainClock | undefined
}

export function Identity({ metadata, network, clock }: IdentityProps) {
  const { pool, subpool, nodeOperators, dvtNetwork, dvtOperators } = metadata
  const found = (text: string) => (
    <a key={text} href={hrefOf('validators', [], { network, q: text })}>
      {text}
    </a>
  )
  return (
    <section className="card" aria-labelledby="who">
      <h2 id="who">Who is behind it</h2>
      <dl className="facts">
        <dt>Public key</dt>
        <dd className="mono">{metadata.validatorPubkey}</dd>
        <dt>Pool</dt>
        <dd>
          {pool === null ? <UnknownIdentity /> : found(pool)}
          {subpool !== null && <span className="soft"> · {subpool}</span>}
        </dd>
        <dt>Node operators</dt>
        <dd>{nodeOperators?.length ? listed(nodeOperators.map(found)) : <UnknownIdentity />}</dd>
        {dvtNetwork !== null && (
          <>
            <dt>Distributed by</dt>
            <dd>
              {dvtNetwork}
              {dvtOperators?.length ? <span className="soft"> · {dvtOperators.join(', ')}</span> : null}
            </dd>
          </>
        )}
        <dt>Eligible</dt>
        <dd>
          <EpochText epoch={metadata.activationEligibilityEpoch} clock={clock} otherwise="not yet" />
        </dd>
        <dt>Activated</dt>
        <dd>
          <EpochText epoch={metadata.activationEpoch} clock={clock} otherwise="not yet" />
        </dd>
        <dt>Exit</dt>
        <dd>
          <EpochText epoch={metadata.exitEpoch} clock={clock} otherwise="none asked for" />
        </dd>
        {metadata.withdrawableEpoch !== null && (
          <>
            <dt>Withdrawable</dt>
            <dd>
              <EpochText epoch={metadata.withdrawableEpoch} clock={clock} otherwise="" />
            </dd>
          </>
        )}
      </dl>
    </section>
  )
}

const UnknownIdentity = () => <span className="soft">not known</span>

const listed = (items: readonly ReactNode[]) => items.flatMap((item, at) => (at === 0 ? [item] : [', ', item]))

interface EpochTextProps {
  readonly epoch: number | null
  readonly clock: ChainClock | undefined
  readonly otherwise: string
}

function EpochText({ epoch, clock, otherwise }: EpochTextProps) {
  if (epoch === null) return <span className="soft">{otherwise}</span>
  return (
    <>
      {clock && formatTime(unixOf(clock, epoch))} <span className="soft">epoch {epoch.toLocaleString('en')}</span>
    </>
  )
}

/** Deposits are made on the chain that a network secures. */
const chains: Readonly<Record<Network, string>> = { mainnet: '1', hoodi: '560048', holesky: '17000' }
const addressesMax = 8

interface MoneyBehindProps {
  readonly metadata: ValidatorMetadata
  readonly network: Network
}

export function MoneyBehind({ metadata, network }: MoneyBehindProps) {
  const deposits = metadata.depositAddresses ?? []
  return (
    <section className="card" aria-labelledby="money-behind">
      <h2 id="money-behind">Whose money it is</h2>
      <h3>Deposited by</h3>
      {deposits.length === 0 && <p className="soft">No deposit address is known here.</p>}
      {deposits.slice(0, addressesMax).map((address) => (
        <Funded key={address} address={address} chainid={chains[network]} />
      ))}
      {deposits.length > addressesMax && <p className="soft">and {deposits.length - addressesMax} more</p>}
      <h3>Withdrawals go to</h3>
      {metadata.withdrawalAddress === null ? (
        <p className="soft">No address yet: its credentials still name a key of the first days.</p>
      ) : (
        <Funded address={metadata.withdrawalAddress} chainid={chains[network]} />
      )}
    </section>
  )
}

interface FundedProps {
  readonly address: string
  readonly chainid: string
}

/** One hop back. What cannot be told is no failure of this page, so it is said in few words. */
function Funded({ address, chainid }: FundedProps) {
  const trail = useEndpoint('explorer.trail', { chainid, address, depth: 1 })
  const { label, hops } = trail.data?.reply.result ?? {}
  const hop = hops?.[0]
  return (
    <div className="funded">
      <AddressLink address={address} chainid={chainid} />
      {label && <span className="badge">{label.name}</span>}
      <div className="small soft">
        {trail.isPending && 'Asking who funded it first…'}
        {!trail.isPending && !hop && 'Who funded it first is not known here.'}
        {hop && (
          <>
            First funded by <AddressLink address={hop.fundingAddress} chainid={chainid} />{' '}
            {hop.label ? (
              <span className="badge" title={`${hop.label.source}, ${hop.label.confidence} % sure`}>
                {hop.label.name}
              </span>
            ) : (
              '(nobody has named it)'
            )}{' '}
            with {ether(hop.value)}, {formatTime(Number(hop.timeStamp))}
          </>
        )}
      </div>
    </div>
  )
}

const AddressLink = ({ address, chainid }: FundedProps) => (
  <a className="mono" href={hrefOf('explorer', [chainid, address])} title={address}>
    {shortenHex(address)}
  </a>
)
