// The context of a server or a command: stores, settings, clock, and everything that is kept in memory between requests.
import { createExplorerCaches, type ExplorerContext } from '#groups/explorer/context.ts'
import { createFxCaches, type FxContext } from '#groups/fx/context.ts'
import { createMarketsCaches, type MarketsContext } from '#groups/markets/context.ts'
import { createValidatorsCaches, type ValidatorsContext } from '#groups/validators/context.ts'
import { createStreamProgress } from '#ingest/stream-progress.ts'
import type { Context } from '#serve/context.ts'

export type AppContext = Context & ExplorerContext & FxContext & ValidatorsContext & MarketsContext

/** With empty caches. */
export const createContext = ({ state, duties, settings, clock, random, log }: Context): AppContext => ({
  ...{ state, duties, settings, clock, random, log },
  streams: createStreamProgress(),
  explorer: createExplorerCaches(),
  fx: createFxCaches(),
  validators: createValidatorsCaches(),
  markets: createMarketsCaches(),
})
