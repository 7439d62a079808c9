// `tetrad ingest beacon` reads the finalized epochs of a network into the duties database. `tetrad validators audit`
// compares computed rewards with those of the node. If a server is running, it owns the data folder: the first command
// makes it poll and shows its progress, the second sends it the results
// (behaviour/validators.md#commands-and-a-running-server).
import { existsSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { isNetworkName, networks } from '#api/contract/wire/networks.ts'
import type { AppContext } from '#server/context.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import type { ChainIdentity } from '#sources/beacon/endpoint.ts'
import type { AuditLine } from '#validators/duties/audits.ts'
import { queryServer } from './data-owner.ts'
import { waitOption } from './lease.ts'
import { integerBetween } from './parse-integer.ts'
import { print, printJson, table } from './print.ts'
import { type BeaconCommand, beaconOf, runIngester, toCommandFailure } from './run-ingester.ts'
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
    .description('Compare computed rewards with those that the node reports, and store the differences.')
    .addOption(networkOption())
    .requiredOption('--from-epoch <n>', 'first epoch', epochNumber)
    .option('--until-epoch <n>', 'epoch to stop before (default: one epoch)', epochNumber)
    .option(...waitOption)
    .action((_: unknown, command: Command) => toCommandFailure(audit(command.optsWithGlobals())))
}

export const epochNumber = integerBetween(0, 9_999_999_999, 'Must be a whole number.')

type StoreAudit = (lines: readonly AuditLine[]) => Promise<unknown>

async function audit(options: BeaconCommand): Promise<void> {
  const lines = existsSync(dataDirOf(options)) ? await auditViaRunningServer(options) : undefined
  const audited = lines ?? (await auditInProcess(options))
  if (options.json) return printJson(audited)
  print(
    table(
      ['epoch', 'part', 'compared', 'differing', 'gwei'],
      audited.map((line) => [line.epoch, line.part, line.compared, line.differing, line.gwei].map(String)),
    ),
  )
  const differing = audited.reduce((sum, line) => sum + line.differing, 0)
  print(differing === 0 ? 'All rewards agree.' : `${differing} rewards differ. Tetrad uses the computed ones.`)
}

/** Compares in this process and lets the running server store the result. Undefined: no server is running. */
async function auditViaRunningServer(options: BeaconCommand): Promise<AuditLine[] | undefined> {
  const { network } = options
  const store = (lines: readonly AuditLine[]) =>
    queryServer<ChainIdentity | null>(options, 'storeAudit', { network, lines })
  const reply = await store([])
  if (!reply) return undefined
  const beacon = await beaconOf(options, (await configOf(options)).settings, reply.result ?? undefined)
  return auditWith(options, beacon, store, new AbortController().signal)
}

async function auditInProcess(options: BeaconCommand): Promise<AuditLine[]> {
  const [{ storeAudit }, { storedChain }] = await Promise.all([
    import('#validators/ingest/epochs/audit.ts'),
    import('#validators/duties/networks.ts'),
  ])
  let lines: AuditLine[] = []
  const audit = async ({ duties, settings }: AppContext, signal: AbortSignal) => {
    const store = (epochLines: readonly AuditLine[]) => storeAudit(duties, options.network, epochLines)
    const beacon = await beaconOf(options, settings, await storedChain(duties, options.network))
    lines = await auditWith(options, beacon, store, signal)
  }
  await runIngester(options, audit, new AbortController().signal)
  return lines
}

async function auditWith(
  options: BeaconCommand,
  beacon: Beacon,
  store: StoreAudit,
  signal: AbortSignal,
): Promise<AuditLine[]> {
  const { auditEpochs } = await import('#validators/ingest/epochs/audit.ts')
  const from = options.fromEpoch as number
  const until = options.untilEpoch ?? from + 1
  const lines: AuditLine[] = []
  for await (const epochLines of auditEpochs(beacon, { from, until }, signal)) {
    await store(epochLines)
    lines.push(...epochLines)
  }
  return lines
}
