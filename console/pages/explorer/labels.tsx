// The label list of a chain as a table and as downloads (endpoint explorer.labelListV2). A response contains the whole
// list, so filter and pages are computed here.
import { useMutation } from '@tanstack/preact-query'
import type { LabelRecord } from '#api/contract/wire/explorer.ts'
import type { LabelCounts } from '#shared/console-calls.ts'
import { Card } from '../../parts/card.tsx'
import { TextField } from '../../parts/controls.tsx'
import { formatCount, formatTime } from '../../parts/format.ts'
import { Pager } from '../../parts/pager.tsx'
import { Failure, QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { useChainName } from '../../parts/use-chains.ts'
import { hrefOf, navigate } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { ExplorerErrorNotice } from './error-notice.tsx'
import { Described } from './label-name.tsx'
import { filterLabels, pageOf } from './label-pages.ts'
import { useLabelCounts } from './lookups.ts'

interface LabelsProps {
  readonly chain: string
  /** Words that the shown labels contain. */
  readonly filter: string
  readonly page: number
}

export function Labels({ chain, filter, page }: LabelsProps) {
  const list = useEndpoint('explorer.labelListV2', { chainid: chain })
  const chainName = useChainName()
  const hasLabels = (list.data?.reply.result.length ?? 0) > 0
  return (
    <Card id="labels-title" title={`Labels on ${chainName(chain)}`} aside={hasLabels && <Downloads chain={chain} />}>
      <QueryResult
        of={list}
        waiting="Loading the list…"
        failure={(error) => <ExplorerErrorNotice error={error} chain={chain} />}
      >
        {({ reply: { result } }) =>
          typeof result === 'string' ? (
            <p className="note">This list is too long to show. Search for a name above, or download the list.</p>
          ) : (
            <Browse labels={result} chain={chain} filter={filter} page={page} />
          )
        }
      </QueryResult>
    </Card>
  )
}

/** Replaces the history entry: otherwise the back button would go through every typed letter. */
const openPage = (chain: string, filter: string, page: number) =>
  navigate(hrefOf('explorer', [chain], { filter, page: page || undefined }), { replace: true })

function Browse({
  labels,
  chain,
  filter,
  page: requestedPage,
}: LabelsProps & { readonly labels: readonly LabelRecord[] }) {
  if (labels.length === 0) return <NoEntities chain={chain} />
  const matches = filterLabels(labels, filter)
  const { rows, page, pages } = pageOf(matches, requestedPage)
  return (
    <>
      <AddressCount chain={chain} />
      <TextField label="Filter" type="search" value={filter} onText={(text) => openPage(chain, text, 0)} />
      <Table
        name="Labels"
        className="stacked"
        rows={rows}
        columns={[
          ['Name', ({ labelslug, labelname }) => <a href={hrefOf('explorer', ['entity', labelslug])}>{labelname}</a>],
          ['Slug', ({ labelslug }) => labelslug, 'mono soft'],
          ['Description', ({ shortdescription, notes }) => <Described text={shortdescription} notes={notes} />],
          ['Updated', ({ lastupdatedtimestamp }) => formatTime(lastupdatedtimestamp).slice(0, 10), 'nowrap'],
        ]}
      />
      <Pager
        previous="Previous"
        next="Next"
        onPrevious={page > 0 ? () => openPage(chain, filter, page - 1) : undefined}
        onNext={page < pages - 1 ? () => openPage(chain, filter, page + 1) : undefined}
      >
        <span className="soft" role="status">
          {matches.length === 0
            ? 'No entities match. Use fewer words.'
            : `Page ${page + 1} of ${pages}, ${countOf(matches.length, labels.length)}`}
        </span>
      </Pager>
    </>
  )
}

const countOf = (matches: number, all: number): string =>
  matches === all ? `${formatCount(all)} entities` : `${formatCount(matches)} of ${formatCount(all)} entities`

/** The list has entities only. A chain may have many labelled addresses and no entity. */
function NoEntities({ chain }: { readonly chain: string }) {
  const { data } = useLabelCounts(chain)
  if (data === undefined) return <p className="note">No entities on this chain yet.</p>
  if (data.addresses === 0)
    return (
      <p className="note">
        No labels on this chain yet. Add labels with <code>tetrad labels add</code> or <code>tetrad labels import</code>
        .
      </p>
    )
  return (
    <p className="note">
      {formatAddressCount(data)} a label, but none belongs to an entity yet. Search above for a name or the start of an
      address. Add entities with <code>tetrad labels add</code>.
    </p>
  )
}

/** How many labelled addresses are not in the list. */
function AddressCount({ chain }: { readonly chain: string }) {
  const { data } = useLabelCounts(chain)
  if (data === undefined || data.addresses === 0) return null
  return (
    <p className="soft small">
      {formatAddressCount(data)} a label of their own, which is not in this list. To find them, search above.
    </p>
  )
}

function formatAddressCount({ addresses, hasMoreAddresses }: LabelCounts): string {
  if (addresses === 1) return '1 address has'
  return `${hasMoreAddresses ? 'More than ' : ''}${formatCount(addresses)} addresses have`
}

/** A download link is valid for only five minutes, so request it on click. */
function Downloads({ chain }: { readonly chain: string }) {
  const { client } = useConsoleContext()
  const download = useMutation({
    mutationFn: (format: 'csv' | 'json') => client.explorer.labelListV2({ chainid: chain, format }),
    onSuccess: ({ result }) => typeof result === 'string' && window.location.assign(result),
  })
  return (
    <div className="downloads">
      <span className="soft small">Download</span>
      {(['csv', 'json'] as const).map((format) => (
        <button key={format} type="button" onClick={() => download.mutate(format)}>
          {format.toUpperCase()}
        </button>
      ))}
      {download.error && <Failure error={download.error} />}
    </div>
  )
}
