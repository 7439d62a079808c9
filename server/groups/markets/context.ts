// What the markets group keeps in memory while the server runs.
import type { Context } from '#serve/context.ts'
import { cacheUntilVersionChanges, type VersionCache } from '#store/version-cache.ts'
import type { Coverage } from './coverage.ts'
import type { Forms } from './ready.ts'
import { ResponseCache } from './response-cache.ts'
import { StreamSlots } from './stream-slots.ts'

export interface MarketsCaches {
  readonly coverage: VersionCache<Coverage>
  /** By slug. */
  readonly responses: ResponseCache<Forms>
  readonly streamSlots: StreamSlots
}

/** The group keeps nothing in the duties database. */
export type MarketsContext = Omit<Context, 'duties'> & { readonly markets: MarketsCaches }

export const createMarketsCaches = (): MarketsCaches => ({
  coverage: cacheUntilVersionChanges(),
  responses: new ResponseCache(),
  streamSlots: new StreamSlots(),
})
