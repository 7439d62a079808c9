// Finds the validators that an income statement is about: by index, key, pool, node operator or address.
import type { extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { namedMax } from '#api/contract/wire/validators.ts'
import type { StateReader } from '#storage/state.ts'
import { listIndices } from '#validators/registry/list-indices.ts'
import { indicesOf } from '#validators/registry/registry.ts'
import { invalidInput } from '#validators/requests/requested-epochs.ts'

export type IncomeQuery = Parsed<(typeof extensions)['validators.income']>

const listed = ['pool', 'nodeOperator', 'depositAddress', 'withdrawalAddress'] as const
const selections = ['indices', 'pubkeys', ...listed] as const

/** Distinct. Unknown keys are ignored. Empty: no validator has this pool, operator or address. */
export async function selectValidators(state: StateReader, query: IncomeQuery): Promise<readonly number[]> {
  const given = selections.filter((name) => query[name] !== undefined)
  if (given.length !== 1) {
    const message = `name the validators by one of ${selections.join(', ')}`
    throw invalidInput((given.length === 0 ? selections : given).map((name) => ({ at: ['query', name], message })))
  }
  if (query.indices) return [...new Set(query.indices)]
  if (query.pubkeys) return indicesOf(state, query.network, query.pubkeys)
  const by = listed.find((name) => query[name] !== undefined) as (typeof listed)[number]
  const selection = { by, value: query[by] as string }
  const found = await listIndices(state, query.network, selection, { from: 0, count: namedMax + 1 })
  if (found.length <= namedMax) return found
  const message = `has more than ${namedMax} validators; request them in parts, by indices`
  throw invalidInput([{ at: ['query', by], message }])
}
