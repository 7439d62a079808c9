// Builds and compresses the download files after a change, so that the first download does not wait for it
// (decisions/build-label-files-ahead-in-memory.md). Each process builds its own files in memory.
import { errorMessage } from '#core/error-message.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { getListHead, listsMax, prepareEncodings } from './finished-lists.ts'
import { exportForms } from './signed-link.ts'

/** Changes often come in series, so files are built after a pause. */
const quietMs = 2000

export async function prepareLists(context: ExplorerContext, signal: AbortSignal): Promise<void> {
  const { settings, clock, log } = context
  if (!settings.groups.explorer.enabled) return
  const chains = settings.explorer.chains.map(({ id }) => id)
  const prepareChanged = createListPreparer(context, chains, signal)
  let lastReason = ''
  while (!signal.aborted) {
    try {
      await prepareChanged()
      lastReason = ''
    } catch (error) {
      // Requests for the list report the error too, so log it once.
      const reason = errorMessage(error)
      if (reason !== lastReason) log.warn({ reason }, 'label lists could not be prepared')
      lastReason = reason
    }
    await clock.sleep(quietMs, signal)
  }
}

/** Builds the lists of chains that changed since the last build, but not since the previous call. */
export function createListPreparer(
  context: ExplorerContext,
  chains: readonly string[],
  signal?: AbortSignal,
): () => Promise<void> {
  const seen = new Map<string, number>()
  const preparedRevisions = new Map<string, number>()
  // Further chains would evict each other from the cache. Their lists are built on request.
  const prepared = chains.slice(0, Math.floor(listsMax / exportForms.length))
  return async () => {
    for (const chain of prepared) {
      const { revision = 0, entries = 0 } = (await getListHead(context, chain)) ?? {}
      const before = seen.get(chain) ?? revision
      seen.set(chain, revision)
      if (entries === 0 || before !== revision || preparedRevisions.get(chain) === revision) continue
      for (const form of exportForms) {
        if (signal?.aborted) return
        await prepareEncodings(context, chain, form)
      }
      preparedRevisions.set(chain, revision)
    }
  }
}
