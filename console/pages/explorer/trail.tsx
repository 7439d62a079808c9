// The trail of one address: the picture, why it ends, the way on, and every figure in a table.
import { type UseQueryResult, useQueryClient } from '@tanstack/react-query'
import type { ReplyOf } from '#api/client.ts'
import type { Trail as TrailRecord } from '#api/wire/trail.ts'
import type { Asked } from '../../calls.ts'
import { Answer } from '../../parts/answer.tsx'
import { coins } from '../../parts/chains.ts'
import { Columns } from '../../parts/columns.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { useChains } from '../../parts/use-chains.ts'
import { count, short, time } from '../../parts/words.ts'
import { hrefOf } from '../../place.ts'
import { Named } from './named.tsx'
import { Picture } from './picture.tsx'
import { deeper, stepsOf } from './steps.ts'
import { Sure } from './sure.tsx'
import { adviceOf, Trouble } from './trouble.tsx'

/** Of the endpoint: what it takes when nothing is said, and the most it takes. */
export const depths = { usual: 20, max: 100 } as const

type TrailReply = Asked<ReplyOf<'explorer.trail'>>

interface TrailProps {
  readonly chain: string
  readonly depth: number
  readonly asked: UseQueryResult<TrailReply>
}

export function Trail({ chain, depth, asked }: TrailProps) {
  const chains = useChains()
  return (
    <section className="card" aria-labelledby="trail-title">
      <h2 id="trail-title">Trail</h2>
      <p className="soft">
        Who funded it, who funded that one, and so on back to a named address. Arrows show where the coin went; choose
        an address to go on from there.
      </p>
      {asked.error && !asked.data ? (
        <Trouble error={asked.error} chain={chain} chains={chains} />
      ) : (
        <Answer of={asked} waiting="Following the trail; one that nobody has followed before takes longer…">
          {({ reply, meta }) => <Followed trail={reply.result} meta={meta} depth={depth} />}
        </Answer>
      )}
    </section>
  )
}

interface FollowedProps {
  readonly trail: TrailRecord
  readonly meta: Asked<unknown>['meta']
  readonly depth: number
}

function Followed({ trail, meta, depth }: FollowedProps) {
  return (
    <>
      <Picture trail={trail} />
      <p>
        <End trail={trail} />
      </p>
      <Onwards trail={trail} depth={depth} />
      {trail.hops.length > 0 && <Hops trail={trail} />}
      <p className="small">
        <Sure meta={meta} />
      </p>
    </>
  )
}

function End({ trail: { hops, end } }: { readonly trail: TrailRecord }) {
  const named = hops.at(-1)?.label
  switch (end.reason) {
    case 'label':
      return <>It leads to a named address: {named ? <Named label={named} /> : end.says}.</>
    case 'genesis':
    case 'none':
      return (
        <>
          It ends at {short(end.address)}. {end.says}
        </>
      )
    case 'loop':
      return <>It goes in a circle from here: {end.says}</>
    case 'depth':
      return <>It goes on beyond {short(end.address)}: no more hops were asked for.</>
    case 'time':
      return <>It goes on beyond {short(end.address)}: the time of one call was over. The search goes on meanwhile.</>
    case 'unknown':
      return (
        <>
          Beyond {short(end.address)} nothing can be told: {end.says}. {adviceOf(end.says)}
        </>
      )
  }
}

/** The way on where a trail was cut off. */
function Onwards({ trail, depth }: { readonly trail: TrailRecord; readonly depth: number }) {
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
        <a href={hrefOf('explorer', [chainid, end.address])}>Go on from {short(end.address)}</a>
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
                        {short(address)}
                      </a>
                    </td>
                    <td className="num">{coins(trail.chainid, paid.value, 18)}</td>
                    <td>{time(Number(paid.timeStamp))}</td>
                    <td className="num">{count(paid.block)}</td>
                    <td className="mono" title={paid.fundingTxn}>
                      {short(paid.fundingTxn)}
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
