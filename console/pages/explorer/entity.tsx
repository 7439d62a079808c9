// The page of an entity of the label registry: its chains, its labelled addresses with sources, and whom they funded.
import { Fragment } from 'preact/compat'
import type { EntityView } from '#shared/console-calls.ts'
import { AddressLink } from '../../parts/address-link.tsx'
import { Card } from '../../parts/card.tsx'
import { formatTime } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { useChainName } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { useRemember } from '../../search/recent.ts'
import { FundingTable } from './funding-table.tsx'
import { Described, EvidenceLink } from './label-name.tsx'
import { useEntity } from './lookups.ts'

export function Entity({ slug }: { readonly slug: string }) {
  const query = useEntity(slug)
  return (
    <>
      <p className="small">
        <a href={hrefOf('explorer')}>Explorer</a> / Entity
      </p>
      <h1>{query.data ? nameOf(query.data) : slug}</h1>
      <QueryResult
        of={query}
        notFound={
          <>
            The label registry has no entity <code>{slug}</code>. <a href={hrefOf('explorer')}>Browse the labels</a>.
          </>
        }
      >
        {(entity) => <EntityDetails entity={entity} />}
      </QueryResult>
    </>
  )
}

const nameOf = ({ chains, slug }: EntityView): string => chains[0]?.name ?? slug

function EntityDetails({ entity }: { readonly entity: EntityView }) {
  const { slug, chains, addresses, hasMoreAddresses, funded, hasMoreFunded } = entity
  const name = nameOf(entity)
  useRemember({ kind: 'Entity', label: name, href: hrefOf('explorer', ['entity', slug]) })
  return (
    <>
      <p className="lead">
        Entity <code>{slug}</code> of the label registry.
      </p>
      <EntityChains chains={chains} />
      <Card id="entity-addresses" title="Addresses">
        {addresses.length === 0 ? (
          <p className="note">
            No address is labelled with this entity. Add one with <code>tetrad labels add</code>.
          </p>
        ) : (
          <AddressTable addresses={addresses} />
        )}
        {hasMoreAddresses && (
          <p className="soft small">
            Only the first addresses of each chain are shown.{' '}
            <a href={hrefOf('explorer', [chains[0]?.chainid ?? '1'], { q: name })}>Search for {name}</a> to see others.
          </p>
        )}
      </Card>
      <Card id="entity-funded" title="Funded addresses">
        <p className="soft">
          Addresses whose earliest known transfer came from one of the addresses above, newest first.{' '}
          <CoverageText chains={chains} />
        </p>
        {funded === null ? (
          <p className="note">
            Not available. Set <code>explorer.reverseLookups: true</code> in <code>tetrad.yaml</code> and restart the
            server.
          </p>
        ) : funded.length === 0 ? (
          <p className="note">No funded addresses are stored.</p>
        ) : (
          <FundingTable name="Addresses that this entity funded" fundings={funded} hasTransactions />
        )}
        {funded && hasMoreFunded && <p className="soft small">Only the newest {funded.length} are shown.</p>}
      </Card>
    </>
  )
}

function EntityChains({ chains }: { readonly chains: EntityView['chains'] }) {
  const chainName = useChainName()
  return (
    <Card id="entity-chains" title="Chains">
      <Table
        name="Chains of this entity"
        rows={chains}
        columns={[
          ['Chain', ({ chainid }) => <a href={hrefOf('explorer', [chainid])}>{chainName(chainid)}</a>],
          ['Description', ({ description, notes }) => <Described text={description} notes={notes} />],
          ['Updated', ({ updatedAt }) => updatedAt.slice(0, 10), 'nowrap'],
        ]}
      />
    </Card>
  )
}

function AddressTable({ addresses }: { readonly addresses: EntityView['addresses'] }) {
  const chainName = useChainName()
  return (
    <Table
      name="Addresses of this entity"
      className="stacked"
      rows={addresses.flatMap(({ chainid, address, labels }) =>
        labels.map((label) => ({ ...label, chainid, address })),
      )}
      columns={[
        ['Label', ({ name }) => name],
        ['Address', ({ chainid, address }) => <AddressLink chain={chainid} address={address} />],
        ['Chain', ({ chainid }) => chainName(chainid)],
        [
          'Source',
          ({ source, evidence }) => (
            <>
              {source} <EvidenceLink url={evidence} />
            </>
          ),
        ],
        ['Confidence', ({ confidence }) => `${confidence} %`],
        ['Updated', ({ updatedAt }) => formatTime(updatedAt).slice(0, 10), 'nowrap'],
      ]}
    />
  )
}

/** On which chains the list may be incomplete. */
function CoverageText({ chains }: { readonly chains: EntityView['chains'] }) {
  const chainName = useChainName()
  const incomplete = chains.filter(({ coverage }) => coverage !== 'complete')
  if (incomplete.length === 0) return <>All finalized blocks of its chains have been read.</>
  return (
    <>
      {incomplete.map(({ chainid, coverage }) => (
        <Fragment key={chainid}>
          {coverage === null
            ? `This server does not support ${chainName(chainid)}. `
            : coverage === 'none'
              ? `No block of ${chainName(chainid)} has been read: only the results of earlier searches are known. `
              : `Blocks of ${chainName(chainid)} read so far: ${coverage}. `}
        </Fragment>
      ))}
    </>
  )
}
