// Selection of two pools to compare, and their validators.
import { useMemo } from 'react'
import { Choice } from '../../parts/controls.tsx'
import { formatCount } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { hrefOf } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { type Members, useMembers } from './members.ts'
import type { ComparisonProps, Subjects } from './side-by-side.ts'

/** The maximum of one response. */
const poolsMax = 1000

interface ComparePoolsProps extends ComparisonProps {
  readonly pools: readonly [string, string]
}

export function ComparePools({
  pools: [pool, against],
  network,
  networkChoice,
  onChoose,
  children,
}: ComparePoolsProps) {
  const pools = useEndpoint('validators.find', { network, limit: poolsMax })
  const [first, second] = [useMembers(network, pool), useMembers(network, against)]
  const subjects = useMemo<Subjects | undefined>(() => {
    if (!first.data || !second.data) return undefined
    const poolHref = (name: string) => hrefOf('validators', [], { network, q: name })
    return [
      { name: pool, indices: first.data.indices, hrefOf: poolHref },
      { name: against, indices: second.data.indices, hrefOf: poolHref },
    ]
  }, [first.data, second.data, pool, against, network])
  const names = pools.data?.reply.pools.map((entry) => entry.pool) ?? []
  return (
    <>
      <section className="card row" aria-label="Pools to compare">
        {networkChoice}
        <PoolChoice label="First pool" value={pool} names={names} onChoose={(name) => onChoose({ pool: name })} />
        <PoolChoice
          label="Second pool"
          value={against}
          names={names}
          onChoose={(name) => onChoose({ against: name })}
        />
      </section>
      <QueryResult of={pools}>{() => null}</QueryResult>
      <QueryResult of={first} waiting={`Loading the validators of ${pool}…`}>
        {(members) => <TooLarge name={pool} members={members} />}
      </QueryResult>
      <QueryResult of={second} waiting={`Loading the validators of ${against}…`}>
        {(members) => <TooLarge name={against} members={members} />}
      </QueryResult>
      {subjects && (subjects[0].indices.length === 0 || subjects[1]?.indices.length === 0) && (
        <p className="note">
          {subjects[0].indices.length === 0 ? pool : against} has no validators on {network}. Choose another pool or
          network.
        </p>
      )}
      {subjects?.every(({ indices }) => indices.length > 0) && pool !== against && children(subjects)}
      {(pool === '' || against === '' || pool === against) && <p className="note">Choose two different pools above.</p>}
    </>
  )
}

interface PoolChoiceProps {
  readonly label: string
  readonly value: string
  readonly names: readonly string[]
  readonly onChoose: (name: string) => void
}

const PoolChoice = ({ label, value, names, onChoose }: PoolChoiceProps) => (
  <Choice
    label={label}
    value={value}
    options={names.includes(value) ? names : [value, ...names]}
    format={(name) => name || 'choose…'}
    onChoose={onChoose}
  />
)

function TooLarge({ name, members }: { readonly name: string; readonly members: Members }) {
  if (members.total <= members.indices.length) return null
  return (
    <p className="note warn">
      {name} has {formatCount(members.total)} validators. Only the first {formatCount(members.indices.length)} are
      compared.
    </p>
  )
}
