// Starts the ingest loops of a server: one for each network with a beacon node, all of them on one thread, and one for
// the deposits of each network with an execution node. Also reports their health to /readyz.

import type { Network } from '#api/contract/wire/validators.ts'
import { errorMessage } from '#core/error-message.ts'
import type { Finding } from '#http/health.ts'
import { type PollOutcome, poll } from '#ingest/poll.ts'
import { recordStep } from '#ingest/stream-progress.ts'
import { networkSettings, networksOf } from '#runtime/settings/validators.ts'
import { createNewsFilter, listenToEvents } from '#sources/beacon/events.ts'
import { findNextFork } from '#sources/beacon/next-fork.ts'
import type { ValidatorsContext } from '../context.ts'
import { countUnexplained } from '../duties/unexplained.ts'
import { followDeposits } from './deposits/follow-deposits.ts'
import type { EpochProcessor } from './epochs/epoch-processor.ts'
import { Follower } from './follow.ts'
import { missingTodo } from './gaps/explain-gaps.ts'
import { createFillGapsSchedule } from './gaps/schedule-fill-gaps.ts'
import { createFillPastSchedule } from './past/schedule-fill-past.ts'
import { headPayloadAfter } from './provisional/head-payload.ts'
import type { HeadProcessor } from './provisional/head-processor.ts'
import { createProvisionalFollower } from './provisional/provisional-follower.ts'
import { followForks } from './status/follow-forks.ts'
import { describeMissing, networkStream, readNetworkHealth } from './status/health.ts'
import type { IngestProgress, IngestStep } from './status/ingest-progress.ts'
import { type IngestRun, type RepairRequest, registerRun, unregisterRun } from './status/ingest-status.ts'
import { failureKindOf, outcomeLogger, unknownForkLogger } from './status/log-outcomes.ts'
import { type EpochProcessorStart, openEpochProcessors } from './thread/open-processors.ts'
import { readProcessorStart } from './thread/read-processor-start.ts'
import { openSharedSnapshots } from './write/shared-snapshots.ts'

/** The first catch-up may take days. Single requests have their own time limit. */
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000
/** Events of a node start at most one poll in this time. */
const wakeEveryMs = 1000
/** How often it is looked up what takes long. */
const stepEveryMs = 1000

export const followedNetworks = (context: Pick<ValidatorsContext, 'settings'>): Network[] =>
  context.settings.groups.validators.enabled
    ? networksOf(context.settings).filter(
        (network) => networkSettings(context.settings, network).beacon.urls.length > 0,
      )
    : []

/** Runs until the signal aborts, and resolves when all loops have ended. */
export async function startBeacon(
  context: ValidatorsContext,
  signal: AbortSignal,
  onStep: (network: Network, step: IngestStep) => void = () => {},
  dataDir?: string,
): Promise<void> {
  const starts = await Promise.all(
    followedNetworks(context).map((network) => readProcessorStart(context, network, dataDir)),
  )
  if (starts.length === 0) return
  await using processors = openEpochProcessors(starts)
  await Promise.all(
    starts.flatMap(({ network, statesDir }) => [
      followNetwork(
        context,
        network,
        { epochs: processors.of(network), head: processors.headOf(network), statesDir },
        signal,
        (step) => onStep(network, step),
      ),
      followDeposits(context, network, processors.of(network), signal),
    ]),
  )
}

interface NetworkParts extends Pick<EpochProcessorStart, 'statesDir'> {
  readonly epochs: EpochProcessor
  readonly head: HeadProcessor
}

async function followNetwork(
  context: ValidatorsContext,
  network: Network,
  { epochs: processor, head, statesDir }: NetworkParts,
  signal: AbortSignal,
  onProgress: (step: IngestStep) => void,
): Promise<void> {
  const follower = new Follower(context, network, processor)
  const provisional = createProvisionalFollower(context, network, head)
  const snapshots = openSharedSnapshots(context, network, statesDir, signal)
  const missing = await follower.countMissing()
  const run = registerRun(context, network)
  // Reported from the start, not only when the first of them is stored.
  run.recordFill(missing)
  const onStep = (step: IngestStep) => {
    const { until, finalizedEpoch, written } = step
    run.step(step)
    // While a network catches up, its progress is logged instead (operations/progress-log.ts).
    const level = until < finalizedEpoch - 1 ? 'debug' : 'info'
    context.log[level]({ network, until, finalizedEpoch, written }, 'epochs stored')
    recordStep(context, networkStream(network))
    snapshots?.store()
    onProgress(step)
  }
  recordStep(context, networkStream(network))
  const report = outcomeLogger(context, network, 'beacon node')
  const warnOfFork = unknownForkLogger(context, network)
  const fillGaps = createFillGapsSchedule(context, follower, {
    onStored: (left) => {
      run.recordFill(left)
      recordStep(context, networkStream(network))
    },
    onEnd: () => run.recordFill(0),
  })
  const fillPast = createFillPastSchedule(context, follower, () => recordStep(context, networkStream(network)))
  let updating: Promise<void> | undefined
  let logged: string | undefined
  const reportStep = async (): Promise<void> => {
    const step = await processor.step()
    if (!run.recordComputing(step)) return
    recordStep(context, networkStream(network))
    if (step && step.name !== logged) context.log.info({ network, ...step }, step.name)
    logged = step?.name
  }
  const stopReporting = context.clock.every(stepEveryMs, () => void reportStep().catch(() => {}))
  const polling = poll(
    context,
    {
      everyMs: networkSettings(context.settings, network).beacon.everyMs,
      timeoutMs: attemptMs,
      backoffMaxMs,
      wakeSignal: run.wakeUp,
      work: async (stop) => {
        run.begin()
        await snapshots?.restore(stop)
        const chain = await processor.chain(stop)
        warnOfFork(chain)
        run.recordFork(findNextFork(chain, context.clock.now()))
        for (let request = run.takeRequest(); request && !stop.aborted; request = run.takeRequest())
          await runRepair(context, follower, run, request, stop)
        const progress = await follower.catchUp(stop, onStep)
        // Final epochs do not wait for a node that is slow about its head.
        updating ??= provisional.update(signal).finally(() => {
          updating = undefined
        })
        updating.catch(() => {})
        await fillGaps(stop)
        await fillPast(stop)
        return progress
      },
      report: (outcome: PollOutcome<IngestProgress>) => {
        if (outcome.is === 'done') run.step(outcome.value)
        if (outcome.is === 'done') run.end(null, context.clock.monotonicMs())
        else {
          provisional.clear()
          run.end(errorMessage(outcome.error), context.clock.monotonicMs(), failureKindOf(outcome.error))
        }
        report(outcome)
      },
    },
    signal,
  )
  const listening = wakeOnEvents(context, network, run, signal)
  const comparing = followForks(context, network, run, signal)
  // Another server may ingest from now on: this one must not report an outdated status.
  await Promise.all([polling, listening, comparing]).finally(async () => {
    stopReporting()
    await updating?.catch(() => {})
    await snapshots?.ended()
    provisional.clear()
    context.validators.headPayloads.delete(network)
    unregisterRun(context, network, run)
  })
}

/** New blocks and new finality are read at once, not only with the next poll. */
function wakeOnEvents(
  { clock, settings, validators }: ValidatorsContext,
  network: Network,
  run: IngestRun,
  signal: AbortSignal,
): Promise<void> {
  let wokenMs = Number.NEGATIVE_INFINITY
  const isNews = createNewsFilter()
  const { urls } = networkSettings(settings, network).beacon
  return listenToEvents(
    { urls, clock },
    (event) => {
      const payload = headPayloadAfter(validators.headPayloads.get(network), event)
      if (payload) validators.headPayloads.set(network, payload)
      else validators.headPayloads.delete(network)
      if (!isNews(event) || clock.monotonicMs() - wokenMs < wakeEveryMs) return
      wokenMs = clock.monotonicMs()
      run.wakeUp.wake()
    },
    signal,
  )
}

/** Runs a repair that a command requested. Its failure is reported to the command and does not stop the ingest. */
async function runRepair(
  context: ValidatorsContext,
  follower: Follower,
  run: IngestRun,
  { id, epochs }: RepairRequest,
  signal: AbortSignal,
): Promise<void> {
  const { network } = follower
  try {
    const repaired = await follower.repair(epochs, signal, (left) => {
      run.recordRepair(id, { left })
      run.step(run.status)
      recordStep(context, networkStream(network))
    })
    context.log.info({ network, ...epochs, ...repaired }, 'epochs repaired')
    run.recordRepair(id, { ...repaired, isDone: true })
  } catch (error) {
    const failed = { fromEpoch: epochs.from, untilEpoch: epochs.until, reason: errorMessage(error) }
    context.log.warn({ network, ...failed }, 'epochs could not be repaired')
    run.recordRepair(id, { failed, isDone: true })
  }
}

/**
 * For /readyz. A network that is catching up does not make the server unready (behaviour/operations.md#stream-status).
 */
export async function beaconFindings(context: ValidatorsContext): Promise<Finding[]> {
  return Promise.all(
    followedNetworks(context).map(async (network) => {
      const health = await readNetworkHealth(context, network)
      const { covered, behindEpochs, isFresh, isProgressing, isYoung, problem } = health
      const { epochsPerDay } = networkSettings(context.settings, network)
      const position =
        behindEpochs !== undefined
          ? describePosition(behindEpochs)
          : isYoung
            ? 'waiting for the first final epoch'
            : 'no epoch stored yet'
      const until = covered.at(-1)?.until ?? 0
      const unexplained = await countUnexplained(context.duties, network, until - epochsPerDay)
      const doubt = unexplained === 0 ? '' : `; ${unexplained} balances of the last day are not explained by the rules`
      const missing = describeMissing(health)
      const gaps = missing === undefined ? '' : `; ${missing}: ${missingTodo(network)}`
      const filling = `; ${health.fillingEpochs} earlier epochs are still being read`
      const step = health.step === undefined ? '' : `; ${health.step}`
      const message = `${isProgressing && !isYoung ? `catching up, ${position}` : position}${step}${problem ? `; ${problem.message}` : ''}${doubt}${health.fillingEpochs > 0 ? filling : gaps}`
      return { name: `beacon ${network}`, ok: isFresh || isProgressing || isYoung, message }
    }),
  )
}

const describePosition = (behindEpochs: number): string =>
  behindEpochs < 0 ? `${-behindEpochs} epochs ahead of the clock` : `${behindEpochs} epochs behind`
