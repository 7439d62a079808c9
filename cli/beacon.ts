// `tetrad ingest beacon` reads the finalized epochs of a network into the duties database. `tetrad validators audit`
// compares computed rewards with those of the node. If a server is running, it owns the data folder: the first command
// makes it poll and shows its progress, the second sends it the results
// (behaviour/validators.md#commands-and-a-running-server).
import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { networks } from '#api/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import type { Settings } from '#runtime/settings.ts'
import type { AppContext } from '#server/context.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import type { AuditLine } from '#validators/duties/audits.ts'
import type { BeaconCommand } from './beacon-ingest.ts'
import { queryServer, withContext } from './data-owner.ts'
import { CommandFailure } from './failure.ts'
import { runWithLease, waitOption } from './lease.ts'
import { integerBetween } from './parse-integer.ts'
import { print, printJson, table } from './print.ts'
import { clock, log } from './runtime.ts'
import { configOf, dataDirOf } from './settings.ts'
import { stopSignal } from './stop.ts'

export const networkOption = () =>
  new Option('--network <name>', 'name of the network').choices(networks).default('mainnet')

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

const nodeErrorNames = new Set(['BeaconError', 'ContradictionError', 'DepositGap', 'FetchError', 'Fault'])

/** Errors of a node are shown as command failures, not as bugs. */
export async function toCommandFailure(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    // Checks the name, because an error from another thread loses its class.
    if (error instanceof Error && nodeErrorNames.has(error.name) && !(error instanceof Fault))
      throw new CommandFailure('beacon.unavailable', error.message)
    throw error
  }
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
  const store = (lines: readonly AuditLine[]) => queryServer(options, 'storeAudit', { network, lines })
  if (!(await store([]))) return undefined
  const { settings } = await configOf(options)
  return auditWith(options, settings, store, new AbortController().signal)
}

async function auditInProcess(options: BeaconCommand): Promise<AuditLine[]> {
  const { storeAudit } = await import('#validators/ingest/epochs/audit.ts')
  let lines: AuditLine[] = []
  const audit = async ({ duties, settings }: AppContext, signal: AbortSignal) => {
    const store = (epochLines: readonly AuditLine[]) => storeAudit(duties, options.network, epochLines)
    lines = await auditWith(options, settings, store, signal)
  }
  await runIngester(options, audit, new AbortController().signal)
  return lines
}

async function auditWith(
  options: BeaconCommand,
  settings: Settings,
  store: StoreAudit,
  signal: AbortSignal,
): Promise<AuditLine[]> {
  const { auditEpochs } = await import('#validators/ingest/epochs/audit.ts')
  const from = options.fromEpoch as number
  const until = options.untilEpoch ?? from + 1
  const lines: AuditLine[] = []
  for await (const epochLines of auditEpochs(await beaconOf(options, settings), { from, until }, signal)) {
    await store(epochLines)
    lines.push(...epochLines)
  }
  return lines
}

async function beaconOf({ network }: BeaconCommand, settings: Settings): Promise<Beacon> {
  const { urls, timeoutMs } = settings.validators.networks[network].beacon
  if (urls.length === 0) {
    throw new CommandFailure(
      'beacon.missing',
      `No beacon node is configured: set validators.networks.${network}.beacon.urls.`,
    )
  }
  const { openBeacon } = await import('#sources/beacon/client.ts')
  return openBeacon({ network, urls, timeoutMs, clock })
}

type Ingester = (context: AppContext, signal: AbortSignal) => Promise<void>

/** Runs an ingester under the lease, with the chain times of the node. */
async function runIngester(options: BeaconCommand, ingester: Ingester, signal: AbortSignal): Promise<void> {
  await beaconOf(options, (await configOf(options)).settings)
  const run = async (context: AppContext) => {
    const { withChainTimes } = await import('#validators/ingest/read/chain-identity.ts')
    const timed = { ...context, settings: await withChainTimes(context) }
    await runWithLease(timed, options, 'beacon', ingester, signal)
  }
  await withContext(options, run, log)
}

/** The same until it ends or a signal stops it. */
export async function runStoppable(options: BeaconCommand, ingester: Ingester): Promise<void> {
  const signal = stopSignal(clock)
  await runIngester(options, ingester, signal).catch((error) => {
    if (!signal.aborted) throw error
  })
}
