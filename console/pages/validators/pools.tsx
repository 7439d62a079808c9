// The pools of a network, all or those with a matching name, with a selection of two to compare.
import { useState } from 'react'
import type { ReplyOf } from '#api/client.ts'
import type { Network } from '#api/wire/validators.ts'
import { Card } from '../../parts/card.tsx'
import { formatCount } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { go, hrefOf } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { isLike } from './search.ts'

type Pool = ReplyOf<'validators.find'>['pools'][number]

/** The maximum of one response. */
export const poolsMax = 1000

interface PoolsProps {
  readonly network: Network
  /** Only pools whose name contains this text; empty for all. */
  readonly like: string
}

export function Pools({ network, like }: PoolsProps) {
  const query = useEndpoint('validators.find', { network, limit: poolsMax })
  return (
    <QueryResult of={query}>
      {({ reply: { pools } }) => {
        if (like === '')
          return pools.length === 0 ? (
            <NoPools network={network} />
          ) : (
            <PoolTable network={network} pools={pools} title="Pools" />
          )
        const others = pools.filter(({ pool }) => pool !== like && isLike(pool, like))
        return others.length > 0 && <PoolTable network={network} pools={others} title="Pools with a similar name" />
      }}
    </QueryResult>
  )
}

const NoPools = ({ network }: { readonly network: Network }) => (
  <p className="note">
    No pools are known on {network}. The operator can import them with <code>tetrad import entities</code>. You can
    still search by index or public key. If nothing is found, this server does not read {network}: choose another
    network above.
  </p>
)

interface PoolTableProps {
  readonly network: Network
  readonly pools: readonly Pool[]
  readonly title: string
}

function PoolTable({ network, pools, title }: PoolTableProps) {
  const [selected, setSelected] = useState<readonly string[]>([])
  const toggle = (pool: string) =>
    setSelected(selected.includes(pool) ? selected.filter((other) => other !== pool) : [...selected, pool])
  const [first, second] = selected
  return (
    <Card
      id="pools"
      title={title}
      aside={
        <button
          type="button"
          className="main"
          disabled={second === undefined}
          onClick={() => go('validators', ['compare'], { network, pool: first, against: second })}
        >
          {second === undefined ? 'Select two to compare' : 'Compare both'}
        </button>
      }
    >
      <Table name={`${title}: table`} columns={['Compare', 'Pool', 'Validators']} figures={['Validators']}>
        {pools.map(({ pool, validators }) => (
          <tr key={pool}>
            <td>
              <input
                type="checkbox"
                aria-label={`Compare ${pool}`}
                checked={selected.includes(pool)}
                disabled={second !== undefined && !selected.includes(pool)}
                onChange={() => toggle(pool)}
              />
            </td>
            <td>
              <a href={hrefOf('validators', [], { network, q: pool })}>{pool}</a>
            </td>
            <td className="num">{formatCount(validators)}</td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}
