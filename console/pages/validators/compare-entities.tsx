// Selection of two to four pools or operators to compare, and their validators.
import type { UseQueryResult } from '@tanstack/preact-query'
import { useMemo } from 'preact/compat'
import type { EntityKind } from '#api/wire/validators-entities.ts'
import { Choice } from '../../parts/controls.tsx'
import { formatCount } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { hrefOf } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { type Members, useMembers } from './members.ts'
import type { ComparisonProps, Subject } from './side-by-side.ts'

/** The maximum of one response. */
const namesMax = 1000
const ordinals = ['First', 'Second', 'Third', 'Fourth'] as const

interface CompareEntitiesProps extends ComparisonProps {
  readonly kind: EntityKind
  /** Different names, at most four. */
  readonly names: readonly string[]
}

export function CompareEntities({ kind, names, network, networkChoice, onChoose, children }: CompareEntitiesProps) {
  const all = useEndpoint('validators.entities', { network, kind, sort: 'name', limit: namesMax })
  // One call for each possible name, because the number of hooks must not change.
  const [first, second, third, fourth] = [
    useMembers(network, kind, names[0]),
    useMembers(network, kind, names[1]),
    useMembers(network, kind, names[2]),
    useMembers(network, kind, names[3]),
  ]
  const members = [first, second, third, fourth]
  const nameText = names.join('\n')
  const subjects = useMemo<readonly Subject[]>(() => {
    const toHref = (name: string) => hrefOf('validators', [], { network, q: name })
    const loaded = [first.data, second.data, third.data, fourth.data]
    return nameText.split('\n').flatMap((name, at) => {
      const indices = loaded[at]?.indices
      return name === '' || indices === undefined ? [] : [{ name, indices, hrefOf: toHref }]
    })
  }, [first.data, second.data, third.data, fourth.data, nameText, network])
  const empty = subjects.filter(({ indices }) => indices.length === 0)
  const known = all.data?.reply.entities.map(({ name }) => name) ?? []
  const choose = (at: number, name: string) =>
    onChoose({ [kind]: names.toSpliced(at, 1, name).filter((other) => other !== '') })
  return (
    <>
      <section className="card row" aria-label={`Selected ${kind}s`}>
        {networkChoice}
        {ordinals.slice(0, Math.max(2, names.length + 1)).map((ordinal, at) => (
          <Choice
            key={ordinal}
            label={`${ordinal} ${kind}`}
            value={names[at] ?? ''}
            options={['', ...optionsOf(known, names, names[at])]}
            labels={(name) => name || (at < 2 ? 'choose…' : 'none')}
            onChoose={(name) => choose(at, name)}
          />
        ))}
      </section>
      <QueryResult of={all}>{() => null}</QueryResult>
      {names.map((name, at) => (
        <Loading key={name} name={name} query={members[at]} />
      ))}
      {empty.map(({ name }) => (
        <p key={name} className="note">
          {name} has no validators on {network}. Choose another {kind} or network.
        </p>
      ))}
      {names.length < 2 ? (
        <p className="note">Choose two to four {kind}s above.</p>
      ) : (
        subjects.length === names.length && empty.length === 0 && children(subjects)
      )}
    </>
  )
}

/** The names that are not chosen elsewhere. A name from the address is an option even if the server does not list it. */
const optionsOf = (
  known: readonly string[],
  chosen: readonly string[],
  selected: string | undefined,
): readonly string[] => [
  ...(selected === undefined || known.includes(selected) ? [] : [selected]),
  ...known.filter((name) => name === selected || !chosen.includes(name)),
]

function Loading({ name, query }: { readonly name: string; readonly query: UseQueryResult<Members> | undefined }) {
  if (!query) return null
  return (
    <QueryResult of={query} waiting={`Loading the validators of ${name}…`}>
      {({ indices, hasMore }) =>
        hasMore && (
          <p className="note warn">
            {name} has more than {formatCount(indices.length)} validators. Only the first {formatCount(indices.length)}{' '}
            are compared.
          </p>
        )
      }
    </QueryResult>
  )
}
