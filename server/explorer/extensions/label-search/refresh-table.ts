// Reads a changed table of the label search ahead of the next search, so that the search does not wait for it.
import { errorMessage } from '#core/error-message.ts'
import { joinWork } from '#core/shared-work.ts'
import { lastChange } from '../../labels/history.ts'
import type { LabelSearchContext } from './context.ts'
import { entriesMax, getSearchTable, type LabelTable, type TableContext } from './search-table.ts'

/** Changes often come in series, so the table is read after a pause. */
const quietMs = 2000

/** Runs until the signal aborts. */
export async function refreshTable(context: LabelSearchContext, signal: AbortSignal): Promise<void> {
  const { settings, clock, log } = context
  if (!settings.groups.explorer.enabled) return
  const refresh = createTableRefresher(context)
  let lastReason = ''
  while (!signal.aborted) {
    try {
      await refresh()
      lastReason = ''
    } catch (error) {
      // Searches report the error too, so log it once.
      const reason = errorMessage(error)
      if (reason !== lastReason) log.warn({ reason }, 'the table of the label search could not be read')
      lastReason = reason
    }
    await clock.sleep(quietMs, signal)
  }
}

/** Call it again and again. It reads the changes of a used table, but not while further changes arrive. */
export function createTableRefresher(context: TableContext): () => Promise<void> {
  let seen: number | undefined
  return async () => {
    const reading = context.labelSearch.table
    const table = await (reading && joinWork<LabelTable | undefined>(reading, () => undefined))
    if (!table?.entries) return
    const change = await lastChange(context.ingest)
    if (change === seen && change !== table.change) await getSearchTable(context, entriesMax)
    seen = change
  }
}
