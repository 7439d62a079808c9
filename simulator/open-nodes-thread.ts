// Opens the simulated nodes of the demo on a thread of their own: simulating five weeks takes a second, during which the
// server starts and responds.
import { openThread } from '#runtime/worker-thread.ts'
import type { DemoNodes } from './nodes.ts'
import type { NodesHandlers } from './nodes-thread.ts'
import type { PastHandlers } from './past-sources-thread.ts'

/** Three times what the simulation needs. By default, V8 lets much more garbage accumulate before it collects it. */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 }

/**
 * The thread starts at once. With the system clock. A first start reads the past, which is then simulated while the code
 * of the server is loaded.
 */
export function openNodesThread(seed: string, isFirstStart = false): DemoNodes {
  const thread = openThread<NodesHandlers>(new URL('./nodes-thread.ts', import.meta.url), seed, { resourceLimits })
  // Another thread, because the first start waits for both.
  const pastThread = openThread<PastHandlers>(new URL('./past-sources-thread.ts', import.meta.url), seed)
  const urls = thread.call('urls', undefined)
  const simulatePast = () => thread.call('simulatePast', undefined)
  const started = [urls, ...(isFirstStart ? [simulatePast(), pastThread.call('start', undefined)] : [])]
  // Errors are reported by later calls.
  for (const call of started) call.catch(() => {})
  return {
    urls: () => urls,
    setGenesis: (network, genesisUnix) => thread.call('setGenesis', { network, genesisUnix }),
    setCreated: (atMs) => thread.call('setCreated', atMs),
    simulatePast,
    forgetPast: () => thread.call('forgetPast', undefined),
    async openPast(atMs) {
      const sources = await pastThread.call('open', atMs)
      return { ...sources, [Symbol.asyncDispose]: () => pastThread.close() }
    },
    [Symbol.asyncDispose]: async () => void (await Promise.all([thread.close(), pastThread.close()])),
  }
}
