// The thread of the sources that only the first start of the demo reads. Its chains are simulated when it starts, before
// their time is known.
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import { demoChains } from './explorer/chains.ts'
import { openPastSources, type PastUrls } from './past-sources.ts'

const seed = threadStart<string>()
const simulated = demoChains(seed)

const handlers = {
  start: async () => ({ value: undefined }),
  open: async (atMs: number) => {
    const { chains, markets } = await openPastSources(seed, atMs, simulated)
    return { value: { chains, markets } satisfies PastUrls }
  },
}

export type PastHandlers = typeof handlers

serveThread(handlers)
