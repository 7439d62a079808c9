// `tetrad ingest beacon` reads a network's finalized epochs into the facts store; `tetrad validators audit` holds the rewards against
// the node's own; `tetrad validators explain` shows the duties behind a score. A running server owns the facts file and ingests by
// itself, so the first two refuse to run beside it (decision 0107).
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Network, networks } from '#api/wire/validators.ts'
import type { Settings } from '#core/settings.ts'
import type { Beacon } from '#io/beacon/client.ts'
import type { Stores } from '#store/open.ts'
import { CommandFailure } from './failure.ts'
import { note, print, printJson, table } from './print.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

interface BeaconCommand extends CommonOptions {
  readonly network: Network
  readonly once?: boolean
  readonly fromEpoch?: number
  readonly untilEpoch?: number
  readonly fromDay?: number
  readonly toDay?: number
}

const networkOption = () => new Option('--network <name>', 'which network').choices(networks).default('mainnet')

/** After the command `ingest` is there. */
export function addBeacon(program: Command): void {
  const ingest = program.commands.find((command) => command.name() === 'ingest')
  ingest
    ?.command('beacon')
    .description("Read a network's finalized epochs, then follow it until stopped. Goes on where it was interrupted.")
    .addOption(networkOption())
    .option('--once', 'end when everything that is final has been read')
    .action((_: unknown, command: Command) => inWords(ingestBeacon(command.optsWithGlobals())))

  const validators = program.command('validators').description('Validators: audit rewards, explain scores.')
  validators
    .command('audit')
    .description("Hold what the consensus rules give against the node's own rewards; the difference is kept and shown.")
    .addOption(networkOption())
    .requiredOption('--from-epoch <n>', 'first epoch', epochNumber)
    .option('--until-epoch <n>', 'epoch to stop before (default: one epoch)', epochNumber)
    .action((_: unknown, command: Command) => inWords(audit(command.optsWithGlobals())))
  validators
    .command('explain')
    .description('The duties behind a score: what was missed, late or wrong, and whose fault it was.')
    .argument('<index>', 'validator index', epochNumber)
    .addOption(networkOption())
    .option('--from-epoch <n>', 'first epoch', epochNumber)
    .option('--until-epoch <n>', 'epoch to stop before', epochNumber)
    .option('--from-day <n>', 'first chain day, instead of epochs', epochNumber)
    .option('--to-day <n>', 'last chain day', epochNumber)
    .action((index: number, _: unknown, command: Command) => inWords(explain(index, command.optsWithGlobals())))
}

/** What a node does not give is for the person at the keyboard to see, not a broken belief of ours. */
async function inWords(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (error instanceof Error && error.name === 'BeaconError')
      throw new CommandFailure('beacon.unavailable', error.message)
    throw error
  }
}

function epochNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

async function ingestBeacon(options: BeaconCommand): Promise<void> {
  const [{ followerOf }, { systemClock }, { systemRandom }, { openLog }, { poll }, { untilStopped }] =
    await Promise.all([
      import('#groups/validators/ingest/start.ts'),
      import('#io/clock.ts'),
      import('#io/random.ts'),
      import('#io/log.ts'),
      import('#ingest/poll.ts'),
      import('./stop.ts'),
    ])
  await withStores(options, async (stores, settings) => {
    const log = openLog('warn', (line) => process.stderr.write(line))
    const desk = { ...stores, settings, clock: systemClock, random: systemRandom, log }
    const follower = await followerOf(desk, options.network)
    const stop = new AbortController()
    const startMs = systemClock.monotonicMs()
    let last = { until: 0, finalizedEpoch: 0, written: 0 }
    const step = async (signal: AbortSignal) => {
      last = await follower.catchUp(signal, ({ until, finalizedEpoch }) => {
        if (!options.json) note(`${options.network}: epoch ${until} of ${finalizedEpoch - 1}`)
      })
    }
    const { everyMs } = settings.validators.networks[options.network].beacon
    const work = options.once
      ? step(stop.signal)
      : poll(
          desk,
          { everyMs, timeoutMs: 7 * 86_400_000, backoffMaxMs: 60_000, work: step, report: tellFailure },
          stop.signal,
        )
    await Promise.race([work, untilStopped(systemClock, async () => stop.abort())])
    await work.catch((error) => {
      if (!stop.signal.aborted) throw error
    })
    const seconds = (systemClock.monotonicMs() - startMs) / 1000
    if (options.json) printJson({ network: options.network, ...last, seconds: Number(seconds.toFixed(3)) })
    else print(`${options.network}: read up to epoch ${last.until}, ${last.written} epochs in ${seconds.toFixed(1)} s`)
  })
}

const tellFailure = (outcome: { readonly is: string; readonly error?: unknown }): void => {
  if (outcome.is === 'failed') note(`tetrad: ${(outcome.error as Error).message}; trying again`)
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

async function explain(validator: number, options: BeaconCommand): Promise<void> {
  const { explainEpochs } = await import('#groups/validators/ingest/explain.ts')
  const { settings } = await configOf(options)
  const beacon = await beaconOf(options, settings)
  const lines = []
  for await (const one of explainEpochs(beacon, validator, epochsOf(options, settings), new AbortController().signal)) {
    lines.push(one)
  }
  if (options.json) return printJson({ validator, network: options.network, epochs: lines })
  for (const { epoch, faults } of lines) if (faults.length > 0) print(`epoch ${epoch}: ${faults.join('; ')}`)
  const good = lines.filter(({ faults }) => faults.length === 0).length
  print(`${good} of ${lines.length} epochs without a fault`)
}

function epochsOf(options: BeaconCommand, settings: Settings): { from: number; until: number } {
  const { epochsPerDay } = settings.validators.networks[options.network]
  if (options.fromDay !== undefined) {
    return { from: options.fromDay * epochsPerDay, until: ((options.toDay ?? options.fromDay) + 1) * epochsPerDay }
  }
  if (options.fromEpoch === undefined) throw new CommandFailure('usage', 'Name --from-epoch or --from-day.')
  return { from: options.fromEpoch, until: options.untilEpoch ?? options.fromEpoch + 1 }
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
  const stores = await openStores(dataDirOf(options))
  try {
    const log = openLog('warn', (line) => process.stderr.write(line))
    await work(stores, await withChainTimes({ facts: stores.facts, settings, clock: systemClock, log }))
  } finally {
    await stores.close()
  }
}
