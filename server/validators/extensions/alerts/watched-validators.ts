// The validators of a network's watch list that are stored at present, with what alerts and metrics need from the
// registry.
import type { Network } from '#api/contract/wire/validators.ts'
import type { ValidatorsContext } from '../../context.ts'
import { readWatched } from '../../duties/watch-ranges.ts'
import { readEntries } from '../../registry/registry.ts'

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

/** By index. Empty if the network has no watch list, or no epoch was stored with it yet. */
export async function readWatchedValidators(
  { ingest, duties }: Pick<ValidatorsContext, 'ingest' | 'duties'>,
  network: Network,
): Promise<ReadonlyMap<number, WatchedValidator>> {
  const watched = await readWatched(duties, network)
  if (watched === undefined || watched === 'everyone') return new Map()
  const entries = await readEntries(ingest, network, [...watched])
  return new Map(
    entries.map(({ index, entity, activationEligibilityEpoch, activationEpoch, exitEpoch }) => {
      const [pool, operator] = [entity?.pool ?? null, entity?.nodeOperators[0] ?? null]
      return [
        index,
        { index, pool, operator, eligibilityEpoch: activationEligibilityEpoch, activationEpoch, exitEpoch },
      ]
    }),
  )
}

export const isActiveAt = ({ activationEpoch, exitEpoch }: WatchedValidator, epoch: number): boolean =>
  activationEpoch !== null && activationEpoch <= epoch && (exitEpoch === null || exitEpoch > epoch)
