// `tetrad ingest beacon` reads a network's finalized epochs into the facts store; `tetrad validators audit` holds the rewards against
// the node's own. A running server owns the facts file and ingests by itself: the first then has it look at once and shows how it
// gets on, the second is refused (decision 0078).
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Network, networks } from '#api/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import type { Settings } from '#core/settings.ts'
import type { Beacon } from '#io/beacon/client.ts'
import type { Stores } from '#store/open.ts'
import { refuseDemo } from './data.ts'
import { CommandFailure } from './failure.ts'
import { print, printJson, table } from './print.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

export interface BeaconCommand extends CommonOptions {
  readonly network: Network
  readonly once?: boolean
  readonly fromEpoch?: number
  readonly untilEpoch?: number
}

export const networkOption = () => new Option('--network <name>', 'which network').choices(networks).default('mainnet')

/** After the command `ingest` is there. */
export function addBeacon(program: Command): void {
  const ingest = program.commands.find((command) => command.name() === 'ingest')
  ingest
    ?.command('beacon')
    .description("Read a network's finalized epochs, then follow it until stopped. Goes on where it was interrupted.")
    .addOption(networkOption())
    .option('--once', 'end when everything that is final has been read')
    .action((_: unknown, command: Command) => inWords(runIngest(command.optsWithGlobals())))

  const validators = program
    .command('validators')
    .description('Validators: find them, explain their scores, audit rewards.')
  validators
    .command('audit')
    .description("Hold what the consensus rules give against the node's own rewards; the difference is kept and shown.")
    .addOption(networkOption())
    .requiredOption('--from-epoch <n>', 'first epoch', epochNumber)
    .option('--until-epoch <n>', 'epoch to stop before (default: one epoch)', epochNumber)
    .action((_: unknown, command: Command) => inWords(audit(command.optsWithGlobals())))
}

async function runIngest(options: BeaconCommand): Promise<void> {
  const { ingestBeacon, watchServer } = await import('./beacon-ingest.ts')
  if (await watchServer(options)) return
  await withStores(options, (stores, settings) => ingestBeacon(options, stores, settings))
}

const nodesFaults = new Set(['BeaconError', 'DepositGap', 'FetchError', 'Fault'])

/** What a node does not give is for the person at the keyboard to see, not a broken belief of ours. */
async function inWords(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    // By name: what comes from another thread has lost its class.
    if (error instanceof Error && nodesFaults.has(error.name) && !(error instanceof Fault))
      throw new CommandFailure('beacon.unavailable', error.message)
    throw error
  }
}

export function epochNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

async function audit(options: BeaconCommand): Promise<void> {
  const { auditEpochs, keepAudit } = await import('#groups/validators/ingest/audit.ts')
  const from = options.fromEpoch as number
  const until = options.untilEpoch ?? from + 1
  await withStores(options, async (stores, settings) => {
    const beacon = await beaconOf(options, settings)
    const lines = []
    for await (const own of auditEpochs(beacon, { from, until }, new AbortController().signal)) {
      await keepAudit(stores.facts, options.network, own)
      lines.push(...own)
    }
    if (options.json) return printJson(lines)
    print(
      table(
        ['epoch', 'part', 'compared', 'differing', 'gwei'],
        lines.map((line) => [line.epoch, line.part, line.compared, line.differing, line.gwei].map(String)),
      ),
    )
    const differing = lines.reduce((sum, line) => sum + line.differing, 0)
    print(differing === 0 ? 'Both ways agree.' : `${differing} figures differ; the rules' are used.`)
  })
}

async function beaconOf({ network }: BeaconCommand, settings: Settings): Promise<Beacon> {
  const { urls, timeoutMs } = settings.validators.networks[network].beacon
  if (urls.length === 0) {
    throw new CommandFailure(
      'beacon.missing',
      `No beacon node is configured: set validators.networks.${network}.beacon.urls.`,
    )
  }
  const [{ openBeacon }, { systemClock }] = await Promise.all([import('#io/beacon/client.ts'), import('#io/clock.ts')])
  return openBeacon({ network, urls, timeoutMs, clock: systemClock })
}

/** Both stores, with chain time as the node tells it. A server that runs holds the facts file, and the store says so. */
async function withStores(
  options: BeaconCommand,
  work: (stores: Stores, settings: Settings) => Promise<void>,
): Promise<void> {
  const { settings } = await configOf(options)
  await beaconOf(options, settings)
  const [{ openStores }, { withChainTimes }, { systemClock }, { openLog }] = await Promise.all([
    import('#store/open.ts'),
    import('#groups/validators/ingest/chain.ts'),
    import('#io/clock.ts'),
    import('#io/log.ts'),
  ])
  const stores = await openStores(dataDirOf(options), settings.store)
  try {
    await refuseDemo(options, stores.state)
    const log = openLog('warn', (line) => process.stderr.write(line))
    await work(stores, await withChainTimes({ facts: stores.facts, settings, clock: systemClock, log }))
  } finally {
    await stores.close()
  }
}
