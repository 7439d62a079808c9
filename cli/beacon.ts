// `tetrad ingest beacon` reads a network's finalized epochs into the duties database; `tetrad validators audit` holds the rewards against
// the node's own. A running server owns the data folder and ingests by itself: the first then has it look at once and shows how it
// gets on, the second compares by itself and has the server keep what it found (behaviour/validators.md#commands-and-a-running-server).
import { existsSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { networks } from '#api/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import type { Settings } from '#runtime/settings.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import type { Duties } from '#storage/duties.ts'
import type { Stores } from '#storage/open.ts'
import type { AuditLine } from '#validators/duties/audits.ts'
import type { BeaconCommand } from './beacon-ingest.ts'
import { refuseDemo } from './data.ts'
import { queryServer } from './data-owner.ts'
import { CommandFailure } from './failure.ts'
import { runWithLease, turnContext, waitOption } from './lease.ts'
import { print, printJson, table } from './print.ts'
import { configOf, dataDirOf } from './settings.ts'

export const networkOption = () => new Option('--network <name>', 'which network').choices(networks).default('mainnet')

/** After the command `ingest` is there. */
export function addBeacon(program: Command): void {
  const ingest = program.commands.find((command) => command.name() === 'ingest')
  ingest
    ?.command('beacon')
    .description("Read a network's finalized epochs, then follow it until stopped. Goes on where it was interrupted.")
    .addOption(networkOption())
    .option('--once', 'end when everything that is final has been read')
    .option('--from-epoch <n>', 'fill in what was left out from this epoch on, and end', epochNumber)
    .option('--until-epoch <n>', 'fill in what was left out before this epoch, and end', epochNumber)
    .option(...waitOption)
    .action((_: unknown, command: Command) => toCommandFailure(runIngest(command.optsWithGlobals())))

  const validators = program
    .command('validators')
    .description('Validators: find them, explain their scores, audit rewards.')
  validators
    .command('audit')
    .description("Hold what the consensus rules give against the node's own rewards; the difference is kept and shown.")
    .addOption(networkOption())
    .requiredOption('--from-epoch <n>', 'first epoch', epochNumber)
    .option('--until-epoch <n>', 'epoch to stop before (default: one epoch)', epochNumber)
    .option(...waitOption)
    .action((_: unknown, command: Command) => toCommandFailure(audit(command.optsWithGlobals())))
}

async function runIngest(options: BeaconCommand): Promise<void> {
  const { ingestBeacon, watchServer } = await import('./beacon-ingest.ts')
  if (await watchServer(options)) return
  await withStores(options, (stores, settings) => ingestBeacon(options, stores, settings))
}

const nodeErrorNames = new Set(['BeaconError', 'ContradictionError', 'DepositGap', 'FetchError', 'Fault'])

/** What a node does not give is for the person at the keyboard to see, not a broken belief of ours. */
export async function toCommandFailure(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    // By name: what comes from another thread has lost its class.
    if (error instanceof Error && nodeErrorNames.has(error.name) && !(error instanceof Fault))
      throw new CommandFailure('beacon.unavailable', error.message)
    throw error
  }
}

export function epochNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

type KeepAudit = (lines: readonly AuditLine[]) => Promise<unknown>

async function audit(options: BeaconCommand): Promise<void> {
  const lines = existsSync(dataDirOf(options)) ? await auditViaRunningServer(options) : undefined
  const shown = lines ?? (await auditHere(options))
  if (options.json) return printJson(shown)
  print(
    table(
      ['epoch', 'part', 'compared', 'differing', 'gwei'],
      shown.map((line) => [line.epoch, line.part, line.compared, line.differing, line.gwei].map(String)),
    ),
  )
  const differing = shown.reduce((sum, line) => sum + line.differing, 0)
  print(differing === 0 ? 'Both ways agree.' : `${differing} figures differ; the rules' are used.`)
}

/** The running server is busy with answers: it only keeps what was found. Undefined: there is none. */
async function auditViaRunningServer(options: BeaconCommand): Promise<AuditLine[] | undefined> {
  const { network } = options
  const keep = (lines: readonly AuditLine[]) => queryServer(options, 'audit', { network, lines })
  if (!(await keep([]))) return undefined
  const { settings } = await configOf(options)
  return auditWith(options, settings, keep, new AbortController().signal)
}

async function auditHere(options: BeaconCommand): Promise<AuditLine[]> {
  const [{ storeAudit: keepAudit }, { dutiesHere }] = await Promise.all([
    import('#validators/ingest/epochs/audit.ts'),
    import('#validators/duties/store.ts'),
  ])
  let lines: AuditLine[] = []
  await withStores(options, async (stores, settings) => {
    const turn = async ({ duties }: { readonly duties: Duties }, signal: AbortSignal) => {
      lines = await auditWith(options, settings, (own) => keepAudit(duties, options.network, own), signal)
    }
    const context = { ...(await turnContext(stores.state)), duties: dutiesHere(stores.duties) }
    await runWithLease(context, options, 'beacon', turn, new AbortController().signal)
  })
  return lines
}

async function auditWith(
  options: BeaconCommand,
  settings: Settings,
  keep: KeepAudit,
  signal: AbortSignal,
): Promise<AuditLine[]> {
  const { auditEpochs } = await import('#validators/ingest/epochs/audit.ts')
  const from = options.fromEpoch as number
  const until = options.untilEpoch ?? from + 1
  const lines: AuditLine[] = []
  for await (const own of auditEpochs(await beaconOf(options, settings), { from, until }, signal)) {
    await keep(own)
    lines.push(...own)
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
  const [{ openBeacon }, { systemClock }] = await Promise.all([
    import('#sources/beacon/client.ts'),
    import('#runtime/clock.ts'),
  ])
  return openBeacon({ network, urls, timeoutMs, clock: systemClock })
}

/** Both stores, with chain time as the node tells it. A server that runs holds the folder, which opening reports. */
export async function withStores(
  options: BeaconCommand,
  work: (stores: Stores, settings: Settings) => Promise<void>,
): Promise<void> {
  const { settings } = await configOf(options)
  await beaconOf(options, settings)
  const [{ openStores }, { dutiesHere }, { withChainTimes }, { systemClock }, { openLog }] = await Promise.all([
    import('#storage/open.ts'),
    import('#validators/duties/store.ts'),
    import('#validators/ingest/read/chain-identity.ts'),
    import('#runtime/clock.ts'),
    import('#runtime/log.ts'),
  ])
  const stores = await openStores(dataDirOf(options), settings.store)
  try {
    await refuseDemo(options, stores.state)
    const log = openLog('warn', (line) => process.stderr.write(line))
    await work(stores, await withChainTimes({ duties: dutiesHere(stores.duties), settings, clock: systemClock, log }))
  } finally {
    await stores.close()
  }
}
