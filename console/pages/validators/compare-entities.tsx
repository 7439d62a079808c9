// Selection of two to four pools or operators to compare, and their validators.
import type { Network } from '#api/contract/wire/validators.ts'
import type { EntityKind } from '#api/contract/wire/validators-entities.ts'
import { Choice } from '../../parts/controls.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { useCalls, useEndpoint } from '../../use-endpoint.ts'
import type { ComparisonProps } from './side-by-side.ts'

/** The maximum of one response. */
const perPage = 1000
const ordinals = ['First', 'Second', 'Third', 'Fourth'] as const

interface CompareEntitiesProps extends ComparisonProps {
  readonly kind: EntityKind
  /** Different names, at most four. */
  readonly names: readonly string[]
}

export function CompareEntities({ kind, names, network, networkChoice, onChoose, children }: CompareEntitiesProps) {
  const all = useEndpoint('validators.entities', { network, kind, sort: 'name', limit: perPage })
  const members = useMembers(network, kind, names)
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
      {names.length < 2 ? (
        <p className="note">Choose two to four {kind}s above.</p>
      ) : (
        <QueryResult of={members} waiting="Loading the validators…">
          {(subjects) => {
            const empty = subjects.filter(({ indices }) => indices.length === 0)
            if (empty.length === 0) return children(subjects)
            return empty.map(({ name }) => (
              <p key={name} className="note">
                {name} has no validators on {network}. Choose another {kind} or network.
              </p>
            ))
          }}
        </QueryResult>
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

/** The first validators of each pool or operator: enough to find their newest day. */
const useMembers = (network: Network, kind: EntityKind, names: readonly string[]) =>
  useCalls(
    ['members', network, kind, names],
    ({ client, signal }) =>
      Promise.all(
        names.map(async (name) => {
          const input = { network, limit: perPage, ...(kind === 'pool' ? { pool: name } : { nodeOperator: name }) }
          const { validators } = await client.validators.find(input, { signal })
          return { kind, name, indices: validators.map(({ validatorIndex }) => validatorIndex) }
        }),
      ),
    { staleMs: 60_000 },
  )
