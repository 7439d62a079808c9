// The simulated nodes of demo servers in tests. All processes of a run share those that created the demo data
// (template.ts): nodes of its own would make each server simulate the chains from their start, which takes three seconds of
// CPU time.
import { demoSeed } from '#simulator/demo-seed.ts'
import type { DemoNodes, NodeUrls } from '#simulator/nodes.ts'
import { openNodesThread } from '#simulator/open-nodes-thread.ts'
import { openPastSources } from '#simulator/past-sources.ts'

/** The addresses of the nodes as JSON; test/run.ts sets it. */
const shared = process.env.TEST_DEMO_NODES

/** For data that `copyDemo` has copied: shared nodes have the genesis of that data, and have forgotten the past. */
export const openDemoNodes = (): DemoNodes => (shared ? shareNodes(JSON.parse(shared)) : openNodesThread(demoSeed))

/** Nodes that others use too: nothing here changes or closes them. */
export const shareNodes = (urls: NodeUrls): DemoNodes => ({
  urls: async () => urls,
  setGenesis: async () => {},
  setCreated: async () => {},
  simulatePast: async () => {},
  forgetPast: async () => {},
  openPast: (atMs) => openPastSources(demoSeed, atMs),
  [Symbol.asyncDispose]: async () => {},
})
