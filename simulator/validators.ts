// The demo world's validators: two networks behind simulated beacon nodes over HTTP, one with an execution node beside it. They
// are read by the same ingest as real ones, their past at the first start and their present for as long as the server
// runs. Who is behind them is told by a file through the importer (behaviour/operations.md#demo-links-between-groups).
import type { Network } from '#api/wire/validators.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import type { Settings } from '#runtime/settings.ts'
import type { AppContext } from '#server/context.ts'
import { storedChain } from '#validators/duties/networks.ts'
import { openEpochProcessors } from '#validators/ingest/epochs/open-processors.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { openDepositReader, readProcessorStart } from '#validators/ingest/start.ts'
import { importEntities, parseEntityRecords } from '#validators/registry/entities.ts'
import { openExecution } from './beacon/execution.ts'
import { LiveNetwork } from './beacon/networks.ts'
import { openNode } from './beacon/node.ts'
import { demoAccounts } from './explorer.ts'
import { daysBefore, hoodiScenario, mainnetScenario, roles } from './validators/behaviour.ts'
import { entityFile, poolNames } from './validators/entities.ts'
import { demoWindows } from './validators/windows.ts'

export interface DemoValidators {
  /** What a configuration file would say to read these nodes. */
  readonly settings: object
  /** At every start: the chains go on where the data folder has them. */
  resume(context: Pick<AppContext, 'duties'>): Promise<void>
  /** Reads everything that is final, as the running server will go on to do. The settings name the nodes. */
  load(context: AppContext): Promise<void>
  close(): Promise<void>
}

/** Things that are there to ask about, on mainnet. */
export const validatorSamples = {
  indices: [12, 34, roles.away.validator, roles.slashed.validator, 50],
  badDay: { index: roles.away.validator, day: roles.away.day },
  pools: poolNames,
} as const

const daySeconds = 86_400
const hourSeconds = 3600
/** Hoodi's past before the first start; an hour is a chain day there. */
const hoodiHours = 2

export async function startDemoValidators(
  seed: string,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<DemoValidators> {
  const nowUnix = Math.floor(clock.now() / 1000)
  const accounts = demoAccounts(seed)
  // Chain days from noon, as on the real one, so that they are not those of the calendar.
  const noonUnix = nowUnix - ((nowUnix + daySeconds / 2) % daySeconds)
  const hourUnix = nowUnix - (nowUnix % hourSeconds)
  const mainnet = new LiveNetwork(mainnetScenario(seed, accounts), noonUnix - daysBefore * daySeconds, clock)
  const hoodi = new LiveNetwork(hoodiScenario(seed), hourUnix - hoodiHours * hourSeconds, clock)
  const networks = { mainnet, hoodi } as const
  await using opened = new AsyncDisposableStack()
  const options = { ssz: true, states: true, rewards: true }
  const nodes = {
    mainnet: opened.use(await openNode(mainnet, { ...options, chainId: '1' })),
    hoodi: opened.use(await openNode(hoodi, { ...options, chainId: '560048' })),
  }
  const execution = opened.use(await openExecution(mainnet, '1'))
  const openResources = opened.move()
  return {
    settings: settingsFor(nodes.mainnet.url, nodes.hoodi.url, execution.url),
    async resume({ duties }) {
      for (const network of ['mainnet', 'hoodi'] as const) {
        const chain = await storedChain(duties, network)
        if (chain) networks[network].genesisUnix = chain.genesisUnix
      }
    },
    load: (context) => loadValidators(context, accounts),
    close: () => openResources.disposeAsync(),
  }
}

const settingsFor = (mainnetUrl: string, hoodiUrl: string, executionUrl: string) => ({
  validators: {
    networks: {
      mainnet: {
        ...demoWindows.mainnet,
        beacon: { urls: [mainnetUrl], fromEpoch: 0, auditValidators: 0 },
        execution: { rpc: [{ url: executionUrl }] },
      },
      hoodi: {
        ...demoWindows.hoodi,
        beacon: { urls: [hoodiUrl], fromEpoch: 0, everyMs: 5000 },
      },
    },
  },
})

async function loadValidators(given: AppContext, accounts: readonly string[]): Promise<void> {
  const settings: Settings = await withChainTimes(given)
  const context = { ...given, settings }
  const names: readonly Network[] = ['mainnet', 'hoodi']
  const { signal } = new AbortController()
  await using processors = openEpochProcessors(
    await Promise.all(names.map((network) => readProcessorStart(context, network))),
  )
  const following = names.map((network) => new Follower(context, network, processors.of(network)).catchUp(signal))
  // None is left at work when one fails.
  for (const one of await Promise.allSettled(following)) if (one.status === 'rejected') throw one.reason
  await openDepositReader(context, 'mainnet', await processors.of('mainnet').chain(signal)).catchUp(signal)
  const records = parseEntityRecords(entityFile(accounts))
  const { rejects } = await importEntities(context.state, 'mainnet', records, 'entities.csv', context.clock.now())
  if (rejects.length > 0) throw new Error(`the demo world's own file: ${JSON.stringify(rejects)}`)
}
