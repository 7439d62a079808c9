// Two pools to compare: which ones, and whom each of them stands for.
import { useMemo } from 'react'
import { useEndpoint } from '../../calls.ts'
import { formatCount } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { hrefOf } from '../../route.ts'
import type { ComparisonProps } from './compare-parts.ts'
import { Choice } from './controls.tsx'
import { type Members, useMembers } from './members.ts'
import { poolsMax } from './pools.tsx'
import type { Subjects } from './side-by-side.ts'

interface ComparePoolsProps extends ComparisonProps {
  readonly pools: readonly [string, string]
}

export function ComparePools({ pools, network, networkChoice, onChoose, children }: ComparePoolsProps) {
  const [pool, against] = pools
  const known = useEndpoint('validators.find', { network, limit: poolsMax })
  const [one, other] = [useMembers(network, pool), useMembers(network, against)]
  const subjects = useMemo<Subjects | undefined>(() => {
    if (!one.data || !other.data) return undefined
    const linked = (name: string) => hrefOf('validators', [], { network, q: name })
    return [
      { name: pool, indices: one.data.indices, hrefOf: linked },
      { name: against, indices: other.data.indices, hrefOf: linked },
    ]
  }, [one.data, other.data, pool, against, network])
  const names = known.data?.reply.pools.map((entry) => entry.pool) ?? []
  return (
    <>
      <section className="card row" aria-label="What is compared">
        {networkChoice}
        <PoolChoice label="Pool" value={pool} names={names} onChoose={(name) => onChoose({ pool: name })} />
        <PoolChoice label="Against" value={against} names={names} onChoose={(name) => onChoose({ against: name })} />
      </section>
      <QueryResult of={known}>{() => null}</QueryResult>
      <QueryResult of={one} waiting={`Asking who is in ${pool}…`}>
        {(members) => <TooLarge name={pool} members={members} />}
      </QueryResult>
      <QueryResult of={other} waiting={`Asking who is in ${against}…`}>
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
    labels={{ '': 'choose…' }}
    onChoose={onChoose}
  />
)

function TooLarge({ name, members }: { readonly name: string; readonly members: Members }) {
  if (members.total <= members.indices.length) return null
  return (
    <p className="note warn">
      {name} has {formatCount(members.total)} validators; the first {formatCount(members.indices.length)} of them are
      compared.
    </p>
  )
}
