// Pool, operators and lifecycle of a validator, and its deposit and withdrawal addresses with their first funding.
import type { Network } from '#api/contract/wire/validators.ts'
import type { ValidatorMetadata } from '#api/contract/wire/validators-metadata.ts'
import { AddressLink } from '../../parts/address-link.tsx'
import { Card } from '../../parts/card.tsx'
import { Facts } from '../../parts/facts.tsx'
import { ether, formatCount, formatTime } from '../../parts/format.ts'
import { Links } from '../../parts/links.tsx'
import { ShortHex } from '../../parts/short-hex.tsx'
import { hrefOf } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { type ChainClock, unixOf } from './chain-clock.ts'
import { EntitySource, useExplainedEntity } from './entity-source.tsx'
import { useExecutionChain } from './use-networks.ts'

interface IdentityProps {
  readonly metadata: ValidatorMetadata
  readonly network: Network
  readonly clock: ChainClock | undefined
}

export function Identity({ metadata, network, clock }: IdentityProps) {
  const { pool, subpool, nodeOperators, dvtNetwork, dvtOperators } = metadata
  const entity = useExplainedEntity(network, metadata.validatorIndex)
  const searchLinks = (names: readonly string[]) => (
    <Links of={names.map((name) => ({ label: name, href: hrefOf('validators', [], { network, q: name }) }))} />
  )
  const epochText = (epoch: number | null, otherwise: string) =>
    epoch === null ? (
      <span className="soft">{otherwise}</span>
    ) : (
      <>
        {clock && formatTime(unixOf(clock, epoch))} <span className="soft">epoch {formatCount(epoch)}</span>
      </>
    )
  return (
    <Card id="identity" title="Operator and lifecycle">
      <Facts
        of={{
          'Public key': <ShortHex hex={metadata.validatorPubkey} name="public key" />,
          Pool: (
            <>
              {pool === null ? <Unknown /> : searchLinks([pool])}
              {subpool !== null && <span className="soft"> · {subpool}</span>}
              <EntitySource entity={entity} field="pool" />
            </>
          ),
          'Node operators': (
            <>
              {nodeOperators?.length ? searchLinks(nodeOperators) : <Unknown />}
              <EntitySource entity={entity} field="operators" />
            </>
          ),
          'DVT network': dvtNetwork !== null && (
            <>
              {dvtNetwork}
              {dvtOperators?.length ? <span className="soft"> · {dvtOperators.join(', ')}</span> : null}
              <EntitySource entity={entity} field="dvt" />
            </>
          ),
          'Eligible for activation': epochText(metadata.activationEligibilityEpoch, 'not yet'),
          Activated: epochText(metadata.activationEpoch, 'not yet'),
          Exits: epochText(metadata.exitEpoch, 'not requested'),
          Withdrawable: metadata.withdrawableEpoch !== null && epochText(metadata.withdrawableEpoch, ''),
        }}
      />
    </Card>
  )
}

const Unknown = () => <span className="soft">unknown</span>

const addressesMax = 8

export function ValidatorAddresses({ metadata, network }: Omit<IdentityProps, 'clock'>) {
  const deposits = metadata.depositAddresses ?? []
  const chain = useExecutionChain(network)
  return (
    <Card id="addresses" title="Deposit and withdrawal addresses">
      <h3>Deposit addresses</h3>
      {deposits.length === 0 && <p className="soft">No deposit address is known.</p>}
      {deposits.slice(0, addressesMax).map((address) => (
        <DepositAddress key={address} address={address} chain={chain} />
      ))}
      {deposits.length > addressesMax && (
        <p className="soft">{deposits.length - addressesMax} more addresses are not shown.</p>
      )}
      <h3>Withdrawal address</h3>
      {metadata.withdrawalAddress === null ? (
        <p className="soft">None: the validator still has BLS withdrawal credentials (0x00).</p>
      ) : (
        <DepositAddress address={metadata.withdrawalAddress} chain={chain} />
      )}
    </Card>
  )
}

/** With its first funding, if the chain is known. */
const DepositAddress = ({ address, chain }: { readonly address: string; readonly chain: string | undefined }) =>
  chain === undefined ? <code>{address}</code> : <FundedAddress address={address} chainid={chain} />

/** An address and its first funding. If that is unknown, this page still works, so no error is shown. */
function FundedAddress({ address, chainid }: { readonly address: string; readonly chainid: string }) {
  const trail = useEndpoint('explorer.trail', { chainid, address, depth: 1 })
  const { label, hops } = trail.data?.reply.result ?? {}
  const hop = hops?.[0]
  return (
    <div className="funded">
      <AddressLink chain={chainid} address={address} />
      {label && <span className="badge">{label.name}</span>}
      <div className="small soft">
        {trail.isPending && 'Loading the first funding…'}
        {!trail.isPending && !hop && 'First funding: unknown.'}
        {hop && (
          <>
            First funded by <AddressLink chain={chainid} address={hop.fundingAddress} />{' '}
            {hop.label ? (
              <span className="badge" title={`Source: ${hop.label.source}, confidence ${hop.label.confidence} %`}>
                {hop.label.name}
              </span>
            ) : (
              '(no label)'
            )}{' '}
            with {ether(hop.value)}, {formatTime(Number(hop.timeStamp))}
          </>
        )}
      </div>
    </div>
  )
}
