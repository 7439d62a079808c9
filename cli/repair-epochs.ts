// `tetrad repair --network`: reads missing epochs, and replaces stored ones with what the node returns now. If a server
// is running, the server does it and the command shows its progress. Otherwise the command does it.
import { existsSync } from 'node:fs'
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { callControl } from '#runtime/control-socket.ts'
import type { AppContext } from '#server/context.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { explainUnrepairable } from '#validators/ingest/repair/explain-unrepairable.ts'
import type { Repaired } from '#validators/ingest/repair/repair-epochs.ts'
import type { RepairProgress } from '#validators/ingest/status/ingest-status.ts'
import { openEpochProcessors } from '#validators/ingest/thread/open-processors.ts'
import { readProcessorStart } from '#validators/ingest/thread/read-processor-start.ts'
import { queryServer } from './data-owner.ts'
import { CommandFailure, exitPartly, UsageFailure } from './failure.ts'
import type { LeaseOptions } from './lease.ts'
import { counted, note, print, printJson } from './print.ts'
import { runStoppable, toCommandFailure } from './run-ingester.ts'
import { clock } from './runtime.ts'
import { type CommonOptions, dataDirOf } from './settings.ts'

interface RepairOptions extends CommonOptions, LeaseOptions {
  readonly network?: Network
  readonly fromEpoch?: number
  readonly untilEpoch?: number
}

interface RepairTask extends RepairOptions {
  readonly network: Network
  readonly epochs: Range
}

const pollIntervalMs = 500

export const isAboutEpochs = ({ network, fromEpoch, untilEpoch }: RepairOptions): boolean =>
  [network, fromEpoch, untilEpoch].some((option) => option !== undefined)

export async function repairEpochs(options: RepairOptions): Promise<void> {
  const task = taskOf(options)
  printRepairReport(task, (await repairViaRunningServer(task)) ?? (await repairInProcess(task)))
}

/** Rejects invalid options before a store is opened. */
function taskOf(options: RepairOptions): RepairTask {
  const { network = 'mainnet', fromEpoch, untilEpoch } = options
  const chainOptions = ['chain', 'from', 'until', 'forgetFrom', 'yes'].filter((name) => name in options)
  if (chainOptions.length > 0) {
    const names = chainOptions.map((name) => (name === 'forgetFrom' ? '--forget-from' : `--${name}`)).join(', ')
    throw new UsageFailure('repair.options', `${names} applies to the blocks of a chain. Omit it to repair epochs.`)
  }
  if (fromEpoch === undefined || untilEpoch === undefined) {
    const missing = fromEpoch === undefined ? '--from-epoch' : '--until-epoch'
    throw new UsageFailure('repair.options', `${missing} is missing. Pass --from-epoch and --until-epoch.`)
  }
  if (fromEpoch >= untilEpoch) {
    const message = `--from-epoch ${fromEpoch} must be smaller than --until-epoch ${untilEpoch}.`
    throw new UsageFailure('repair.options', message)
  }
  return { ...options, network, epochs: { from: fromEpoch, until: untilEpoch } }
}

/** Undefined: no server uses this folder. */
async function repairViaRunningServer(task: RepairTask): Promise<Repaired | undefined> {
  const { network, epochs, json } = task
  if (!existsSync(dataDirOf(task))) return undefined
  const started = await queryServer<RepairProgress>(task, 'repairEpochs', { network, epochs })
  if (!started) return undefined
  const { id } = started.result
  if (!json) note(`${network}: the running server repairs the epochs and continues if you stop this command`)
  let last = started.result
  while (!last.isDone) {
    await clock.sleep(pollIntervalMs)
    const reply = await callControl(dataDirOf(task), 'repairEpochs', { network, id })
    if (!reply) throw new CommandFailure('control.failed', 'The server has stopped. Run the command again.')
    const now = reply.result as RepairProgress
    if (now.left !== last.left && now.left !== null) printRemaining(task, now.left)
    last = now
  }
  const { id: _, left, isDone, ...repaired } = last
  return repaired
}

function printRemaining({ network, json }: RepairTask, left: number): void {
  if (!json) note(`${network}: ${counted(left, 'epoch')} left to read`)
}

async function repairInProcess(task: RepairTask): Promise<Repaired> {
  let repaired: Repaired | undefined
  const work = runStoppable(task, async (context, signal) => {
    repaired = await repairOn(context, task, signal)
  })
  await toCommandFailure(work)
  if (!repaired) throw new CommandFailure('repair.failed', 'The repair was stopped; nothing was changed.')
  return repaired
}

async function repairOn(context: AppContext, task: RepairTask, signal: AbortSignal): Promise<Repaired> {
  const { network, epochs } = task
  const problem = await explainUnrepairable(context.duties, network, epochs)
  if (problem !== undefined) throw new CommandFailure('epochs.unavailable', `Nothing was changed: ${problem}.`)
  await using processors = openEpochProcessors([await readProcessorStart(context, network)])
  const follower = new Follower(context, network, processors.of(network))
  try {
    return await follower.repair(epochs, signal, (left) => printRemaining(task, left))
  } catch (error) {
    if (error instanceof Error && error.name === 'RepairRefused')
      throw new CommandFailure('repair.failed', `Nothing was changed: ${error.message}.`)
    throw error
  }
}

function printRepairReport({ network, json, epochs: requested }: RepairTask, repaired: Repaired): void {
  const { filled, parts, epochs, changed, failed } = repaired
  if (failed && parts + filled === 0) {
    const { fromEpoch, untilEpoch, reason } = failed
    throw new CommandFailure(
      'repair.failed',
      `Nothing was changed. Epochs ${fromEpoch} to ${untilEpoch - 1} cannot be repaired: ${reason}.`,
    )
  }
  if (json) printJson({ network, ...repaired })
  else {
    const replaced = `${counted(epochs, 'epoch')} replaced (${counted(parts, 'day part')})`
    const read = `${counted(filled, 'missing epoch')} read`
    print(`${network}: ${replaced}, figures of ${counted(changed, 'validator')} changed, ${read}`)
  }
  if (!failed) return
  const { fromEpoch, untilEpoch, reason } = failed
  note(`tetrad: epochs ${fromEpoch} to ${untilEpoch - 1} cannot be repaired and are unchanged: ${reason}.`)
  note(`Continue with: tetrad repair --network ${network} --from-epoch ${fromEpoch} --until-epoch ${requested.until}`)
  process.exitCode = exitPartly
}
