// The validators of the demo: two networks with simulated beacon nodes, one of them with an execution node. The normal
// ingest reads them: their past at the first start, and new epochs while the server runs. Pools and operators are
// imported from a file (behaviour/operations.md#demo-links-between-groups).
import type { Network } from '#api/wire/validators.ts'
import type { Settings } from '#runtime/settings.ts'
import type { AppContext } from '#server/context.ts'
import { plainTime } from '#validators/duties/layout.ts'
import { storedChain } from '#validators/duties/networks.ts'
import { summarizeDuties } from '#validators/duties/store.ts'
import { openDepositReader } from '#validators/ingest/deposits/follow-deposits.ts'
import { openEpochProcessors } from '#validators/ingest/epochs/open-processors.ts'
import { Follower } from '#validators/ingest/follow.ts'
import type { IngestStep } from '#validators/ingest/ingest-progress.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { readProcessorStart } from '#validators/ingest/start.ts'
import { readGroups } from '#validators/ingest/summary-groups.ts'
import { importEntities, parseEntityRecords } from '#validators/registry/entities.ts'
import { demoAccounts } from './explorer.ts'
import { daysBefore, roles } from './validators/behaviour.ts'
import { entityFile, poolNames } from './validators/entities.ts'
import type { DemoNodes, NodeUrls } from './validators/nodes.ts'
import { type DemoNetwork, demoNetworks, demoWindows } from './validators/windows.ts'

export interface DemoValidators {
  /** Settings for these nodes, as in a configuration file. */
  readonly settings: object
  /** Called at every start: continues the stored chains. */
  resume(context: Pick<AppContext, 'duties'>): Promise<void>
  /** Ingests all finalized epochs of these networks; default: both. The settings must contain the nodes. */
  load(context: AppContext, options?: LoadOptions): Promise<void>
  close(): Promise<void>
}

export interface LoadOptions {
  readonly networks?: readonly DemoNetwork[]
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
        beacon: { urls: [mainnet], fromEpoch: 0, auditValidators: 0 },
        execution: { rpc: [{ url: execution }] },
      },
      hoodi: {
        ...demoWindows.hoodi,
        beacon: { urls: [hoodi], fromEpoch: 0, everyMs: 5000 },
      },
    },
  },
})

async function loadValidators(
  app: AppContext,
  accounts: readonly string[],
  { networks: names = demoNetworks, onEpochs = () => {} }: LoadOptions,
): Promise<void> {
  const settings: Settings = await withChainTimes(app)
  const context = { ...app, settings }
  const { signal } = new AbortController()
  await using processors = openEpochProcessors(
    await Promise.all(names.map((network) => readProcessorStart(context, network))),
  )
  const latest = new Map<Network, IngestStep>()
  const onStep = (network: Network, step: IngestStep) => {
    latest.set(network, step)
    const sum = (of: (step: IngestStep) => number) => latest.values().reduce((total, step) => total + of(step), 0)
    onEpochs(
      sum(({ until }) => until),
      sum(({ finalizedEpoch }) => finalizedEpoch - 1),
    )
  }
  const following = names.map((network) =>
    new Follower(context, network, processors.of(network)).catchUp(signal, (step) => onStep(network, step)),
  )
  // Wait for both even if one fails, so that none keeps running.
  for (const result of await Promise.allSettled(following)) if (result.status === 'rejected') throw result.reason
  await openDepositReader(context, 'mainnet', await processors.of('mainnet').chain(signal)).catchUp(signal)
  const records = parseEntityRecords(entityFile(accounts))
  const { rejects } = await importEntities(context.state, 'mainnet', records, 'entities.csv')
  if (rejects.length > 0) throw new Error(`the entities of the demo were rejected: ${JSON.stringify(rejects)}`)
  // The ingest would do this a few days at a time.
  const [time, groups] = [plainTime(settings.validators.networks.mainnet), await readGroups(context.state, 'mainnet')]
  const until = latest.get('mainnet')?.until ?? 0
  await summarizeDuties(context.duties, { network: 'mainnet', time, until, groups, daysMax: daysBefore }, signal)
}
