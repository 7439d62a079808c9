// The page of an entity of the label registry: its chains, its labelled addresses with sources, and whom they funded.
import { Fragment } from 'preact/compat'
import type { EntityView } from '#api/console.ts'
import { Card } from '../../parts/card.tsx'
import { formatTime, shortenHex } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { useChainName } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { useRemember } from '../../search/recent.ts'
import { FundingTable } from './funding-table.tsx'
import { EvidenceLink } from './label-name.tsx'
import { useEntity } from './lookups.ts'

export function Entity({ slug }: { readonly slug: string }) {
  const query = useEntity(slug)
  return (
    <>
      <p className="small">
        <a href={hrefOf('explorer')}>Explorer</a> / entity
      </p>
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

function EntityDetails({ entity }: { readonly entity: EntityView }) {
  const { slug, chains, addresses, hasMoreAddresses, funded, hasMoreFunded } = entity
  const name = chains[0]?.name ?? slug
  useRemember({ kind: 'Entity', label: name, href: hrefOf('explorer', ['entity', slug]) })
  return (
    <>
      <h1>{name}</h1>
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
        {funded.length === 0 ? (
          <p className="note">No funded addresses are stored.</p>
        ) : (
          <FundingTable name="Addresses that this entity funded" fundings={funded} hasTransactions />
        )}
        {hasMoreFunded && <p className="soft small">Only the newest {funded.length} are shown.</p>}
      </Card>
    </>
  )
}

function EntityChains({ chains }: { readonly chains: EntityView['chains'] }) {
  const chainName = useChainName()
  return (
    <Card id="entity-chains" title="Chains">
      <Table name="Chains of this entity" columns={['Chain', 'Description', 'Updated']}>
        {chains.map(({ chainid, description, notes, updatedAt }) => (
          <tr key={chainid}>
            <td>
              <a href={hrefOf('explorer', [chainid])}>{chainName(chainid)}</a>
            </td>
            <td>
              {description}
              {notes !== '' && <div className="soft small">{notes}</div>}
            </td>
            <td className="nowrap">{updatedAt.slice(0, 10)}</td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

function AddressTable({ addresses }: { readonly addresses: EntityView['addresses'] }) {
  const chainName = useChainName()
  return (
    <Table
      name="Addresses of this entity"
      className="stacked"
      columns={['Label', 'Address', 'Chain', 'Source', 'Confidence', 'Updated']}
    >
      {addresses.map(({ chainid, address, labels }) => (
        <Fragment key={`${chainid}/${address}`}>
          {labels.map((label) => (
            <tr key={label.source}>
              <td>{label.name}</td>
              <td>
                <a className="mono" href={hrefOf('explorer', [chainid, address])} title={address}>
                  {shortenHex(address)}
                </a>
              </td>
              <td>{chainName(chainid)}</td>
              <td data-label="Source">
                {label.source} <EvidenceLink url={label.evidence} />
              </td>
              <td data-label="Confidence">{label.confidence} %</td>
              <td className="nowrap" data-label="Updated">
                {formatTime(label.updatedAt).slice(0, 10)}
              </td>
            </tr>
          ))}
        </Fragment>
      ))}
    </Table>
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
