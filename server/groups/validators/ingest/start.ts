// What runs while the server runs: every network with a beacon node is followed, on one thread for all of them, and its deposits
// are read where an execution node is configured. And what /readyz and the operator's commands hear of it.
import { type Network, networks } from '#api/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import { type PollOutcome, poll } from '#ingest/poll.ts'
import { noteStep } from '#ingest/stream-progress.ts'
import type { Chain } from '#io/beacon/client.ts'
import { openRpc } from '#io/evm/rpc.ts'
import type { Finding } from '#serve/health.ts'
import type { ValidatorsContext } from '../context.ts'
import { auditTotals } from '../duties/audits.ts'
import { storedChain } from '../duties/networks.ts'
import { DepositReader } from './deposits.ts'
import { Follower, type Progress, type Step } from './follow.ts'
import { networkHealth, networkStream } from './health.ts'
import type { Mill } from './mill.ts'
import { type MillStart, openMill, openMills } from './mills.ts'
import { forgetRun, noteRun, type Run, type Wanted } from './runs.ts'

/** A first catch-up may take days; it is bounded per answer, not as a whole. */
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000
/** Blocks become final every few minutes. */
const depositsEveryMs = 60_000

export const followed = (context: Pick<ValidatorsContext, 'settings'>): Network[] =>
  context.settings.groups.validators.on
    ? networks.filter((network) => context.settings.validators.networks[network].beacon.urls.length > 0)
    : []

/** Resolves when the signal has ended all loops. */
export async function startBeacon(
  context: ValidatorsContext,
  signal: AbortSignal,
  tell: (network: Network, step: Step) => void = () => {},
): Promise<void> {
  const starts = await Promise.all(followed(context).map((network) => millStart(context, network)))
  if (starts.length === 0) return
  await using mills = openMills(starts)
  await Promise.all(
    starts.flatMap(({ network }) => [
      follow(context, network, mills.of(network), signal, (step) => tell(network, step)),
      followDeposits(context, network, mills.of(network), signal),
    ]),
  )
}

export async function millStart(
  { duties, settings }: Pick<ValidatorsContext, 'duties' | 'settings'>,
  network: Network,
) {
  const { beacon, execution, watch } = settings.validators.networks[network]
  const start: MillStart = {
    network,
    settings: { beacon, execution, watch },
    identity: await storedChain(duties, network),
  }
  return start
}

/** One that works on this thread. */
export const followerOf = async (context: ValidatorsContext, network: Network): Promise<Follower> =>
  new Follower(context, network, openMill(await millStart(context, network), context.clock))

async function follow(
  context: ValidatorsContext,
  network: Network,
  mill: Mill,
  signal: AbortSignal,
  tell: (step: Step) => void,
): Promise<void> {
  const follower = new Follower(context, network, mill)
  const run = noteRun(context, network)
  const onStep = (step: Step) => {
    const { until, finalizedEpoch, written, compared, differing, moved } = step
    run.step(step)
    context.log.info({ network, until, finalizedEpoch, written, moved }, 'epochs were read')
    if (differing > 0) {
      const words = "rewards differ from the node's own; `tetrad validators audit` shows where"
      context.log.warn({ network, until, compared, differing }, words)
    }
    noteStep(context, networkStream(network))
    tell(step)
  }
  noteStep(context, networkStream(network))
  const report = telling(context, network, 'the beacon node')
  const polling = poll(
    context,
    {
      everyMs: context.settings.validators.networks[network].beacon.everyMs,
      timeoutMs: attemptMs,
      backoffMaxMs,
      bell: run.bell,
      work: async (stop) => {
        run.begin()
        for (let wanted = run.takeWanted(); wanted && !stop.aborted; wanted = run.takeWanted())
          await doWanted(context, follower, run, wanted, stop)
        return follower.catchUp(stop, onStep)
      },
      report: (outcome: PollOutcome<Progress>) => {
        if (outcome.is === 'done') run.step(outcome.value)
        if (outcome.is === 'done') run.end(null, context.clock.now())
        else run.end(wordsOf(outcome.error), context.clock.now(), isContradiction(outcome.error))
        report(outcome)
      },
    },
    signal,
  )
  // Whoever does not ask the node any more knows nothing of it.
  await polling.finally(() => forgetRun(context, network, run))
}

/** What a command asked for. A repair that fails is reported to the command and does not keep the network from being read. */
async function doWanted(
  context: ValidatorsContext,
  follower: Follower,
  run: Run,
  { epochs, repair }: Wanted,
  signal: AbortSignal,
): Promise<void> {
  const { network } = follower
  const onStep = () => {
    run.step(run.standing)
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
    const failed = { fromEpoch: epochs.from, untilEpoch: epochs.until, reason: wordsOf(error) }
    context.log.warn({ network, ...failed }, 'epochs could not be read again')
    run.noteRepair(repair, { failed, isDone: true })
  }
}

async function followDeposits(
  context: ValidatorsContext,
  network: Network,
  mill: Mill,
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
        reader ??= depositsOf(context, network, await mill.chain(stop))
        return reader.catchUp(stop)
      },
      report: telling(context, network, 'the deposit contract'),
    },
    signal,
  )
}

/** Where the network's deposits are read from, by its nodes' own words. */
export function depositsOf(
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

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function failureText(error: unknown, what: string): string {
  if (error instanceof Fault) return 'the network is not read'
  if (isContradiction(error))
    return `${what} contradicts itself; the epoch is not stored and is read again. Repair the node or add a second one`
  return `${what} could not be read`
}

/** Failures and recoveries, each with a line. */
const telling =
  (context: ValidatorsContext, network: Network, what: string) =>
  (outcome: PollOutcome<unknown>): void => {
    if (outcome.is === 'failed') {
      context.log.warn(
        { network, failures: outcome.failures, reason: wordsOf(outcome.error) },
        failureText(outcome.error, what),
      )
    } else if (outcome.failuresBefore > 0) {
      context.log.info({ network }, `${what} can be read again`)
    }
  }

/** How far each followed network has been read, against the clock. Catching up is no reason to be called away (decision 0131). */
export async function beaconFindings(context: ValidatorsContext): Promise<Finding[]> {
  return Promise.all(
    followed(context).map(async (network) => {
      const { covered, behindEpochs, isFresh, isMoving, trouble } = await networkHealth(context, network)
      const { epochsPerDay } = context.settings.validators.networks[network]
      const place = behindEpochs === undefined ? 'no epoch has been read yet' : `${behindEpochs} epochs behind`
      const until = covered.at(-1)?.until ?? 0
      const { compared, differing } = await auditTotals(context.duties, network, until - epochsPerDay)
      // Which of the two is wrong is not known, so it is a word to the operator and no reason to take the server out.
      const doubt =
        differing === 0 ? '' : `; ${differing} of ${compared} rewards of the last day differ from the node's`
      const says = `${isMoving ? `catching up, ${place}` : place}${trouble ? `; ${trouble.says}` : ''}${doubt}`
      return { name: `beacon ${network}`, ok: isFresh || isMoving, says }
    }),
  )
}
