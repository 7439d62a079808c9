// The trail of one address: the picture, why it ends, the way on, and every figure in a table.
import { type UseQueryResult, useQueryClient } from '@tanstack/react-query'
import type { ReplyOf } from '#api/client.ts'
import type { Trail as TrailRecord } from '#api/wire/trail.ts'
import type { QueryReply } from '../../calls.ts'
import { coins } from '../../parts/chains.ts'
import { Columns } from '../../parts/columns.tsx'
import { formatCount, formatTime, shortenHex } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { useChains } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { Confidence } from './confidence.tsx'
import { adviceOf, ExplorerErrorNotice } from './error-notice.tsx'
import { LabelName } from './label-name.tsx'
import { deeper, stepsOf } from './steps.ts'
import { TrailDiagram } from './trail-diagram.tsx'

/** Of the endpoint: what it takes when nothing is said, and the most it takes. */
export const depths = { usual: 20, max: 100 } as const

type TrailReply = QueryReply<ReplyOf<'explorer.trail'>>

interface TrailProps {
  readonly chain: string
  readonly depth: number
  readonly query: UseQueryResult<TrailReply>
}

export function Trail({ chain, depth, query }: TrailProps) {
  const chains = useChains()
  return (
    <section className="card" aria-labelledby="trail-title">
      <h2 id="trail-title">Trail</h2>
      <p className="soft">
        Who funded it, who funded that one, and so on back to a named address. Arrows show where the coin went; choose
        an address to go on from there.
      </p>
      {query.error && !query.data ? (
        <ExplorerErrorNotice error={query.error} chain={chain} chains={chains} />
      ) : (
        <QueryResult of={query} waiting="Following the trail; one that nobody has followed before takes longer…">
          {({ reply, meta }) => <TrailResult trail={reply.result} meta={meta} depth={depth} />}
        </QueryResult>
      )}
    </section>
  )
}

interface FollowedProps {
  readonly trail: TrailRecord
  readonly meta: QueryReply<unknown>['meta']
  readonly depth: number
}

function TrailResult({ trail, meta, depth }: FollowedProps) {
  return (
    <>
      <TrailDiagram trail={trail} />
      <p>
        <TrailEndText trail={trail} />
      </p>
      <ContinueTrail trail={trail} depth={depth} />
      {trail.hops.length > 0 && <Hops trail={trail} />}
      <p className="small">
        <Confidence meta={meta} />
      </p>
    </>
  )
}

function TrailEndText({ trail: { hops, end } }: { readonly trail: TrailRecord }) {
  const named = hops.at(-1)?.label
  switch (end.reason) {
    case 'label':
      return <>It leads to a named address: {named ? <LabelName label={named} /> : end.message}.</>
    case 'genesis':
    case 'none':
      return (
        <>
          It ends at {shortenHex(end.address)}. {end.message}
        </>
      )
    case 'loop':
      return <>It goes in a circle from here: {end.message}</>
    case 'depth':
      return <>It goes on beyond {shortenHex(end.address)}: no more hops were asked for.</>
    case 'time':
      return (
        <>It goes on beyond {shortenHex(end.address)}: the time of one call was over. The search goes on meanwhile.</>
      )
    case 'unknown':
      return (
        <>
          Beyond {shortenHex(end.address)} nothing can be told: {end.message}. {adviceOf(end.message)}
        </>
      )
  }
}

/** The way on where a trail was cut off. */
function ContinueTrail({ trail, depth }: { readonly trail: TrailRecord; readonly depth: number }) {
  const queries = useQueryClient()
  const { chainid, address, end } = trail
  if (end.reason === 'time')
    return (
      <p>
        <button type="button" onClick={() => void queries.invalidateQueries({ queryKey: ['explorer.trail'] })}>
          Go deeper
        </button>
      </p>
    )
  if (end.reason !== 'depth') return null
  const next = deeper(depth, depths.max)
  return (
    <p>
      {next === undefined ? (
        <a href={hrefOf('explorer', [chainid, end.address])}>Go on from {shortenHex(end.address)}</a>
      ) : (
        <a href={hrefOf('explorer', [chainid, address], { depth: next })}>Go deeper: up to {next} hops</a>
      )}
    </p>
  )
}

function Hops({ trail }: { readonly trail: TrailRecord }) {
  return (
    <details>
      <summary>The trail as a list</summary>
      <Scroll name="The trail as a list">
        <table>
          <Columns of={['Hop', 'Funded by', 'Value', 'Time', 'Block', 'Transaction']} figures={['Value', 'Block']} />
          <tbody>
            {stepsOf(trail).map(
              ({ hop, address, label, paid }) =>
                paid && (
                  <tr key={hop}>
                    <td>{hop}</td>
                    <td>
                      {label && <div>{label.name}</div>}
                      <a className="mono" href={hrefOf('explorer', [trail.chainid, address])}>
                        {shortenHex(address)}
                      </a>
                    </td>
                    <td className="num">{coins(trail.chainid, paid.value, 18)}</td>
                    <td>{formatTime(Number(paid.timeStamp))}</td>
                    <td className="num">{formatCount(paid.block)}</td>
                    <td className="mono" title={paid.fundingTxn}>
                      {shortenHex(paid.fundingTxn)}
                    </td>
                  </tr>
                ),
            )}
          </tbody>
        </table>
      </Scroll>
    </details>
  )
}
