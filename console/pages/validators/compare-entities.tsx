// Selection of two to four pools or operators to compare, and their validators.
import type { UseQueryResult } from '@tanstack/preact-query'
import type { Client } from '#api/client.ts'
import type { Network } from '#api/wire/validators.ts'
import type { EntityKind } from '#api/wire/validators-entities.ts'
import { Choice } from '../../parts/controls.tsx'
import { formatCount } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { useCalls, useEndpoint } from '../../use-endpoint.ts'
import type { ComparisonProps, Subject } from './side-by-side.ts'

/** The maximum of one response. */
const perPage = 1000
/** The maximum of one request about effectiveness. */
const indicesMax = 10_000
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
          {(subjects) => (
            <>
              {subjects.map((subject) => (
                <MembersNote key={subject.name} {...{ subject, network, kind }} />
              ))}
              {subjects.every(({ indices }) => indices.length > 0) && children(subjects)}
            </>
          )}
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

interface Members extends Subject {
  /** There are more than one request about effectiveness accepts. */
  readonly hasMore: boolean
}

const useMembers = (network: Network, kind: EntityKind, names: readonly string[]): UseQueryResult<readonly Members[]> =>
  useCalls(
    ['members', network, kind, names],
    ({ client, signal }) => Promise.all(names.map((name) => readMembers(client, network, kind, name, signal))),
    { staleMs: 60_000 },
  )

async function readMembers(
  client: Client,
  network: Network,
  kind: EntityKind,
  name: string,
  signal: AbortSignal,
): Promise<Members> {
  const indices: number[] = []
  const input = { network, ...(kind === 'pool' ? { pool: name } : { nodeOperator: name }), limit: perPage }
  for await (const { validatorIndex } of client.records('validators.find', input, { signal })) {
    if (indices.length === indicesMax) return { name, indices, hasMore: true }
    indices.push(validatorIndex)
  }
  return { name, indices, hasMore: false }
}

interface MembersNoteProps {
  readonly subject: Members
  readonly network: Network
  readonly kind: EntityKind
}

function MembersNote({ subject: { name, indices, hasMore }, network, kind }: MembersNoteProps) {
  const count = formatCount(indices.length)
  if (indices.length === 0)
    return (
      <p className="note">
        {name} has no validators on {network}. Choose another {kind} or network.
      </p>
    )
  if (!hasMore) return null
  return (
    <p className="note warn">
      {name} has more than {count} validators. Only the first {count} are compared.
    </p>
  )
}
