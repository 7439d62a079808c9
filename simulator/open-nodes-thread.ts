// Opens the simulated nodes of the demo on a thread of their own: simulating five weeks takes a second, during which the
// server starts and responds.
import { openThread } from '#runtime/worker-thread.ts'
import type { ChainNodes } from './explorer/chains.ts'
import type { DemoNodes, NodeUrls } from './nodes.ts'

/** Twice what the first start needs. By default, V8 lets much more garbage accumulate before it collects it. */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 96 }

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
    openChains: async (nowUnix) => ({
      urls: await thread.call<ChainNodes['urls']>('openChains', nowUnix),
      [Symbol.asyncDispose]: () => thread.call('closeChains', undefined),
    }),
    [Symbol.asyncDispose]: () => thread.close(),
  }
}
