// The validators of the demo: two networks with simulated beacon nodes, one of them with an execution node. The normal
// ingest reads them: their past at the first start, and new epochs while the server runs. Pools and operators are
// imported from a file (behaviour/operations.md#demo-links-between-groups).
import type { Network } from '#api/contract/wire/validators.ts'
import { chainDays, type Epoch } from '#core/chain-time.ts'
import { countIn } from '#core/ranges.ts'
import type { Settings } from '#runtime/settings.ts'
import type { AppContext } from '#server/context.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { plainTime } from '#validators/duties/layout.ts'
import { storedChain } from '#validators/duties/networks.ts'
import { importEntities } from '#validators/entities/import-entities.ts'
import { parseEntityRecords } from '#validators/entities/parse-rules.ts'
import { openRegistryRpc } from '#validators/entities/registries/follow-registries.ts'
import { readRegistries } from '#validators/entities/registries/read-registries.ts'
import { openDepositReader } from '#validators/ingest/deposits/follow-deposits.ts'
import type { EpochProcessor } from '#validators/ingest/epochs/epoch-processor.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { missingEpochs } from '#validators/ingest/gaps/find-gaps.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import type { IngestStep } from '#validators/ingest/status/ingest-progress.ts'
import { openEpochProcessors } from '#validators/ingest/thread/open-processors.ts'
import { readProcessorStart } from '#validators/ingest/thread/read-processor-start.ts'
import { readSummaryEntities } from '#validators/ingest/write/read-summary-entities.ts'
import { demoAccounts } from './explorer/chains.ts'
import type { DemoNodes, NodeUrls } from './nodes.ts'
import { daysBefore, roles } from './validators/behaviour.ts'
import { configuredPool, entityFile, poolNames } from './validators/entities.ts'
import { type DemoNetwork, demoNetworks, demoWindows } from './validators/windows.ts'

export interface DemoValidators {
  /** Settings for these nodes, as in a configuration file. */
  readonly settings: object
  /** Called at every start: continues the stored chains. */
  resume(context: Pick<AppContext, 'duties'>): Promise<void>
  /** Ingests all finalized epochs of these networks; default: both. The settings must contain the nodes. */
  load(context: AppContext, options?: LoadOptions): Promise<void>
  /**
   * Waits until the ingest of a running server has read the epochs that `load` left out, and summarizes their days.
   * Returns at once if nothing is missing, and early if the signal aborts.
   */
  finish(context: AppContext, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export interface LoadOptions {
  readonly networks?: readonly DemoNetwork[]
  /**
   * Reads only these complete days of mainnet, and the current one. The earlier epochs are then a gap, which the ingest
   * of a running server fills. Default: all days.
   */
  readonly recentDays?: number
  /** Reports how many epochs of all networks have been read, and how many there are. */
  readonly onEpochs?: (read: number, total: number) => void
}

/** Examples for requests, on mainnet. */
export const validatorSamples = {
  indices: [12, 34, roles.away.validator, roles.slashed.validator, 50],
  badDay: { index: roles.away.validator, day: roles.away.day },
  pools: poolNames,
} as const

/** Closes the nodes too. */
export async function startDemoValidators(seed: string, nodes: DemoNodes): Promise<DemoValidators> {
  return {
    settings: settingsFor(await nodes.urls()),
    async resume({ duties }) {
      for (const network of demoNetworks) {
        const chain = await storedChain(duties, network)
        if (chain) await nodes.setGenesis(network, chain.genesisUnix)
      }
    },
    async load(context, options = {}) {
      await Promise.all([nodes.simulatePast(), loadValidators(context, demoAccounts(seed), options)])
      if (options.recentDays === undefined) await nodes.forgetPast()
    },
    async finish(context, signal) {
      if ((await loadedShare(context)) < 1) {
        // At a later start too: otherwise, reading past epochs and the head in turns simulates them again and again.
        await nodes.simulatePast()
        await waitUntilLoaded(context, signal)
        if (signal.aborted) return
        await summarizeAllDays(context, signal)
      }
      await nodes.forgetPast()
    },
    close: async () => nodes[Symbol.asyncDispose](),
  }
}

const settingsFor = ({ mainnet, hoodi, execution }: NodeUrls) => ({
  validators: {
    networks: {
      mainnet: {
        ...demoWindows.mainnet,
        states: 'node',
        beacon: { urls: [mainnet], acceptAnyChain: true, fromEpoch: 0 },
        execution: { rpc: [{ url: execution }] },
        entities: { rules: [configuredPool] },
      },
      hoodi: {
        ...demoWindows.hoodi,
        states: 'node',
        beacon: { urls: [hoodi], acceptAnyChain: true, fromEpoch: 0, everyMs: 5000 },
      },
    },
  },
})

/** How much of mainnet is stored, from 0 to 1. */
export async function loadedShare({ duties }: Pick<AppContext, 'duties'>): Promise<number> {
  const until = (await coveredEpochs(duties, 'mainnet')).at(-1)?.until ?? 0
  if (until === 0) return 0
  return 1 - countIn(await missingEpochs(duties, 'mainnet', { from: 0, until })) / until
}

const checkEveryMs = 500
/** If the ingest needs longer, it continues without the help of `finish`. */
const finishMaxMs = 600_000

async function waitUntilLoaded(context: AppContext, signal: AbortSignal): Promise<void> {
  const { clock } = context
  const giveUpMs = clock.monotonicMs() + finishMaxMs
  while (!signal.aborted && clock.monotonicMs() < giveUpMs && (await loadedShare(context)) < 1)
    await clock.sleep(checkEveryMs, signal)
}

async function loadValidators(
  app: AppContext,
  accounts: readonly string[],
  { networks: names = demoNetworks, recentDays, onEpochs = () => {} }: LoadOptions,
): Promise<void> {
  const allDays = await withChainTimes(app)
  const { signal } = new AbortController()
  await using processors = openEpochProcessors(
    await Promise.all(names.map((network) => readProcessorStart({ ...app, settings: allDays }, network))),
  )
  const mainnet = processors.of('mainnet')
  const settings = recentDays === undefined ? allDays : await withRecentDays(allDays, mainnet, recentDays, signal)
  const context = { ...app, settings }
  const latest = new Map<Network, IngestStep>()
  const onStep = (network: Network, step: IngestStep) => {
    latest.set(network, step)
    const sum = (of: (step: IngestStep) => number) => latest.values().reduce((total, step) => total + of(step), 0)
    onEpochs(
      sum(({ written }) => written),
      sum(({ written, until, finalizedEpoch }) => written + finalizedEpoch - 1 - until),
    )
  }
  const following = names.map((network) =>
    new Follower(context, network, processors.of(network)).catchUp(signal, (step) => onStep(network, step)),
  )
  // Wait for both even if one fails, so that none keeps running.
  for (const result of await Promise.allSettled(following)) if (result.status === 'rejected') throw result.reason
  await openDepositReader(context, 'mainnet', await mainnet.chain(signal)).catchUp(signal)
  const records = parseEntityRecords(entityFile(accounts))
  const { rejects } = await importEntities(context.ingest, 'mainnet', records, 'entities.csv')
  if (rejects.length > 0) throw new Error(`the entities of the demo were rejected: ${JSON.stringify(rejects)}`)
  await readRegistries(context, 'mainnet', await openRegistryRpc(context, 'mainnet'), signal)
  await summarizeAllDays(context, signal)
}

/** Settings that begin with the complete days before the finalized epoch. */
async function withRecentDays(
  settings: Settings,
  processor: EpochProcessor,
  recentDays: number,
  signal: AbortSignal,
): Promise<Settings> {
  const { networks } = settings.validators
  const { mainnet } = networks
  const days = chainDays(mainnet)
  const { from } = days.epochsOf(days.dayOf((await processor.finalizedEpoch(signal)) as Epoch))
  const beacon = { ...mainnet.beacon, fromEpoch: Math.max(0, from - recentDays * mainnet.epochsPerDay) }
  const validators = { ...settings.validators, networks: { ...networks, mainnet: { ...mainnet, beacon } } }
  return { ...settings, validators }
}

/** The ingest would do this a few days at a time. */
async function summarizeAllDays({ ingest, duties, settings }: AppContext, signal: AbortSignal): Promise<void> {
  const [time, entities] = [
    plainTime(settings.validators.networks.mainnet),
    await readSummaryEntities(ingest, 'mainnet'),
  ]
  const until = (await coveredEpochs(duties, 'mainnet')).at(-1)?.until ?? 0
  await duties.update('summarizeDays', { network: 'mainnet', time, until, entities, daysMax: daysBefore }, { signal })
}
