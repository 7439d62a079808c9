// The pools of a network, where somebody who knows no validator by name can begin; or those whose name is like a given one.
import { useState } from 'react'
import type { ReplyOf } from '#api/client.ts'
import type { Network } from '#api/wire/validators.ts'
import { useEndpoint } from '../../calls.ts'
import { Columns } from '../../parts/columns.tsx'
import { formatCount } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { go, hrefOf } from '../../route.ts'
import { isLike } from './search.ts'

type Pool = ReplyOf<'validators.find'>['pools'][number]

/** As many as one page of the interface holds. */
export const poolsMax = 1000

interface PoolsProps {
  readonly network: Network
  /** What was typed; all pools when empty. */
  readonly like: string
}

export function Pools({ network, like }: PoolsProps) {
  const found = useEndpoint('validators.find', { network, limit: poolsMax })
  return (
    <QueryResult of={found}>
      {({ reply: { pools } }) => {
        if (like === '')
          return pools.length === 0 ? (
            <NoPools network={network} />
          ) : (
            <Listed network={network} pools={pools} title="Pools" />
          )
        const others = pools.filter(({ pool }) => pool !== like && isLike(pool, like))
        return others.length > 0 && <Listed network={network} pools={others} title="Pools with such a name" />
      }}
    </QueryResult>
  )
}

const NoPools = ({ network }: { readonly network: Network }) => (
  <p className="note">
    No pools are known on {network}. Whoever runs this server can name them with <code>tetrad import entities</code>.
    Validators are found by index or key all the same; if none is, this network is not being read: choose another one
    above.
  </p>
)

interface ListedProps {
  readonly network: Network
  readonly pools: readonly Pool[]
  readonly title: string
}

function Listed({ network, pools, title }: ListedProps) {
  const [chosen, setChosen] = useState<readonly string[]>([])
  const choose = (pool: string) =>
    setChosen(chosen.includes(pool) ? chosen.filter((one) => one !== pool) : [...chosen, pool])
  const [first, second] = chosen
  return (
    <section className="card" aria-labelledby="pools">
      <div className="spread">
        <h2 id="pools">{title}</h2>
        <button
          type="button"
          className="main"
          disabled={second === undefined}
          onClick={() => go('validators', ['compare'], { network, pool: first, against: second })}
        >
          {second === undefined ? 'Choose two to compare' : 'Compare the two'}
        </button>
      </div>
      <Scroll name={`${title}, as a table`}>
        <table>
          <Columns of={['Compare', 'Pool', 'Validators']} figures={['Validators']} />
          <tbody>
            {pools.map(({ pool, validators }) => (
              <tr key={pool}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Compare ${pool}`}
                    checked={chosen.includes(pool)}
                    disabled={second !== undefined && !chosen.includes(pool)}
                    onChange={() => choose(pool)}
                  />
                </td>
                <td>
                  <a href={hrefOf('validators', [], { network, q: pool })}>{pool}</a>
                </td>
                <td className="num">{formatCount(validators)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}
