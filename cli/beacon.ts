// `tetrad ingest beacon` reads the finalized epochs of a network into the duties database. If a server is running, it owns
// the data folder: the command makes it poll and shows its progress (behaviour/validators.md#commands-and-a-running-server).
// `tetrad validators audit` compares computed rewards with those of the node.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { isNetworkName, networks } from '#api/contract/wire/networks.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { AuditLine } from '#validators/ingest/epochs/audit.ts'
import { waitOption } from './lease.ts'
import { integerBetween } from './parse-integer.ts'
import { print, printJson, table } from './print.ts'
import { type BeaconCommand, beaconOf, toCommandFailure } from './run-ingester.ts'
import { clock } from './runtime.ts'
import { configOf, dataDirOf } from './settings.ts'

/** The completion offers those of the specification. The configuration may have others, which are checked with it. */
export const networkOption = (description = 'name of the network') => namedNetworkOption(description).default('mainnet')

/** Without a default. */
export const namedNetworkOption = (description: string) =>
  new Option('--network <name>', description).choices(networks).argParser((name) => {
    if (isNetworkName(name)) return name
    throw new InvalidArgumentError('Must be lower-case letters, digits and hyphens.')
  })

export function addBeacon(ingest: Command, validators: Command): void {
  ingest
    .command('beacon')
    .description('Read the finalized epochs of a network, then follow it until stopped. Continues where it stopped.')
    .addOption(networkOption())
    .option('--once', 'exit when all finalized epochs have been read')
    .option(...waitOption)
    .action(async (_: unknown, command: Command) => {
      const { ingestBeacon } = await import('./beacon-ingest.ts')
      await toCommandFailure(ingestBeacon(command.optsWithGlobals()))
    })

  validators
    .command('audit')
    .description(
      'Compare computed rewards with those that the node reports. Reads the epochs again, and stores nothing.',
    )
    .addOption(networkOption())
    .requiredOption('--from-epoch <n>', 'first epoch', epochNumber)
    .option('--until-epoch <n>', 'epoch to stop before (default: one epoch)', epochNumber)
    .action((_: unknown, command: Command) => toCommandFailure(audit(command.optsWithGlobals())))
}

export const epochNumber = integerBetween(0, 9_999_999_999, 'Must be a whole number.')

async function audit(options: BeaconCommand): Promise<void> {
  const { network, fromEpoch: from = 0, untilEpoch: until = from + 1 } = options
  const { settings } = await configOf(options)
  const [{ auditEpochs }, { openStates }, { statesDir }] = await Promise.all([
    import('#validators/ingest/epochs/audit.ts'),
    import('#validators/ingest/thread/open-processors.ts'),
    import('#validators/ingest/thread/read-processor-start.ts'),
  ])
  const beacon = await beaconOf(options, settings)
  // The snapshots belong to the server, and are only read.
  const folders = { statesDir: undefined, readFromDir: statesDir(dataDirOf(options), network) }
  const start = { network, settings: networkSettings(settings, network), ...folders }
  await using states = openStates(beacon, start, clock)
  const lines: AuditLine[] = []
  for await (const ofEpoch of auditEpochs(beacon, states, { from, until }, new AbortController().signal))
    lines.push(...ofEpoch)
  if (options.json) return printJson(lines)
  print(
    table(
      ['epoch', 'part', 'compared', 'differing', 'gwei'],
      lines.map((line) => [line.epoch, line.part, line.compared, line.differing, line.gwei].map(String)),
    ),
  )
  const differing = lines.reduce((sum, line) => sum + line.differing, 0)
  print(differing === 0 ? 'All rewards agree.' : `${differing} rewards differ. Tetrad uses the computed ones.`)
}
