// Implements `tetrad ingest beacon`. If a server is running, it makes the server poll its node and shows the progress
// (behaviour/validators.md#commands-and-a-running-server). Otherwise it ingests in this process. With a range of epochs
// it fills gaps (behaviour/validators.md#fill-gaps).
import { existsSync } from 'node:fs'
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { poll } from '#ingest/poll.ts'
import { callControl } from '#runtime/control-socket.ts'
import type { AppContext } from '#server/context.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { openDepositReader } from '#validators/ingest/deposits/follow-deposits.ts'
import { openEpochProcessors } from '#validators/ingest/epochs/open-processors.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { countEpochs, explainUnfillable, missingEpochs } from '#validators/ingest/gaps.ts'
import type { IngestProgress } from '#validators/ingest/ingest-progress.ts'
import type { IngestStatus } from '#validators/ingest/ingest-status.ts'
import { readProcessorStart } from '#validators/ingest/start.ts'
import { runStoppable } from './beacon.ts'
import { queryServer } from './data-owner.ts'
import { CommandFailure } from './failure.ts'
import type { LeaseOptions } from './lease.ts'
import { note, printResult } from './print.ts'
import { clock } from './runtime.ts'
import { type CommonOptions, dataDirOf } from './settings.ts'
import { stopSignal } from './stop.ts'

export interface BeaconCommand extends CommonOptions, LeaseOptions {
  readonly network: Network
  readonly once?: boolean
  readonly fromEpoch?: number
  readonly untilEpoch?: number
}

const pollIntervalMs = 500
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000
/** Larger than any epoch. Only gaps before the end of the coverage are filled. */
const epochsEnd = 2 ** 31

/** Undefined: follow the network instead of filling gaps. */
function rangeOf({ fromEpoch, untilEpoch }: BeaconCommand): Range | undefined {
  if (fromEpoch === undefined && untilEpoch === undefined) return undefined
  return { from: fromEpoch ?? 0, until: untilEpoch ?? epochsEnd }
}

/** False: no server uses this folder. */
async function watchServer(options: BeaconCommand): Promise<boolean> {
  const { network } = options
  const epochs = rangeOf(options)
  const isOnce = options.once || epochs !== undefined
  const dataDir = dataDirOf(options)
  if (!existsSync(dataDir)) return false
  const request = await queryServer<IngestStatus>(options, 'ingestStatus', { network, pollNow: true, epochs })
  if (!request) return false
  const signal = isOnce ? new AbortController().signal : stopSignal(clock)
  if (!options.json) note(`${network}: the running server ingests it; showing its progress`)
  const startMs = clock.monotonicMs()
  const first = request.result
  // A poll that was already running may have started before the newest epoch became final.
  const polls = first.polls + (first.isReading ? 2 : 1)
  let last = first
  while (!signal.aborted && !(isOnce && last.polls >= polls)) {
    await clock.sleep(pollIntervalMs, signal)
    const reply = await callControl(dataDir, 'ingestStatus', { network, epochs })
    if (!reply) throw new CommandFailure('control.failed', 'The server has stopped; what it had read is kept.')
    const now = reply.result as IngestStatus
    if (now.lastError !== null && now.polls > last.polls) printProblem(now.lastError, isOnce)
    if (now.until !== last.until && !options.json) note(`${network}: epoch ${now.until} of ${now.finalizedEpoch - 1}`)
    if (now.missingEpochs !== last.missingEpochs && !options.json)
      note(`${network}: ${now.missingEpochs} epochs are missing`)
    if (now.missingPastEpochs !== last.missingPastEpochs && !options.json)
      note(`${network}: ${now.missingPastEpochs} earlier epochs of added validators are to be read`)
    last = now
  }
  const tookMs = clock.monotonicMs() - startMs
  const { missingEpochs: missing, until: end } = last
  if (epochs) printFillReport(options, { filled: first.missingEpochs - missing, missing, end }, tookMs)
  else printIngestReport(options, { ...last, written: Math.max(0, last.until - first.until) }, tookMs)
  return true
}

function printProblem(error: string, isOnce: boolean): void {
  if (isOnce) throw new CommandFailure('beacon.unavailable', error)
  note(`tetrad: ${error}; the server will retry`)
}

/**
 * Runs until stopped; with `once` until all finalized epochs have been read, with a range until its gaps are filled.
 */
export async function ingestBeacon(options: BeaconCommand): Promise<void> {
  if (await watchServer(options)) return
  const startMs = clock.monotonicMs()
  const epochs = rangeOf(options)
  let last: IngestProgress = { until: 0, finalizedEpoch: 0, written: 0 }
  let filled: Filled = { filled: 0, missing: 0, end: epochsEnd }
  await runStoppable(options, async (leased, signal) => {
    if (epochs) filled = await fillEpochs(leased, options, epochs, signal)
    else
      await followNetwork(leased, options, signal, (progress) => {
        last = progress
      })
  })
  const tookMs = clock.monotonicMs() - startMs
  if (epochs) printFillReport(options, filled, tookMs)
  else printIngestReport(options, last, tookMs)
}

interface Filled {
  readonly filled: number
  readonly missing: number
  /** End of the coverage. */
  readonly end: number
}

async function fillEpochs(
  context: AppContext,
  options: BeaconCommand,
  epochs: Range,
  signal: AbortSignal,
): Promise<Filled> {
  const { network } = options
  const reason = await explainUnfillable(context.duties, network, epochs)
  if (reason !== undefined) throw new CommandFailure('epochs.unavailable', `No gap was filled: ${reason}.`)
  await using processors = openEpochProcessors([await readProcessorStart(context, network)])
  const filled = await new Follower(context, network, processors.of(network)).fill(epochs, signal, (left) => {
    if (!options.json) note(`${network}: ${left} epochs are missing`)
  })
  const end = (await coveredEpochs(context.duties, network)).at(-1)?.until ?? 0
  return { filled, missing: countEpochs(await missingEpochs(context.duties, network, epochs)), end }
}

async function followNetwork(
  context: AppContext,
  options: BeaconCommand,
  signal: AbortSignal,
  report: (progress: IngestProgress) => void,
): Promise<void> {
  const { network } = options
  const { beacon, execution } = context.settings.validators.networks[network]
  await using processors = openEpochProcessors([await readProcessorStart(context, network, dataDirOf(options))])
  const processor = processors.of(network)
  const follower = new Follower(context, network, processor)
  const catchUp = async (stop: AbortSignal) => {
    const show = ({ until: epoch, finalizedEpoch }: IngestProgress) => {
      if (!options.json) note(`${network}: epoch ${epoch} of ${finalizedEpoch - 1}`)
    }
    report(await follower.catchUp(stop, show))
    if (execution.rpc.length > 0) await openDepositReader(context, network, await processor.chain(stop)).catchUp(stop)
  }
  if (options.once) return await catchUp(signal)
  const { everyMs } = beacon
  await poll(context, { everyMs, timeoutMs: attemptMs, backoffMaxMs, work: catchUp, report: printFailure }, signal)
}

const printFailure = (outcome: { readonly is: string; readonly error?: unknown }): void => {
  if (outcome.is === 'failed') note(`tetrad: ${(outcome.error as Error).message}; retrying`)
}

function printIngestReport(
  { network, json }: BeaconCommand,
  { until, finalizedEpoch, written }: IngestProgress,
  tookMs: number,
): void {
  const seconds = Number((tookMs / 1000).toFixed(3))
  const text = `${network}: read up to epoch ${until}, ${written} epochs in ${seconds.toFixed(1)} s`
  printResult({ json }, { network, until, finalizedEpoch, written, seconds }, text)
}

function printFillReport(options: BeaconCommand, { filled, missing, end }: Filled, tookMs: number): void {
  const { network, json, untilEpoch = 0 } = options
  const seconds = Number((tookMs / 1000).toFixed(3))
  if (!json && untilEpoch > end) note(`${network}: epochs from ${end} on are not gaps: they have not been read yet`)
  const text = `${network}: ${filled} missing epochs read, ${missing} still missing, in ${seconds.toFixed(1)} s`
  printResult(options, { network, filled, missing, seconds }, text)
}
