// Reads the validators of each pool and operator, for the daily summaries of a network.
import type { Network } from '#api/contract/wire/validators.ts'
import type { State } from '#storage/state.ts'
import type { SummaryEntities } from '../../duties/daily-summaries.ts'
import { entitiesVersion } from '../../registry/entities.ts'

export async function readSummaryEntities(state: State, network: Network): Promise<SummaryEntities> {
  const version = await entitiesVersion(state, network)
  const list: { kind: 'pool' | 'operator'; name: string }[] = []
  const [validators, entityIndices]: [number[], number[]] = [[], []]
  for (const [kind, sql] of queries) {
    const indexOfName = new Map<string, number>()
    for await (const { name, validator } of state.each<{ name: string; validator: number }>(sql, network)) {
      const entity = indexOfName.getOrInsertComputed(name, () => list.push({ kind, name }) - 1)
      validators.push(validator)
      entityIndices.push(entity)
    }
  }
  return { version, list, validators: Int32Array.from(validators), entityIndices: Int32Array.from(entityIndices) }
}

const queries = [
  [
    'pool',
    'select pool as name, validator_index as validator from validator_entities where network = ? and pool is not null',
  ],
  ['operator', 'select operator as name, validator_index as validator from validator_operators where network = ?'],
] as const
