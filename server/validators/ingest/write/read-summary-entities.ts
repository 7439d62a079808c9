// Reads which validators belonged to each pool and operator on which days, for the daily summaries of a network.
import type { Network } from '#api/contract/wire/validators.ts'
import type { State } from '#storage/state.ts'
import type { SummaryEntities } from '../../duties/daily-summaries.ts'
import { entitiesVersion, readEntityChanges } from '../../entities/memberships.ts'
import { openEnd } from '../../entities/periods.ts'

interface Row {
  readonly validator: number
  readonly from: number
  readonly until: number | null
  readonly field: 'pool' | 'operators'
  readonly name: string | null
  readonly operators: string
}

/** The version is read first, so that a change in between is summarized again. */
export async function readSummaryEntities(state: State, network: Network): Promise<SummaryEntities> {
  const version = await entitiesVersion(state, network)
  const list: { kind: 'pool' | 'operator'; name: string }[] = []
  const indexOf = { pool: new Map<string, number>(), operator: new Map<string, number>() }
  const entityAt = (kind: 'pool' | 'operator', name: string) =>
    indexOf[kind].getOrInsertComputed(name, () => list.push({ kind, name }) - 1)
  /** Many validators have the same operators. */
  const operatorsOf = new Map<string, number[]>()
  const parseOperators = (text: string) =>
    operatorsOf.getOrInsertComputed(text, () =>
      (JSON.parse(text) as string[]).map((name) => entityAt('operator', name)),
    )
  const columns = { validators: [], entityIndices: [], fromDays: [], untilDays: [] } as Record<string, number[]>
  const sql = `select validator_index as validator, from_day as "from", until_day as "until", field, name, operators
    from validator_entities where network = ? and field in ('pool', 'operators')`
  for await (const { validator, from, until, field, name, operators } of state.each<Row>(sql, network)) {
    const members =
      field === 'operators' ? new Set(parseOperators(operators)) : name === null ? [] : [entityAt('pool', name)]
    for (const entity of members) {
      columns.validators?.push(validator)
      columns.entityIndices?.push(entity)
      columns.fromDays?.push(from)
      columns.untilDays?.push(until ?? openEnd)
    }
  }
  const column = (name: keyof typeof columns) => Int32Array.from(columns[name] ?? [])
  return {
    ...{ version, changes: await readEntityChanges(state, network), list },
    ...{ validators: column('validators'), entityIndices: column('entityIndices') },
    ...{ fromDays: column('fromDays'), untilDays: column('untilDays') },
  }
}
