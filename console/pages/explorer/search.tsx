// Labels by words of a name, a slug, or the beginning of an address; and some to begin with.
import { TetradError } from '#api/client.ts'
import type { FoundLabel } from '#api/wire/label-search.ts'
import { useEndpoint } from '../../calls.ts'
import { Columns } from '../../parts/columns.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { useChainName, useChains } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { ExplorerErrorNotice } from './error-notice.tsx'

const rowsMax = 50
const wordsChars = 200

export function Search({ words, chain }: { readonly words: string; readonly chain: string }) {
  const query = useEndpoint('explorer.labelSearch', { q: words.slice(0, wordsChars), limit: rowsMax })
  const chains = useChains()
  const nothing = query.error instanceof TetradError && query.error.notFound
  const found = nothing ? [] : query.data?.reply.result
  return (
    <section className="card" aria-labelledby="search-title">
      <h2 id="search-title">Called “{words}”</h2>
      {found ? (
        found.length === 0 ? (
          <NoMatches words={words} chain={chain} />
        ) : (
          <SearchResults labels={addressesFirst(found)} />
        )
      ) : query.error ? (
        <ExplorerErrorNotice error={query.error} chain={chain} chains={chains} />
      ) : (
        <p className="busy" role="status">
          Looking for names…
        </p>
      )}
    </section>
  )
}

/** They lead somewhere. */
const addressesFirst = (labels: readonly FoundLabel[]): readonly FoundLabel[] => [
  ...labels.filter(({ kind }) => kind === 'address'),
  ...labels.filter(({ kind }) => kind === 'entity'),
]

function NoMatches({ words, chain }: { readonly words: string; readonly chain: string }) {
  return (
    <p className="note">
      Nobody is called so here. Every word must begin a word of the name; try fewer of them, or{' '}
      <a href={hrefOf('explorer', [chain])}>look through the list</a>.
      {words.startsWith('0x') && ' A whole address has 0x and 40 hexadecimal digits.'}
    </p>
  )
}

function SearchResults({ labels }: { readonly labels: readonly FoundLabel[] }) {
  const chainName = useChainName()
  return (
    <>
      <Scroll name="Names that were found">
        <table>
          <Columns of={['Name', 'Address', 'Chain', 'Who says so']} />
          <tbody>
            {labels.map((label) => (
              <tr key={`${label.chainid}/${label.address ?? label.slug}`}>
                <td>{label.name}</td>
                <td>
                  {label.address === undefined ? (
                    <span className="soft">entity {label.slug}</span>
                  ) : (
                    <a className="mono" href={hrefOf('explorer', [label.chainid, label.address])}>
                      {label.address}
                    </a>
                  )}
                </td>
                <td>{chainName(label.chainid)}</td>
                <td className="soft">
                  {label.source}
                  {label.confidence !== undefined && `, ${label.confidence} % sure`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {labels.length === rowsMax && <p className="soft small">There may be more; add a word to see them.</p>}
    </>
  )
}

/** A word that names in any registry are likely to have. */
const likely = 'exchange'
const examplesMax = 3

/** Named addresses to begin with, from what this server knows; none when it knows none. */
export function Suggestions({ chain }: { readonly chain: string }) {
  const query = useEndpoint('explorer.labelSearch', { q: likely, chainid: chain, limit: rowsMax })
  const examples = (query.data?.reply.result ?? []).filter(({ address }) => address !== undefined)
  if (examples.length === 0) return null
  return (
    <p>
      Try one of these:{' '}
      {examples.slice(0, examplesMax).map(({ name, address = '' }, index) => (
        <span key={address}>
          {index > 0 && ', '}
          <a href={hrefOf('explorer', [chain, address])}>{name}</a>
        </span>
      ))}
      .
    </p>
  )
}
