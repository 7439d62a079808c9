// The label master list of one chain (4.1, and 4.2 where the first answers with a link) as a table to look through, and
// as files to take away. The whole list comes in one answer, so it is filtered and paged here.
import { useState } from 'react'
import type { LabelRecord } from '#api/wire/explorer.ts'
import { useEndpoint } from '../../calls.ts'
import { Columns } from '../../parts/columns.tsx'
import { formatCount, formatTime } from '../../parts/format.ts'
import { Failure } from '../../parts/query-result.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { useChainName, useChains } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { ExplorerErrorNotice } from './error-notice.tsx'
import { matching, pageOf } from './label-pages.ts'

interface LabelsProps {
  readonly chain: string
  /** Words to look through the list with, and the page of what is left. */
  readonly words: string
  readonly page: number
}

export function Labels({ chain, words, page }: LabelsProps) {
  const [whole, setWhole] = useState(false)
  const second = useEndpoint('explorer.labelListV2', { chainid: chain })
  const first = useEndpoint('explorer.labelListV1', {}, { when: whole && chain === '1' })
  const chains = useChains()
  const chainName = useChainName()
  const result = first.data?.reply.result ?? second.data?.reply.result
  const error = first.error ?? second.error
  return (
    <section className="card" aria-labelledby="labels-title">
      <div className="spread">
        <h2 id="labels-title">Named entities on {chainName(chain)}</h2>
        {result !== undefined && result.length > 0 && <Downloads chain={chain} />}
      </div>
      {typeof result === 'string' ? (
        <p className="note">
          This list is too long to be answered in one piece. Search it by name above, or take it as a file.
          {chain === '1' && (
            <button type="button" className="plain" onClick={() => setWhole(true)}>
              Show it here all the same
            </button>
          )}
        </p>
      ) : result ? (
        <Browse labels={result} chain={chain} words={words} page={page} />
      ) : error ? (
        <ExplorerErrorNotice error={error} chain={chain} chains={chains} />
      ) : (
        <p className="busy" role="status">
          Asking for the list…
        </p>
      )}
    </section>
  )
}

/** Replaced and not added: the back button leads to the page before, not to the letter before. */
const openPage = (chain: string, words: string, page: number) =>
  window.location.replace(hrefOf('explorer', [chain], { only: words, page: page || undefined }))

function Browse({
  labels,
  chain,
  words,
  page: requestedPage,
}: LabelsProps & { readonly labels: readonly LabelRecord[] }) {
  if (labels.length === 0)
    return (
      <p className="note">
        Nobody is named on this chain yet. The operator adds names with <code>tetrad labels add</code> or{' '}
        <code>tetrad labels import</code>.
      </p>
    )
  const found = matching(labels, words)
  const { rows, page, pages } = pageOf(found, requestedPage)
  return (
    <>
      <label className="field">
        Only those with these words
        <input type="search" value={words} onChange={({ target }) => openPage(chain, target.value, 0)} />
      </label>
      <Scroll name="Named entities">
        <table>
          <Columns of={['Name', 'What it is', 'Changed']} />
          <tbody>
            {rows.map((label) => (
              <tr key={label.labelslug}>
                <td>
                  <a href={hrefOf('explorer', [chain], { q: label.labelname })}>{label.labelname}</a>
                  <div className="soft small">{label.labelslug}</div>
                </td>
                <td>
                  {label.shortdescription}
                  {label.notes !== '' && <div className="soft small">{label.notes}</div>}
                </td>
                <td style={{ whiteSpace: 'nowrap' }}>{formatTime(label.lastupdatedtimestamp).slice(0, 10)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <div className="row pager">
        <button type="button" disabled={page === 0} onClick={() => openPage(chain, words, page - 1)}>
          Back
        </button>
        <button type="button" disabled={page >= pages - 1} onClick={() => openPage(chain, words, page + 1)}>
          On
        </button>
        <span className="soft" role="status">
          {found.length === 0
            ? 'None has these words.'
            : `Page ${page + 1} of ${pages}, ${formatCount(found.length)} of ${formatCount(labels.length)}`}
        </span>
      </div>
    </>
  )
}

/** A link is good for five minutes only, so it is asked for when it is wanted. */
function Downloads({ chain }: { readonly chain: string }) {
  const { client } = useConsoleContext()
  const [error, setError] = useState<unknown>()
  const take = async (format: 'csv' | 'json') => {
    setError(undefined)
    try {
      const { result } = await client.explorer.labelListV2({ chainid: chain, format })
      if (typeof result === 'string') window.location.assign(result)
    } catch (cause) {
      setError(cause)
    }
  }
  return (
    <div className="downloads">
      Download
      {(['csv', 'json'] as const).map((format) => (
        <button key={format} type="button" onClick={() => void take(format)}>
          {format.toUpperCase()}
        </button>
      ))}
      {error !== undefined && <Failure error={error} />}
    </div>
  )
}
