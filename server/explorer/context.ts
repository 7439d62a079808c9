// The caches of the explorer group. They belong to the context, so that two servers in one process share nothing.
import type { Context } from '#http/context.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import type { NodeFork } from './chain-forks.ts'
import type { ChainCoverage } from './funding/chain-coverage.ts'
import type { IndexProblems } from './funding/index/problems.ts'
import type { FundingResult } from './funding/probe/probe.ts'
import type { CallSearchWrite } from './funding/search-writes.ts'
import type { ListHead } from './labels/labels.ts'
import type { CachedList } from './labels/lists/finished-lists.ts'
import type { StateLocation } from './labels/lists/write-list.ts'
import type { ChainNode } from './nodes.ts'

/** The group uses what ingesters write. Only the secret of download links is in the state (labels/lists/link-secret.ts). */
export type ExplorerContext = Omit<Context, 'state' | 'duties' | 'provenTime'> & {
  readonly explorer: ReturnType<typeof createExplorerCaches>
}

/** `listThreadStore`: where a thread finds the labels. Undefined: lists are written in this thread, as in commands. */
export const createExplorerCaches = (listThreadStore?: StateLocation) => ({
  /** By chain id. Opened when first needed. */
  nodes: new Map<string, ChainNode>(),
  /**
   * Writes what a search has found on the thread that writes `ingest.sqlite` (background/start-ingest.ts). Undefined on
   * PostgreSQL, in commands and in most tests: the caller writes it.
   */
  writeOnThread: undefined as CallSearchWrite | undefined,
  /** By chain and node: when the incomplete list of the node was requested last, on the monotonic clock. */
  listChecks: new Map<string, number>(),
  /** Searches that are running, by chain and address. */
  searches: new Map<string, Promise<FundingResult>>(),
  /** By chain id. */
  coverage: cacheUntilVersionChanges<ChainCoverage>('fundings', 'coverage'),
  /** By chain id. */
  indexProblems: new Map<string, IndexProblems>(),
  /** By chain id: the problem of each node, as the thread that indexes the chain reports it. */
  reportedTroubles: new Map<string, readonly (string | undefined)[]>(),
  /** By chain id: the next fork of each node, as the thread that tests the nodes has read it. */
  forks: new Map<string, readonly NodeFork[]>(),
  /** By chain id. */
  listHeads: cacheUntilVersionChanges<ListHead | undefined>('labels'),
  /** By chain id and format, the least recently used first. */
  lists: new Map<string, CachedList>(),
  listThreadStore,
  linkSecret: undefined as Uint8Array | undefined,
})
