// The validators of a network's watch list that are stored at present, with what alerts and metrics need from the
// registry.
import type { Network } from '#api/wire/validators.ts'
import type { StateReader } from '#storage/state.ts'
import type { ValidatorsContext } from '../context.ts'
import { readWatched } from '../duties/watch-ranges.ts'

export interface WatchedValidator {
  readonly index: number
  readonly pool: string | null
  /** The first node operator. */
  readonly operator: string | null
  /** When it was put into the queue of activations. */
  readonly eligibilityEpoch: number | null
  readonly activationEpoch: number | null
  readonly exitEpoch: number | null
}

/** Well below the parameter limit of both database engines. */
const indicesPerQuery = 500

/** By index. Empty if the network has no watch list, or no epoch was stored with it yet. */
export async function readWatchedValidators(
  { state, duties }: Pick<ValidatorsContext, 'state' | 'duties'>,
  network: Network,
): Promise<ReadonlyMap<number, WatchedValidator>> {
  const watched = await readWatched(duties, network)
  if (watched === undefined || watched === 'everyone') return new Map()
  const indices = [...watched].sort((a, b) => a - b)
  const validators = new Map<number, WatchedValidator>()
  for (let from = 0; from < indices.length; from += indicesPerQuery) {
    const rows = await readRows(state, network, indices.slice(from, from + indicesPerQuery))
    for (const { validator_index: index, pool, node_operators, ...epochs } of rows) {
      const [operator = null] = JSON.parse(node_operators ?? '[]') as string[]
      const { activation_eligibility_epoch, activation_epoch, exit_epoch } = epochs
      validators.set(index, {
        index,
        pool,
        operator,
        eligibilityEpoch: activation_eligibility_epoch,
        activationEpoch: activation_epoch,
        exitEpoch: exit_epoch,
      })
    }
  }
  return validators
}

interface WatchedRow {
  readonly validator_index: number
  readonly pool: string | null
  /** JSON list. */
  readonly node_operators: string | null
  readonly activation_eligibility_epoch: number | null
  readonly activation_epoch: number | null
  readonly exit_epoch: number | null
}

const readRows = (state: StateReader, network: Network, indices: readonly number[]): Promise<WatchedRow[]> =>
  state.all<WatchedRow>(
    `select v.validator_index, e.pool, e.node_operators,
       v.activation_eligibility_epoch, v.activation_epoch, v.exit_epoch from validators v
     left join validator_entities e on e.network = v.network and e.validator_index = v.validator_index
     where v.network = ? and v.validator_index in (${indices.map(() => '?').join()}) order by v.validator_index`,
    network,
    ...indices,
  )

export const isActiveAt = ({ activationEpoch, exitEpoch }: WatchedValidator, epoch: number): boolean =>
  activationEpoch !== null && activationEpoch <= epoch && (exitEpoch === null || exitEpoch > epoch)
