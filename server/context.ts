// The context of a server or a command: databases, settings, clock, log, and the caches of all groups.
import { createExplorerCaches, type ExplorerContext } from '#explorer/context.ts'
import { createLabelSearchCache, type LabelSearchContext } from '#explorer/extensions/label-search/context.ts'
import type { StateLocation } from '#explorer/labels/lists/write-list.ts'
import { createFxCaches, type FxContext } from '#fx/context.ts'
import type { Context } from '#http/context.ts'
import { createStreamProgress } from '#ingest/stream-progress.ts'
import { createMarketsCaches, type MarketsContext } from '#markets/context.ts'
import type { ChangesContext } from '#markets/extensions/changes/context.ts'
import { StreamSlots } from '#markets/extensions/changes/stream-slots.ts'
import { ProvenTime } from '#runtime/proven-time.ts'
import type { WorkerThread } from '#runtime/worker-thread.ts'
import { createValidatorsCaches, type ValidatorsContext } from '#validators/context.ts'
import { createOperatorsCaches, type OperatorsContext } from '#validators/extensions/operators/context.ts'

export type AppContext = Context &
  ExplorerContext &
  LabelSearchContext &
  FxContext &
  ValidatorsContext &
  OperatorsContext &
  MarketsContext &
  ChangesContext

/** Of the thread of the ingesters, which does not open what requests write. */
export type IngestContext = Omit<AppContext, 'state' | 'fx' | 'labelSearch' | 'changeStreams' | 'operators'>

/** Without `provenTime`, no time is proven, and nothing is deleted by its age. */
type ContextParts = Omit<Context, 'provenTime'> & Partial<Pick<Context, 'provenTime'>>

/** What a server does on threads; commands and tests do it on the current one. */
export interface ContextThreads {
  /** See explorer/context.ts. */
  readonly listThreadStore?: StateLocation
  /** See markets/threads/thread-query.ts. */
  readonly marketThreads?: WorkerThread
}

/** With empty caches. */
export const createContext = (
  { state, ...parts }: ContextParts,
  { listThreadStore, marketThreads }: ContextThreads = {},
): AppContext => ({
  ...createIngestContext(parts),
  state,
  explorer: createExplorerCaches(listThreadStore),
  markets: createMarketsCaches(parts.clock, marketThreads),
  fx: createFxCaches(parts.clock),
  labelSearch: createLabelSearchCache(),
  changeStreams: new StreamSlots(),
  operators: createOperatorsCaches(),
})

export const createIngestContext = ({
  ingest,
  duties,
  settings,
  clock,
  provenTime = new ProvenTime(clock),
  random,
  log,
}: Omit<ContextParts, 'state'>): IngestContext => ({
  ingest,
  duties,
  settings,
  clock,
  provenTime,
  random,
  log,
  streams: createStreamProgress(),
  explorer: createExplorerCaches(),
  validators: createValidatorsCaches(),
  markets: createMarketsCaches(clock),
})
