// The label list of a chain as a table and as downloads (endpoints explorer.labelListV1 and V2). A response contains the
// whole list, so filter and pages are computed here.
import { useState } from 'react'
import type { LabelRecord } from '#api/wire/explorer.ts'
import { Columns } from '../../parts/columns.tsx'
import { formatCount, formatTime } from '../../parts/format.ts'
import { Failure } from '../../parts/query-result.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { useChainName, useChains } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { ExplorerErrorNotice } from './error-notice.tsx'
import { filterLabels, pageOf } from './label-pages.ts'

interface LabelsProps {
  readonly chain: string
  /** Words that the shown labels contain. */
  readonly filter: string
  readonly page: number
}

export function Labels({ chain, filter, page }: LabelsProps) {
  const [showAll, setShowAll] = useState(false)
  const v2 = useEndpoint('explorer.labelListV2', { chainid: chain })
  const v1 = useEndpoint('explorer.labelListV1', {}, { isEnabled: showAll && chain === '1' })
  const chains = useChains()
  const chainName = useChainName()
  const result = v1.data?.reply.result ?? v2.data?.reply.result
  const error = v1.error ?? v2.error
  return (
    <section className="card" aria-labelledby="labels-title">
      <div className="spread">
        <h2 id="labels-title">Labels on {chainName(chain)}</h2>
        {result !== undefined && result.length > 0 && <Downloads chain={chain} />}
      </div>
      {typeof result === 'string' ? (
        <p className="note">
          This list is too long to show. Search for a name above, or download the list.
          {chain === '1' && (
            <button type="button" className="plain" onClick={() => setShowAll(true)}>
              Show it anyway
            </button>
          )}
        </p>
      ) : result ? (
        <Browse labels={result} chain={chain} filter={filter} page={page} />
      ) : error ? (
        <ExplorerErrorNotice error={error} chain={chain} chains={chains} />
      ) : (
        <p className="busy" role="status">
          Loading the list…
        </p>
      )}
    </section>
  )
}

/** Replaces the history entry: otherwise the back button would go through every typed letter. */
const openPage = (chain: string, filter: string, page: number) =>
  window.location.replace(hrefOf('explorer', [chain], { filter, page: page || undefined }))

function Browse({
  labels,
  chain,
  filter,
  page: requestedPage,
}: LabelsProps & { readonly labels: readonly LabelRecord[] }) {
  if (labels.length === 0)
    return (
      <p className="note">
        No labels on this chain yet. Add labels with <code>tetrad labels add</code> or <code>tetrad labels import</code>
        .
      </p>
    )
  const matches = filterLabels(labels, filter)
  const { rows, page, pages } = pageOf(matches, requestedPage)
  return (
    <>
      <label className="field">
        Filter
        <input type="search" value={filter} onChange={({ target }) => openPage(chain, target.value, 0)} />
      </label>
      <Scroll name="Labels">
        <table>
          <Columns of={['Name', 'Description', 'Updated']} />
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
        <button type="button" disabled={page === 0} onClick={() => openPage(chain, filter, page - 1)}>
          Previous
        </button>
        <button type="button" disabled={page >= pages - 1} onClick={() => openPage(chain, filter, page + 1)}>
          Next
        </button>
        <span className="soft" role="status">
          {matches.length === 0
            ? 'No labels match. Use fewer words.'
            : `Page ${page + 1} of ${pages}, ${formatCount(matches.length)} of ${formatCount(labels.length)} labels`}
        </span>
      </div>
    </>
  )
}

/** A download link is valid for only five minutes, so request it on click. */
function Downloads({ chain }: { readonly chain: string }) {
  const { client } = useConsoleContext()
  const [error, setError] = useState<unknown>()
  const download = async (format: 'csv' | 'json') => {
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
        <button key={format} type="button" onClick={() => void download(format)}>
          {format.toUpperCase()}
        </button>
      ))}
      {error !== undefined && <Failure error={error} />}
    </div>
  )
}
