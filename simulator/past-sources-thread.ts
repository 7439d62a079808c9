// The thread of the sources that only the first start of the demo reads.
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import { openPastSources, type PastUrls } from './past-sources.ts'

export interface PastSourcesStart {
  readonly seed: string
  readonly atMs: number
}

const { seed, atMs } = threadStart<PastSourcesStart>()
const opening = openPastSources(seed, atMs)

serveThread({
  urls: async () => {
    const { chains, markets } = await opening
    return { value: { chains, markets } satisfies PastUrls }
  },
})
