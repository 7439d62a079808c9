// Opens the simulated nodes of the demo on a thread of their own: simulating five weeks takes a second, during which the
// server starts and responds.
import { openThread } from '#runtime/worker-thread.ts'
import type { DemoNodes, NodeUrls } from './nodes.ts'
import type { PastSources, PastUrls } from './past-sources.ts'
import type { PastSourcesStart } from './past-sources-thread.ts'

/** Three times what the simulation needs. By default, V8 lets much more garbage accumulate before it collects it. */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 }

/** The thread starts at once. With the system clock. */
export function openNodesThread(seed: string): DemoNodes {
  const thread = openThread(new URL('./nodes-thread.ts', import.meta.url), seed, { resourceLimits })
  const urls = thread.call<NodeUrls>('urls', undefined)
  // An error is reported by `urls()`.
  urls.catch(() => {})
  return {
    urls: () => urls,
    setGenesis: (network, genesisUnix) => thread.call('setGenesis', { network, genesisUnix }),
    setCreated: (atMs) => thread.call('setCreated', atMs),
    simulatePast: () => thread.call('simulatePast', undefined),
    forgetPast: () => thread.call('forgetPast', undefined),
    openPast: (atMs) => openPastThread({ seed, atMs }),
    [Symbol.asyncDispose]: () => thread.close(),
  }
}

/** Another thread, because the first start waits for both. It ends with the sources. */
async function openPastThread(start: PastSourcesStart): Promise<PastSources> {
  const thread = openThread(new URL('./past-sources-thread.ts', import.meta.url), start)
  try {
    const urls = await thread.call<PastUrls>('urls', undefined)
    return { ...urls, [Symbol.asyncDispose]: () => thread.close() }
  } catch (error) {
    await thread.close()
    throw error
  }
}
