// What the explorer group keeps in memory while the server runs. The context holds it, so that two servers in one process
// share nothing.
import type { Context } from '#serve/context.ts'
import { cacheUntilVersionChanges, type VersionCache } from '#store/version-cache.ts'
import type { IndexTrouble } from './index-trouble.ts'
import type { LabelTable } from './label-table.ts'
import type { ListHead } from './labels.ts'
import type { CachedList } from './lists.ts'
import type { ChainNode } from './node.ts'
import type { FundingAnswer } from './probe.ts'
import type { Standing } from './standing.ts'

export interface ExplorerCaches {
  /** By chain id. Opened when first needed. */
  readonly nodes: Map<string, ChainNode>
  /** Searches that are running, by chain and address. */
  readonly searches: Map<string, Promise<FundingAnswer>>
  /** By chain id. */
  readonly coverage: VersionCache<Standing>
  /** By chain id. */
  readonly indexTroubles: Map<string, IndexTrouble>
  /** By chain id. */
  readonly listHeads: VersionCache<ListHead | undefined>
  /** By chain id and form, the one used longest ago first. */
  readonly lists: Map<string, CachedList>
  labelTable: Promise<LabelTable> | undefined
  linkSecret: Uint8Array | undefined
}

/** The group keeps nothing in the duties database. */
export type ExplorerContext = Omit<Context, 'duties'> & { readonly explorer: ExplorerCaches }

export const createExplorerCaches = (): ExplorerCaches => ({
  nodes: new Map(),
  searches: new Map(),
  coverage: cacheUntilVersionChanges(),
  indexTroubles: new Map(),
  listHeads: cacheUntilVersionChanges(),
  lists: new Map(),
  labelTable: undefined,
  linkSecret: undefined,
})
