// The thread of the simulated nodes of the demo.
import { systemClock } from '#runtime/clock.ts'
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import { openDemoNodes } from './nodes.ts'
import type { DemoNetwork } from './validators/windows.ts'

const opening = openDemoNodes(threadStart<string>(), systemClock)

const handlers = {
  urls: async () => ({ value: await (await opening).urls() }),
  setGenesis: async ({ network, genesisUnix }: { network: DemoNetwork; genesisUnix: number }) => ({
    value: await (await opening).setGenesis(network, genesisUnix),
  }),
  setCreated: async (atMs: number) => ({ value: await (await opening).setCreated(atMs) }),
  simulatePast: async () => ({ value: await (await opening).simulatePast() }),
  forgetPast: async () => ({ value: await (await opening).forgetPast() }),
}

export type NodesHandlers = typeof handlers

serveThread(handlers)
