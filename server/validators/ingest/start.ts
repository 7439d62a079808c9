// What runs while the server runs: every network with a beacon node is followed, on one thread for all of them, and its deposits
// are read where an execution node is configured. And what /readyz and the operator's commands hear of it.
import { type Network, networks } from '#api/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import type { Finding } from '#http/health.ts'
import { type PollOutcome, poll } from '#ingest/poll.ts'
import { noteStep } from '#ingest/stream-progress.ts'
import type { Chain } from '#sources/beacon/client.ts'
import { openRpc } from '#sources/evm/rpc.ts'
import type { ValidatorsContext } from '../context.ts'
import { auditTotals } from '../duties/audits.ts'
import { storedChain } from '../duties/networks.ts'
import { DepositReader } from './deposits/deposits.ts'
import type { EpochProcessor } from './epochs/epoch-processor.ts'
import { type EpochProcessorStart, openEpochProcessor, openEpochProcessors } from './epochs/open-processors.ts'
import { Follower, type IngestProgress, type IngestStep } from './follow.ts'
import { networkStream, readNetworkHealth } from './health.ts'
import { type IngestRun, type RangeRequest, registerRun, unregisterRun } from './ingest-status.ts'

/** A first catch-up may take days; it is bounded per answer, not as a whole. */
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000
/** Blocks become final every few minutes. */
const depositsEveryMs = 60_000

export const followedNetworks = (context: Pick<ValidatorsContext, 'settings'>): Network[] =>
  context.settings.groups.validators.on
    ? networks.filter((network) => context.settings.validators.networks[network].beacon.urls.length > 0)
    : []

/** Resolves when the signal has ended all loops. */
export async function startBeacon(
  context: ValidatorsContext,
  signal: AbortSignal,
  onStep: (network: Network, step: IngestStep) => void = () => {},
): Promise<void> {
  const starts = await Promise.all(followedNetworks(context).map((network) => readProcessorStart(context, network)))
  if (starts.length === 0) return
  await using processors = openEpochProcessors(starts)
  await Promise.all(
    starts.flatMap(({ network }) => [
      followNetwork(context, network, processors.of(network), signal, (step) => onStep(network, step)),
      followDeposits(context, network, processors.of(network), signal),
    ]),
  )
}

export async function readProcessorStart(
  { duties, settings }: Pick<ValidatorsContext, 'duties' | 'settings'>,
  network: Network,
) {
  const { beacon, execution, watch } = settings.validators.networks[network]
  const start: EpochProcessorStart = {
    network,
    settings: { beacon, execution, watch },
    identity: await storedChain(duties, network),
  }
  return start
}

/** One that works on this thread. */
export const openFollower = async (context: ValidatorsContext, network: Network): Promise<Follower> =>
  new Follower(context, network, openEpochProcessor(await readProcessorStart(context, network), context.clock))

async function followNetwork(
  context: ValidatorsContext,
  network: Network,
  processor: EpochProcessor,
  signal: AbortSignal,
  onProgress: (step: IngestStep) => void,
): Promise<void> {
  const follower = new Follower(context, network, processor)
  const run = registerRun(context, network)
  const onStep = (step: IngestStep) => {
    const { until, finalizedEpoch, written, compared, differing, unexplainedBalanceChanges } = step
    run.step(step)
    context.log.info({ network, until, finalizedEpoch, written, moved: unexplainedBalanceChanges }, 'epochs were read')
    if (differing > 0) {
      const message = "rewards differ from the node's own; `tetrad validators audit` shows where"
      context.log.warn({ network, until, compared, differing }, message)
    }
    noteStep(context, networkStream(network))
    onProgress(step)
  }
  noteStep(context, networkStream(network))
  const report = outcomeLogger(context, network, 'the beacon node')
  const polling = poll(
    context,
    {
      everyMs: context.settings.validators.networks[network].beacon.everyMs,
      timeoutMs: attemptMs,
      backoffMaxMs,
      wakeSignal: run.wakeUp,
      work: async (stop) => {
        run.begin()
        for (let wanted = run.takeRequest(); wanted && !stop.aborted; wanted = run.takeRequest())
          await runRequest(context, follower, run, wanted, stop)
        return follower.catchUp(stop, onStep)
      },
      report: (outcome: PollOutcome<IngestProgress>) => {
        if (outcome.is === 'done') run.step(outcome.value)
        if (outcome.is === 'done') run.end(null, context.clock.now())
        else run.end(errorMessage(outcome.error), context.clock.now(), isContradiction(outcome.error))
        report(outcome)
      },
    },
    signal,
  )
  // Whoever does not ask the node any more knows nothing of it.
  await polling.finally(() => unregisterRun(context, network, run))
}

/** What a command asked for. A repair that fails is reported to the command and does not keep the network from being read. */
async function runRequest(
  context: ValidatorsContext,
  follower: Follower,
  run: IngestRun,
  { epochs, repairId: repair }: RangeRequest,
  signal: AbortSignal,
): Promise<void> {
  const { network } = follower
  const onStep = () => {
    run.step(run.status)
    noteStep(context, networkStream(network))
  }
  if (repair === undefined) {
    await follower.fill(epochs, signal, (left) => {
      context.log.info({ network, ...epochs, left }, 'epochs were filled in')
      onStep()
    })
    return
  }
  try {
    const repaired = await follower.repair(epochs, signal, (left) => {
      run.noteRepair(repair, { left })
      onStep()
    })
    context.log.info({ network, ...epochs, ...repaired }, 'epochs were read again')
    run.noteRepair(repair, { ...repaired, isDone: true })
  } catch (error) {
    const failed = { fromEpoch: epochs.from, untilEpoch: epochs.until, reason: errorMessage(error) }
    context.log.warn({ network, ...failed }, 'epochs could not be read again')
    run.noteRepair(repair, { failed, isDone: true })
  }
}

async function followDeposits(
  context: ValidatorsContext,
  network: Network,
  processor: EpochProcessor,
  signal: AbortSignal,
): Promise<void> {
  if (context.settings.validators.networks[network].execution.rpc.length === 0) return
  let reader: DepositReader | undefined
  await poll(
    context,
    {
      everyMs: depositsEveryMs,
      timeoutMs: attemptMs,
      backoffMaxMs,
      work: async (stop) => {
        reader ??= openDepositReader(context, network, await processor.chain(stop))
        return reader.catchUp(stop)
      },
      report: outcomeLogger(context, network, 'the deposit contract'),
    },
    signal,
  )
}

/** Where the network's deposits are read from, by its nodes' own words. */
export function openDepositReader(
  { state, settings, clock }: Pick<ValidatorsContext, 'state' | 'settings' | 'clock'>,
  network: Network,
  { deposits }: Chain,
): DepositReader {
  const { chainId, rpc } = settings.validators.networks[network].execution
  if (!deposits) throw new Error(`${network}: the beacon node does not name the deposit contract in config/spec`)
  if (deposits.chainId !== chainId) {
    const setting = `validators.networks.${network}.execution.chainId`
    throw new Error(`${network}: deposits are made on chain ${deposits.chainId}, not ${chainId}; correct ${setting}`)
  }
  return new DepositReader(state, network, openRpc({ chain: chainId, rpc, clock }), deposits.contract)
}

/** By name: an error that comes from another thread has lost its class. */
const isContradiction = (error: unknown): boolean => error instanceof Error && error.name === 'ContradictionError'

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function failureText(error: unknown, what: string): string {
  if (error instanceof Fault) return 'the network is not read'
  if (isContradiction(error))
    return `${what} contradicts itself; the epoch is not stored and is read again. Repair the node or add a second one`
  return `${what} could not be read`
}

/** Failures and recoveries, each with a line. */
const outcomeLogger =
  (context: ValidatorsContext, network: Network, what: string) =>
  (outcome: PollOutcome<unknown>): void => {
    if (outcome.is === 'failed') {
      context.log.warn(
        { network, failures: outcome.failures, reason: errorMessage(outcome.error) },
        failureText(outcome.error, what),
      )
    } else if (outcome.failuresBefore > 0) {
      context.log.info({ network }, `${what} can be read again`)
    }
  }

/** How far each followed network has been read, against the clock. Catching up is no reason to be called away (behaviour/operations.md#stream-status). */
export async function beaconFindings(context: ValidatorsContext): Promise<Finding[]> {
  return Promise.all(
    followedNetworks(context).map(async (network) => {
      const { covered, behindEpochs, isFresh, isMoving, problem } = await readNetworkHealth(context, network)
      const { epochsPerDay } = context.settings.validators.networks[network]
      const position = behindEpochs === undefined ? 'no epoch has been read yet' : `${behindEpochs} epochs behind`
      const until = covered.at(-1)?.until ?? 0
      const { compared, differing } = await auditTotals(context.duties, network, until - epochsPerDay)
      // Which of the two is wrong is not known, so it is a word to the operator and no reason to take the server out.
      const doubt =
        differing === 0 ? '' : `; ${differing} of ${compared} rewards of the last day differ from the node's`
      const message = `${isMoving ? `catching up, ${position}` : position}${problem ? `; ${problem.message}` : ''}${doubt}`
      return { name: `beacon ${network}`, ok: isFresh || isMoving, message }
    }),
  )
}
