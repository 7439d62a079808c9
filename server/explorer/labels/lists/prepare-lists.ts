// The files behind the links are made and packed after a change, before anybody asks for them (decisions/build-label-files-ahead-in-memory.md): whoever comes
// first need not wait for a second. Each process makes its own, in memory, on the pool's threads as far as packing goes.

import type { ExplorerContext } from '#explorer/context.ts'
import { getListHead, listsMax, prepareEncodings } from './finished-lists.ts'
import { exportForms } from './signed-link.ts'

/** Changes often come in rows: nothing is made until none has come for so long. */
const quietMs = 2000

export async function prepareLists(context: ExplorerContext, signal: AbortSignal): Promise<void> {
  const { settings, clock, log } = context
  if (!settings.groups.explorer.on) return
  const chains = settings.explorer.chains.map(({ id }) => id)
  const prepareChanged = createListPreparer(context, chains, signal, settings.explorer.labels.csvForSpreadsheets)
  let lastReason = ''
  while (!signal.aborted) {
    try {
      await prepareChanged()
      lastReason = ''
    } catch (error) {
      // Whoever asks for a list is told as well; here once is enough.
      const reason = error instanceof Error ? error.message : String(error)
      if (reason !== lastReason) log.warn({ reason }, 'label lists could not be made ahead')
      lastReason = reason
    }
    await clock.sleep(quietMs, signal)
  }
}

/** Makes the lists of chains that are as they were a round ago, and have changed since their lists were made. */
export function createListPreparer(
  context: ExplorerContext,
  chains: readonly string[],
  signal?: AbortSignal,
  forSpreadsheets = false,
): () => Promise<void> {
  const seen = new Map<string, number>()
  const preparedRevisions = new Map<string, number>()
  // More would push each other out; they are made when they are asked for.
  const prepared = chains.slice(0, Math.floor(listsMax / exportForms.length))
  return async () => {
    for (const chain of prepared) {
      const { revision = 0, entries = 0 } = (await getListHead(context, chain)) ?? {}
      const before = seen.get(chain) ?? revision
      seen.set(chain, revision)
      if (entries === 0 || before !== revision || preparedRevisions.get(chain) === revision) continue
      for (const form of exportForms) {
        if (signal?.aborted) return
        await prepareEncodings(context, chain, form, forSpreadsheets)
      }
      preparedRevisions.set(chain, revision)
    }
  }
}
