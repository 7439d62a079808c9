// Implements `tetrad ingest beacon`. If a server is running, it makes the server poll its node and shows the progress
// (behaviour/validators.md#commands-and-a-running-server). Otherwise it ingests in this process.

import { existsSync } from 'node:fs'
import { poll } from '#ingest/poll.ts'
import { callControl } from '#runtime/control-socket.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import { openDepositReader } from '#validators/ingest/deposits/follow-deposits.ts'
import { Follower } from '#validators/ingest/follow.ts'
import type { IngestProgress } from '#validators/ingest/status/ingest-progress.ts'
import type { IngestStatus } from '#validators/ingest/status/ingest-status.ts'
import { openEpochProcessors } from '#validators/ingest/thread/open-processors.ts'
import { readProcessorStart } from '#validators/ingest/thread/read-processor-start.ts'
import { queryServer } from './data-owner.ts'
import { CommandFailure } from './failure.ts'
import { counted, note, printResult } from './print.ts'
import { type BeaconCommand, runStoppable } from './run-ingester.ts'
import { clock } from './runtime.ts'
import { dataDirOf } from './settings.ts'
import { stopSignal } from './stop.ts'

const pollIntervalMs = 500
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000

/** False: no server uses this folder. */
async function watchServer(options: BeaconCommand): Promise<boolean> {
  const { network, once: isOnce = false } = options
  const dataDir = dataDirOf(options)
  if (!existsSync(dataDir)) return false
  const request = await queryServer<IngestStatus>(options, 'ingestStatus', { network, pollNow: true })
  if (!request) return false
  const signal = isOnce ? new AbortController().signal : stopSignal(clock)
  if (!options.json) note(`${network}: the running server ingests it; showing its progress`)
  const startMs = clock.monotonicMs()
  const statusAtStart = request.result
  // A poll that was already running may have started before the newest epoch became final.
  const pollsNeeded = statusAtStart.polls + (statusAtStart.isReading ? 2 : 1)
  let last = statusAtStart
  while (!signal.aborted && !(isOnce && last.polls >= pollsNeeded)) {
    await clock.sleep(pollIntervalMs, signal)
    const reply = await callControl(dataDir, 'ingestStatus', { network })
    if (!reply) throw new CommandFailure('control.failed', 'The server has stopped; what it had read is kept.')
    const now = reply.result as IngestStatus
    if (now.lastError !== null && now.polls > last.polls) printProblem(now.lastError, isOnce)
    if (now.until !== last.until && !options.json) note(`${network}: epoch ${now.until} of ${now.finalizedEpoch - 1}`)
    if (now.missingPastEpochs !== last.missingPastEpochs && !options.json)
      note(`${network}: ${now.missingPastEpochs} earlier epochs of added validators are to be read`)
    last = now
  }
  const tookMs = clock.monotonicMs() - startMs
  printIngestReport(options, { ...last, written: Math.max(0, last.until - statusAtStart.until) }, tookMs)
  return true
}

function printProblem(error: string, isOnce: boolean): void {
  if (isOnce) throw new CommandFailure('beacon.unavailable', error)
  note(`tetrad: ${error}; the server will retry`)
}

/** Runs until stopped; with `once` until all finalized epochs have been read. */
export async function ingestBeacon(options: BeaconCommand): Promise<void> {
  if (await watchServer(options)) return
  const startMs = clock.monotonicMs()
  let last: IngestProgress = { until: 0, finalizedEpoch: 0, written: 0 }
  await runStoppable(options, (leased, signal) =>
    followNetwork(leased, options, signal, (progress) => {
      last = progress
    }),
  )
  printIngestReport(options, last, clock.monotonicMs() - startMs)
}

async function followNetwork(
  context: AppContext,
  options: BeaconCommand,
  signal: AbortSignal,
  report: (progress: IngestProgress) => void,
): Promise<void> {
  const { network } = options
  const { beacon, execution } = networkSettings(context.settings, network)
  await using processors = openEpochProcessors([await readProcessorStart(context, network, dataDirOf(options))])
  const processor = processors.of(network)
  const follower = new Follower(context, network, processor)
  let isPastRead = false
  const catchUp = async (stop: AbortSignal) => {
    const show = ({ until: epoch, finalizedEpoch }: IngestProgress) => {
      if (!options.json) note(`${network}: epoch ${epoch} of ${finalizedEpoch - 1}`)
    }
    report(await follower.catchUp(stop, show))
    if (!isPastRead) await readPast(follower, options, stop)
    isPastRead = true
    if (execution.rpc.length > 0) await openDepositReader(context, network, await processor.chain(stop)).catchUp(stop)
  }
  if (options.once) return await catchUp(signal)
  const { everyMs } = beacon
  await poll(context, { everyMs, timeoutMs: attemptMs, backoffMaxMs, work: catchUp, report: printFailure }, signal)
}

/** Fills gaps, and reads the past of validators that were added to the watch list, as far as states and nodes allow. */
async function readPast(follower: Follower, { network, json }: BeaconCommand, signal: AbortSignal): Promise<void> {
  const show = (text: string) => {
    if (!json) note(`${network}: ${text}`)
  }
  while (!signal.aborted && (await follower.fillGaps(signal, (left) => show(`${left} missing epochs are to be read`))));
  for (let after = 0; !signal.aborted; ) {
    const step = await follower.fillPast(signal, after)
    if (step.is === 'complete') return
    if (step.is === 'read') show(`${step.left} earlier epochs of added validators are to be read`)
    if (step.is === 'refused' || step.is === 'unreadable') after = step.epochs.until
  }
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
  const text = `${network}: ${until === 0 ? 'nothing to read yet' : `read up to epoch ${until - 1}`}, ${counted(written, 'epoch')} in ${seconds.toFixed(1)} s`
  printResult({ json }, { network, until, finalizedEpoch, written, seconds }, text)
}
