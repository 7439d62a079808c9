// What only the first start of the demo reads: the nodes of the explorer's chains, which do not grow, and the market feed
// as of past times.
import { type ChainUrls, demoChains, openChainNodes } from './explorer/chains.ts'
import { startDemoFeed } from './markets/demo-feed.ts'

export interface PastUrls {
  readonly chains: ChainUrls
  readonly markets: string
}

export interface PastSources extends PastUrls, AsyncDisposable {}

/** On the current thread. `atMs`: when the demo is created. */
export async function openPastSources(seed: string, atMs: number, simulated = demoChains(seed)): Promise<PastSources> {
  await using opened = new AsyncDisposableStack()
  const feed = opened.use(await startDemoFeed(seed, { now: () => atMs }))
  const { urls } = opened.use(await openChainNodes(simulated, Math.floor(atMs / 1000)))
  const openResources = opened.move()
  return { chains: urls, markets: feed.url, [Symbol.asyncDispose]: () => openResources.disposeAsync() }
}
