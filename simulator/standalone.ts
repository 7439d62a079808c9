// The simulated nodes and feeds without a server, for tests of other programs and for trying a configuration.
import { type Clock, systemClock } from '#runtime/clock.ts'
import { startDemo } from './demo.ts'
import { demoSeed } from './demo-seed.ts'
import { SimulatedNode } from './evm/node.ts'
import { demoChains } from './explorer/chains.ts'

/** New blocks come as fast as on the real chain. Those of the demo's past are 90 minutes apart. */
const blockSeconds = 12

export type StandaloneSimulator = Awaited<ReturnType<typeof startStandaloneSimulator>>

/** With the settings that make a server read all of them, as in a configuration file. */
export async function startStandaloneSimulator(clock: Clock = systemClock) {
  await using opened = new AsyncDisposableStack()
  const demo = await startDemo()
  opened.defer(() => demo.close())
  const [chain] = demoChains(demoSeed)
  chain.blockSeconds = blockSeconds
  const node = opened.use(new SimulatedNode(chain))
  node.laterSeconds = Math.floor(clock.now() / 1000) - chain.head.timeUnix
  const url = await node.listen()
  const stopping = new AbortController()
  const mining = mineWithTime(node, clock, stopping.signal)
  opened.defer(async () => {
    stopping.abort()
    await mining
  })
  const resources = opened.move()
  return {
    settings: { ...demo.settings, explorer: { chains: [{ id: chain.id, name: 'Ethereum', rpc: [{ url }] }] } },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** New blocks appear as their time comes. */
async function mineWithTime({ chain, laterSeconds }: SimulatedNode, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const missing = Math.floor((clock.now() / 1000 - laterSeconds - chain.head.timeUnix) / chain.blockSeconds)
    if (missing > 0) chain.mine(missing)
    await clock.sleep(chain.blockSeconds * 1000, signal)
  }
}
