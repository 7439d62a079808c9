// What the label search keeps in memory, besides the caches of the explorer.
import type { ExplorerContext } from '../../context.ts'
import type { LabelTable } from './search-table.ts'

export type LabelSearchContext = ExplorerContext & {
  readonly labelSearch: ReturnType<typeof createLabelSearchCache>
}

export const createLabelSearchCache = () => ({
  /** Read by the first search. */
  table: undefined as Promise<LabelTable> | undefined,
})
