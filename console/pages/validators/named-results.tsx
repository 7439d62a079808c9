// Results of a search by name: the validators of the pool or operator with exactly this name, and all pools and operators
// whose names contain it.
import type { Network } from '#api/contract/wire/validators.ts'
import type { EntityKind } from '#api/contract/wire/validators-entities.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { EntityList } from './entities.tsx'
import { ValidatorResults } from './results.tsx'

interface NamedResultsProps {
  readonly network: Network
  readonly name: string
}

export function NamedResults({ network, name }: NamedResultsProps) {
  const pools = useEndpoint('validators.entities', { network, kind: 'pool', q: name, limit: 1000 })
  const operators = useEndpoint('validators.entities', { network, kind: 'operator', q: name, limit: 1000 })
  return (
    <QueryResult of={pools} waiting="Searching…">
      {(foundPools) => (
        <QueryResult of={operators} waiting="Searching…">
          {(foundOperators) => (
            <>
              {foundPools.reply.total + foundOperators.reply.total === 0 && (
                <p className="note">
                  No pool or operator on {network} has “{name}” in its name. Check the spelling, or try another network.
                </p>
              )}
              <Named kind="pool" {...{ network, name }} names={foundPools.reply.entities.map((pool) => pool.name)} />
              <Named
                kind="operator"
                {...{ network, name }}
                names={foundOperators.reply.entities.map((operator) => operator.name)}
              />
            </>
          )}
        </QueryResult>
      )}
    </QueryResult>
  )
}

const titles: Readonly<Record<EntityKind, readonly [validators: string, others: string]>> = {
  pool: ['Validators in pool', 'Pools with a matching name'],
  operator: ['Validators of operator', 'Operators with a matching name'],
}

interface NamedProps extends NamedResultsProps {
  readonly kind: EntityKind
  readonly names: readonly string[]
}

function Named({ kind, network, name, names }: NamedProps) {
  const [validatorsTitle, othersTitle] = titles[kind]
  return (
    <>
      {names.includes(name) && (
        <ValidatorResults
          title={`${validatorsTitle} ${name}`}
          network={network}
          query={{ [kind === 'pool' ? 'pool' : 'nodeOperator']: name }}
        />
      )}
      {names.some((other) => other !== name) && (
        <EntityList title={othersTitle} network={network} kind={kind} q={name} />
      )}
    </>
  )
}
