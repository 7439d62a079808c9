// The funding trail of an address: the diagram, why it ends, a link to continue, and a table of its hops.
import { type UseQueryResult, useQueryClient } from '@tanstack/preact-query'
import type { ReplyOf } from '#api/client/client.ts'
import type { Trail as TrailRecord } from '#api/contract/wire/trail.ts'
import { Card } from '../../parts/card.tsx'
import { coins } from '../../parts/chains.ts'
import { formatCount, formatTime, shortenHex } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { hrefOf } from '../../route.ts'
import type { QueryReply } from '../../use-endpoint.ts'
import { Confidence } from './confidence.tsx'
import { adviceOf, ExplorerErrorNotice } from './error-notice.tsx'
import { LabelledAddress, TransactionLink } from './funding-table.tsx'
import { LabelName } from './label-name.tsx'
import { deeper } from './steps.ts'
import { TrailDiagram } from './trail-diagram.tsx'
import { TrailExport } from './trail-export.tsx'

/** Default and maximum of the endpoint's `depth`. */
export const depths = { default: 20, max: 100 } as const

type TrailReply = QueryReply<ReplyOf<'explorer.trail'>>

interface TrailProps {
  readonly chain: string
  readonly depth: number
  readonly query: UseQueryResult<TrailReply>
}

export function Trail({ chain, depth, query }: TrailProps) {
  return (
    <Card id="trail-title" title="Funding trail">
      <QueryResult
        of={query}
        waiting="Searching the trail. The first search takes longer…"
        failure={(error) => <ExplorerErrorNotice error={error} chain={chain} />}
      >
        {({ reply, meta }) => <TrailResult trail={reply.result} meta={meta} depth={depth} />}
      </QueryResult>
    </Card>
  )
}

interface TrailResultProps {
  readonly trail: TrailRecord
  readonly meta: QueryReply<unknown>['meta']
  readonly depth: number
}

function TrailResult({ trail, meta, depth }: TrailResultProps) {
  return (
    <>
      <p className="conclusion">{describeEnd(trail)}</p>
      <TrailDiagram trail={trail} />
      <ContinueTrail trail={trail} depth={depth} />
      <p className="small soft">
        Each arrow is the first funding of the address that it points to. Select an address to open it.
      </p>
      {trail.hops.length > 0 && <Hops trail={trail} />}
      {trail.hops.length > 0 && <TrailExport trail={trail} />}
      <p className="small spaced">
        <Confidence meta={meta} />
      </p>
    </>
  )
}

function describeEnd({ hops, end }: TrailRecord) {
  const label = hops.at(-1)?.label
  const address = shortenHex(end.address)
  switch (end.reason) {
    case 'label':
      return <>The trail leads to a labelled address: {label ? <LabelName label={label} /> : end.message}</>
    case 'genesis':
    case 'none':
      return `The trail ends at ${address}. ${end.message}`
    case 'loop':
      return `The trail is a loop: ${end.message}`
    case 'depth':
      return `The trail continues beyond ${address}. It was cut at the requested number of hops.`
    case 'time':
      return `The trail continues beyond ${address}. The request reached its time limit; the search continues in the background.`
    case 'unknown':
      return `The trail is unknown beyond ${address}: ${end.message}. ${adviceOf(end.message)}`
  }
}

/** A link or button to continue a trail that was cut off. */
function ContinueTrail({ trail, depth }: { readonly trail: TrailRecord; readonly depth: number }) {
  const queries = useQueryClient()
  const { chainid, address, end } = trail
  if (end.reason === 'time')
    return (
      <p>
        <button type="button" onClick={() => void queries.invalidateQueries({ queryKey: ['explorer.trail'] })}>
          Continue
        </button>
      </p>
    )
  if (end.reason !== 'depth') return null
  const next = deeper(depth, depths.max)
  return (
    <p>
      {next === undefined ? (
        <a href={hrefOf('explorer', [chainid, end.address])}>Continue from {shortenHex(end.address)}</a>
      ) : (
        <a href={hrefOf('explorer', [chainid, address], { depth: next })}>Show up to {next} hops</a>
      )}
    </p>
  )
}

function Hops({ trail }: { readonly trail: TrailRecord }) {
  return (
    <details>
      <summary>Show as a table</summary>
      <Table
        name="Funding trail as a table"
        className="stacked several"
        rows={trail.hops}
        columns={[
          ['Hop', (_hop, index) => index + 1],
          [
            'Funded by',
            ({ fundingAddress, label }) => (
              <LabelledAddress chain={trail.chainid} address={fundingAddress} label={label} />
            ),
          ],
          ['Amount', ({ value }) => coins(trail.chainid, value, 18, 18), 'num'],
          ['Time', ({ timeStamp }) => formatTime(Number(timeStamp))],
          ['Block', ({ block }) => formatCount(block), 'num'],
          ['Transaction', ({ fundingTxn }) => <TransactionLink hash={fundingTxn} />],
        ]}
      />
    </details>
  )
}
