// Opens the simulated nodes of the demo networks on a thread of their own: simulating five weeks takes a second, during
// which the server starts and responds.
import { openThread } from '#runtime/worker-thread.ts'
import type { DemoNodes, NodeUrls } from './nodes.ts'

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
    simulatePast: () => thread.call('simulatePast', undefined),
    forgetPast: () => thread.call('forgetPast', undefined),
    [Symbol.asyncDispose]: () => thread.close(),
  }
}
