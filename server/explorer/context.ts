// The caches of the explorer group. They belong to the context, so that two servers in one process share nothing.
import type { Context } from '#http/context.ts'
import { cacheUntilVersionChanges, type VersionCache } from '#storage/version-cache.ts'
import type { ChainCoverage } from './funding/chain-coverage.ts'
import type { IndexProblems } from './funding/index/problems.ts'
import type { FundingResult } from './funding/probe/probe.ts'
import type { ListHead } from './labels/labels.ts'
import type { CachedList } from './labels/lists/finished-lists.ts'
import type { StateLocation } from './labels/lists/write-list.ts'
import type { LabelTable } from './labels/search-table.ts'
import type { ChainNode } from './nodes.ts'

export interface ExplorerCaches {
  /** By chain id. Opened when first needed. */
  readonly nodes: Map<string, ChainNode>
  /** Searches that are running, by chain and address. */
  readonly searches: Map<string, Promise<FundingResult>>
  /** By chain id. */
  readonly coverage: VersionCache<ChainCoverage>
  /** By chain id. */
  readonly indexProblems: Map<string, IndexProblems>
  /** By chain id. */
  readonly listHeads: VersionCache<ListHead | undefined>
  /** By chain id and format, the least recently used first. */
  readonly lists: Map<string, CachedList>
  /** Where a thread finds the labels. Undefined: lists are written in this thread, as in commands and most tests. */
  listsOnThread: StateLocation | undefined
  labelTable: Promise<LabelTable> | undefined
  linkSecret: Uint8Array | undefined
}

/** The group does not use the duties database. */
export type ExplorerContext = Omit<Context, 'duties'> & { readonly explorer: ExplorerCaches }

export const createExplorerCaches = (): ExplorerCaches => ({
  nodes: new Map(),
  searches: new Map(),
  coverage: cacheUntilVersionChanges(),
  indexProblems: new Map(),
  listHeads: cacheUntilVersionChanges(),
  lists: new Map(),
  listsOnThread: undefined,
  labelTable: undefined,
  linkSecret: undefined,
})
