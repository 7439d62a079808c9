// The files behind the links are made and packed after a change, before anybody asks for them (decision 0175): whoever comes
// first need not wait for a second. Each process makes its own, in memory, on the pool's threads as far as packing goes.

import type { ExplorerContext } from './context.ts'
import { exportForms } from './link.ts'
import { listsMax, packedList, presentHead } from './lists.ts'

/** Changes often come in rows: nothing is made until none has come for so long. */
const calmMs = 2000

export async function keepListsReady(context: ExplorerContext, signal: AbortSignal): Promise<void> {
  const { settings, clock, log } = context
  if (!settings.groups.explorer.on) return
  const chains = settings.explorer.chains.map(({ id }) => id)
  const round = listMaker(context, chains, signal, settings.explorer.labels.csvForSpreadsheets)
  let said = ''
  while (!signal.aborted) {
    try {
      await round()
      said = ''
    } catch (error) {
      // Whoever asks for a list is told as well; here once is enough.
      const reason = error instanceof Error ? error.message : String(error)
      if (reason !== said) log.warn({ reason }, 'label lists could not be made ahead')
      said = reason
    }
    await clock.sleep(calmMs, signal)
  }
}

/** Makes the lists of chains that are as they were a round ago, and have changed since their lists were made. */
export function listMaker(
  context: ExplorerContext,
  chains: readonly string[],
  signal?: AbortSignal,
  forSpreadsheets = false,
): () => Promise<void> {
  const seen = new Map<string, number>()
  const made = new Map<string, number>()
  // More would push each other out; they are made when they are asked for.
  const kept = chains.slice(0, Math.floor(listsMax / exportForms.length))
  return async () => {
    for (const chain of kept) {
      const { revision = 0, entries = 0 } = (await presentHead(context, chain)) ?? {}
      const before = seen.get(chain) ?? revision
      seen.set(chain, revision)
      if (entries === 0 || before !== revision || made.get(chain) === revision) continue
      for (const form of exportForms) {
        if (signal?.aborted) return
        await packedList(context, chain, form, forSpreadsheets)
      }
      made.set(chain, revision)
    }
  }
}
