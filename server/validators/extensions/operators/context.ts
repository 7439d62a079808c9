// The cache of this extension, and the context that its handlers get.
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import type { ValidatorsContext } from '../../context.ts'
import type { EntityRatings } from './entity-ratings.ts'

export const createOperatorsCaches = () => ({
  /** By network, kind, period and version of the entities. */
  entityRatings: cacheUntilVersionChanges<EntityRatings>(),
})

export type OperatorsContext = ValidatorsContext & {
  readonly operators: ReturnType<typeof createOperatorsCaches>
}
