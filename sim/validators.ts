// The demo world's validators: two networks behind simulated beacon nodes over HTTP, one with an execution node beside it. They
// are read by the same ingest as real ones, their past at the first start and their present for as long as the server
// runs. Who is behind them is told by a file through the importer (decision 0118).
import type { Network } from '#api/wire/validators.ts'
import type { Settings } from '#core/settings.ts'
import { storedChain } from '#groups/validators/duties/networks.ts'
import { entityRecords, importEntities } from '#groups/validators/entities.ts'
import { withChainTimes } from '#groups/validators/ingest/chain.ts'
import { Follower } from '#groups/validators/ingest/follow.ts'
import { openMills } from '#groups/validators/ingest/mills.ts'
import { depositsOf, millStart } from '#groups/validators/ingest/start.ts'
import { type Clock, systemClock } from '#io/clock.ts'
import type { AppContext } from '#server/context.ts'
import { openExecution } from './beacon/execution.ts'
import { openNode } from './beacon/node.ts'
import { LivingWorld } from './beacon/world.ts'
import { demoPeople } from './explorer.ts'
import { entityFile, poolNames } from './validators/entities.ts'
import { daysBefore, hoodiScript, mainnetScript, parts } from './validators/story.ts'
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
  indices: [12, 34, parts.away.validator, parts.slashed.validator, 50],
  badDay: { index: parts.away.validator, day: parts.away.day },
  pools: poolNames,
} as const

const daySeconds = 86_400
const hourSeconds = 3600
/** Hoodi's past before the first start; an hour is a chain day there. */
const hoodiHours = 2

export async function openDemoValidators(
  seed: string,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<DemoValidators> {
  const nowUnix = Math.floor(clock.now() / 1000)
  const people = demoPeople(seed)
  // Chain days from noon, as on the real one, so that they are not those of the calendar.
  const noonUnix = nowUnix - ((nowUnix + daySeconds / 2) % daySeconds)
  const hourUnix = nowUnix - (nowUnix % hourSeconds)
  const mainnet = new LivingWorld(mainnetScript(seed, people), noonUnix - daysBefore * daySeconds, clock)
  const hoodi = new LivingWorld(hoodiScript(seed), hourUnix - hoodiHours * hourSeconds, clock)
  const worlds = { mainnet, hoodi } as const
  await using opened = new AsyncDisposableStack()
  const habits = { ssz: true, states: true, rewards: true }
  const nodes = {
    mainnet: opened.use(await openNode(mainnet, { ...habits, chainId: '1' })),
    hoodi: opened.use(await openNode(hoodi, { ...habits, chainId: '560048' })),
  }
  const execution = opened.use(await openExecution(mainnet, '1'))
  const standing = opened.move()
  return {
    settings: settingsFor(nodes.mainnet.url, nodes.hoodi.url, execution.url),
    async resume({ duties }) {
      for (const network of ['mainnet', 'hoodi'] as const) {
        const chain = await storedChain(duties, network)
        if (chain) worlds[network].genesisUnix = chain.genesisUnix
      }
    },
    load: (context) => load(context, people),
    close: () => standing.disposeAsync(),
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

async function load(given: AppContext, people: readonly string[]): Promise<void> {
  const settings: Settings = await withChainTimes(given)
  const context = { ...given, settings }
  const names: readonly Network[] = ['mainnet', 'hoodi']
  const { signal } = new AbortController()
  await using mills = openMills(await Promise.all(names.map((network) => millStart(context, network))))
  const following = names.map((network) => new Follower(context, network, mills.of(network)).catchUp(signal))
  // None is left at work when one fails.
  for (const one of await Promise.allSettled(following)) if (one.status === 'rejected') throw one.reason
  await depositsOf(context, 'mainnet', await mills.of('mainnet').chain(signal)).catchUp(signal)
  const records = entityRecords(entityFile(people))
  const { rejects } = await importEntities(context.state, 'mainnet', records, 'entities.csv', context.clock.now())
  if (rejects.length > 0) throw new Error(`the demo world's own file: ${JSON.stringify(rejects)}`)
}
