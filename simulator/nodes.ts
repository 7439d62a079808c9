// The simulated nodes of the demo and its market feed: two beacon nodes, one of them with an execution node. Others are
// open during the first start only (past-sources.ts).
import type { Clock } from '#runtime/clock.ts'
import { openExecution } from './beacon/execution.ts'
import { LiveNetwork } from './beacon/live-network.ts'
import { openNode } from './beacon/node.ts'
import { demoAccounts } from './explorer/chains.ts'
import { startDemoFeed } from './markets/demo-feed.ts'
import { openPastSources, type PastSources } from './past-sources.ts'
import { daysBefore, hoodiScenario, mainnetScenario } from './validators/behaviour.ts'
import { createRegistryCalls } from './validators/registries.ts'
import type { DemoNetwork } from './validators/windows.ts'

export interface NodeUrls {
  readonly mainnet: string
  readonly hoodi: string
  readonly execution: string
  readonly markets: string
}

export interface DemoNodes extends AsyncDisposable {
  urls(): Promise<NodeUrls>
  /** Continues a chain that was stored by an earlier run. */
  setGenesis(network: DemoNetwork, genesisUnix: number): Promise<void>
  /** The day on which the demo was created. Call it before the market feed is read. */
  setCreated(atMs: number): Promise<void>
  /** Simulates the past of mainnet ahead of a reader that begins with the first epoch. */
  simulatePast(): Promise<void>
  /** Releases the memory of past epochs. Call it when they have been read. */
  forgetPast(): Promise<void>
  /** Opens what only the first start reads. `atMs`: when the demo is created. */
  openPast(atMs: number): Promise<PastSources>
}

const daySeconds = 86_400
const hourSeconds = 3600
/** History of hoodi before the first start. */
const defaultHoodiHours = 3

/** On the current thread. */
export async function openDemoNodes(
  seed: string,
  clock: Pick<Clock, 'now'>,
  { hoodiHours = defaultHoodiHours }: { readonly hoodiHours?: number } = {},
): Promise<DemoNodes> {
  const nowUnix = Math.floor(clock.now() / 1000)
  // Chain days start at noon, as on the real chain, so that they differ from UTC days.
  const noonUnix = nowUnix - ((nowUnix + daySeconds / 2) % daySeconds)
  const hourUnix = nowUnix - (nowUnix % hourSeconds)
  const scenario = mainnetScenario(seed, demoAccounts(seed))
  const networks = {
    mainnet: new LiveNetwork(scenario, noonUnix - daysBefore * daySeconds, clock),
    hoodi: new LiveNetwork(hoodiScenario(seed), hourUnix - hoodiHours * hourSeconds, clock),
  }
  await using opened = new AsyncDisposableStack()
  const options = { ssz: true, states: true, rewards: true }
  const call = createRegistryCalls(demoAccounts(seed))
  const feed = opened.use(await startDemoFeed(seed, clock))
  const urls = {
    mainnet: opened.use(await openNode(networks.mainnet, { ...options, chainId: '1' })).url,
    hoodi: opened.use(await openNode(networks.hoodi, { ...options, chainId: '560048' })).url,
    execution: opened.use(await openExecution(networks.mainnet, '1', { call })).url,
    markets: feed.url,
  }
  const openResources = opened.move()
  return {
    urls: async () => urls,
    async setGenesis(network, genesisUnix) {
      networks[network].genesisUnix = genesisUnix
    },
    setCreated: async (atMs) => feed.setCreated(atMs),
    simulatePast: () => networks.mainnet.simulatePast(),
    forgetPast: async () => networks.mainnet.forgetPast(),
    openPast: (atMs) => openPastSources(seed, atMs),
    [Symbol.asyncDispose]: () => openResources.disposeAsync(),
  }
}
