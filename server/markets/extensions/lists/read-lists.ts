// Selects the records of a list from one snapshot, with the values by which it filters and orders them.
import type { StateReader } from '#storage/state.ts'
import type { ListView } from '../../columns/list-view.ts'
import type { MarketsContext } from '../../context.ts'
import { readWithCoverage } from '../../read/feed-coverage.ts'

export interface ListReader {
  readonly reader: StateReader
  /** Of the snapshot of the reader. */
  readonly view: ListView
}

/** As `readWithCoverage`. */
export const readLists = <T>(context: MarketsContext, work: (lists: ListReader) => Promise<T>) => {
  const { lists } = context.markets
  return readWithCoverage(
    context,
    async (reader) => work({ reader, view: await lists.read(reader) }),
    (reader) => lists.isRecent(reader),
  )
}
