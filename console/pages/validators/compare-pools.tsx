// Two pools to compare: which ones, and whom each of them stands for.
import { useMemo } from 'react'
import { useAsk } from '../../calls.ts'
import { Answer } from '../../parts/answer.tsx'
import { count } from '../../parts/words.ts'
import { hrefOf } from '../../place.ts'
import type { CompareParts } from './compare-parts.ts'
import { Choice } from './controls.tsx'
import { type Members, useMembers } from './members.ts'
import { poolsMax } from './pools.tsx'
import type { Parties } from './side-by-side.ts'

interface ComparePoolsProps extends CompareParts {
  readonly pools: readonly [string, string]
}

export function ComparePools({ pools, network, networkChoice, onChoose, children }: ComparePoolsProps) {
  const [pool, against] = pools
  const known = useAsk('validators.find', { network, limit: poolsMax })
  const [one, other] = [useMembers(network, pool), useMembers(network, against)]
  const parties = useMemo<Parties | undefined>(() => {
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
      <Answer of={known}>{() => null}</Answer>
      <Answer of={one} waiting={`Asking who is in ${pool}…`}>
        {(members) => <TooLarge name={pool} members={members} />}
      </Answer>
      <Answer of={other} waiting={`Asking who is in ${against}…`}>
        {(members) => <TooLarge name={against} members={members} />}
      </Answer>
      {parties && (parties[0].indices.length === 0 || parties[1]?.indices.length === 0) && (
        <p className="note">
          {parties[0].indices.length === 0 ? pool : against} has no validators on {network}. Choose another pool or
          network.
        </p>
      )}
      {parties?.every(({ indices }) => indices.length > 0) && pool !== against && children(parties)}
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
    words={{ '': 'choose…' }}
    onChoose={onChoose}
  />
)

function TooLarge({ name, members }: { readonly name: string; readonly members: Members }) {
  if (members.total <= members.indices.length) return null
  return (
    <p className="note warn">
      {name} has {count(members.total)} validators; the first {count(members.indices.length)} of them are compared.
    </p>
  )
}
