// Finds the validators that a request is about: by index, key, pool, node operator or address, or the watch list.
import type { extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { type Network, namedMax } from '#api/contract/wire/validators.ts'
import type { ValidatorsContext } from '#validators/context.ts'
import { readWatched } from '#validators/duties/watch-ranges.ts'
import { listIndices } from '#validators/registry/list-indices.ts'
import { indicesOf } from '#validators/registry/registry.ts'
import { invalidInput } from '#validators/requests/requested-epochs.ts'

export type IncomeQuery = Parsed<(typeof extensions)['validators.income']>

/** What an endpoint about several validators is asked for. */
type Selected = Pick<IncomeQuery, 'network' | (typeof selections)[number]>

const listed = ['pool', 'nodeOperator', 'depositAddress', 'withdrawalAddress'] as const
const selections = ['indices', 'pubkeys', ...listed, 'watched'] as const

/** How the request names the validators. */
export const selectionsIn = (query: Selected): (typeof selections)[number][] =>
  selections.filter((name) => query[name] !== undefined && query[name] !== false)

/** Distinct. Unknown keys are ignored. Empty: no validator has this pool, operator or address. */
export async function selectValidators(
  { ingest, duties }: Pick<ValidatorsContext, 'ingest' | 'duties'>,
  query: Selected,
): Promise<readonly number[]> {
  const given = selectionsIn(query)
  if (given.length !== 1) {
    const message = `name the validators by one of ${selections.join(', ')}`
    throw invalidInput((given.length === 0 ? selections : given).map((name) => ({ at: ['query', name], message })))
  }
  if (query.indices) return [...new Set(query.indices)]
  if (query.pubkeys) return indicesOf(ingest, query.network, query.pubkeys)
  const by = listed.find((name) => query[name] !== undefined) ?? 'watched'
  const found =
    by === 'watched'
      ? await listWatched(duties, query.network)
      : await listIndices(ingest, query.network, { by, value: query[by] as string }, { from: 0, count: namedMax + 1 })
  if (found.length <= namedMax) return found
  const message = `has more than ${namedMax} validators; request them in parts, by indices`
  throw invalidInput([{ at: ['query', by], message }])
}

async function listWatched(duties: ValidatorsContext['duties'], network: Network): Promise<readonly number[]> {
  const watched = await readWatched(duties, network)
  if (watched !== undefined && watched !== 'everyone') return [...watched]
  const message = `needs a watch list with stored epochs of ${network}; set validators.networks.${network}.watch or watchFile`
  throw invalidInput([{ at: ['query', 'watched'], message }])
}
