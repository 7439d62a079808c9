// Loads parts of the demo without a server, from temporary sources on the current thread.
import type { ExplorerContext } from '#explorer/context.ts'
import type { AppContext } from '#server/context.ts'
import { demoChains, openChainNodes } from '#simulator/explorer/chains.ts'
import { loadExplorer } from '#simulator/explorer.ts'
import { startDemoFeed } from '#simulator/markets/demo-feed.ts'
import { samplePastSlug, sampleQuestion, slugOf } from '#simulator/markets/plan.ts'
import { readPastMarkets } from '#simulator/markets.ts'

export async function loadDemoExplorer(context: ExplorerContext, seed: string): Promise<void> {
  await using nodes = await openChainNodes(demoChains(seed), Math.floor(context.clock.now() / 1000))
  await loadExplorer(context, seed, nodes.urls)
}

/** Returns the current and a past slug of the sample market. */
export async function loadDemoMarkets(context: AppContext, seed: string) {
  await using feed = await startDemoFeed(seed, context.clock)
  await readPastMarkets(context, feed.url)
  return { slug: slugOf(sampleQuestion), pastSlug: samplePastSlug }
}
