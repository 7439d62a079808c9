// Search of labels by name, slug or address prefix, and a few example addresses.
import type { FoundLabel } from '#api/contract/wire/label-search.ts'
import { AddressLink } from '../../parts/address-link.tsx'
import { Card } from '../../parts/card.tsx'
import { isNotFound } from '../../parts/failures.ts'
import { Links } from '../../parts/links.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { useChainName } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { ExplorerErrorNotice } from './error-notice.tsx'

const rowsMax = 50
const textChars = 200

export function Search({ text, chain }: { readonly text: string; readonly chain: string }) {
  const query = useEndpoint('explorer.labelSearch', { q: text.slice(0, textChars), limit: rowsMax })
  return (
    <Card id="search-title" title={`Labels matching “${text}”`}>
      <QueryResult
        of={query}
        waiting="Searching…"
        failure={(error) =>
          isNotFound(error) ? (
            <NoMatches text={text} chain={chain} />
          ) : (
            <ExplorerErrorNotice error={error} chain={chain} />
          )
        }
      >
        {({ reply: { result } }) => <SearchResults labels={addressesFirst(result)} />}
      </QueryResult>
    </Card>
  )
}

/** An entity is followed by its addresses in most searches, so show the addresses first. */
const addressesFirst = (labels: readonly FoundLabel[]): readonly FoundLabel[] => [
  ...labels.filter(({ kind }) => kind === 'address'),
  ...labels.filter(({ kind }) => kind === 'entity'),
]

function NoMatches({ text, chain }: { readonly text: string; readonly chain: string }) {
  return (
    <p className="note">
      No matches. Search matches the start of each word. Use fewer words, or{' '}
      <a href={hrefOf('explorer', [chain])}>browse the list</a>.
      {text.startsWith('0x') && ' A complete address is 0x followed by 40 hexadecimal digits.'}
    </p>
  )
}

function SearchResults({ labels }: { readonly labels: readonly FoundLabel[] }) {
  const chainName = useChainName()
  return (
    <>
      <Table
        name="Matching labels"
        className="stacked"
        rows={labels}
        columns={[
          [
            'Name',
            ({ name, address, chainid, slug = '' }) => (
              <a
                href={
                  address === undefined ? hrefOf('explorer', ['entity', slug]) : hrefOf('explorer', [chainid, address])
                }
              >
                {name}
              </a>
            ),
          ],
          [
            'Address',
            ({ address, chainid }) =>
              address === undefined ? (
                <span className="soft">entity</span>
              ) : (
                <AddressLink chain={chainid} address={address} isFull />
              ),
          ],
          ['Chain', ({ chainid }) => chainName(chainid)],
          [
            'Source',
            ({ source, confidence }) =>
              source !== undefined && `${source}${confidence === undefined ? '' : `, confidence ${confidence} %`}`,
            'soft',
          ],
        ]}
      />
      {labels.length === rowsMax && (
        <p className="soft small">Only the first {rowsMax} results are shown. Add a word to narrow the search.</p>
      )}
    </>
  )
}

/** A word that most label lists contain. */
const exampleSearch = 'exchange'
const examplesMax = 3

/** Links to a few labelled addresses, if there are any. */
export function Suggestions({ chain }: { readonly chain: string }) {
  const query = useEndpoint('explorer.labelSearch', { q: exampleSearch, chainid: chain, limit: rowsMax })
  const examples = (query.data?.reply.result ?? []).flatMap(({ name, address }) =>
    address === undefined ? [] : [{ label: name, href: hrefOf('explorer', [chain, address]) }],
  )
  if (examples.length === 0) return null
  return (
    <p className="examples small">
      Examples: <Links of={examples.slice(0, examplesMax)} />.
    </p>
  )
}
