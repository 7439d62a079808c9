// How a network is doing, by the chain's own clock: for /readyz, the coverage report and the doctor (behaviour/validators.md#late-networks).
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { isMoving } from '#ingest/stream-progress.ts'
import type { ValidatorsContext } from '../context.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { describeWindowsMismatch, storedChain } from '../duties/networks.ts'
import { findRun } from './ingest-status.ts'

/** What a network is called where streams are told apart. */
export const networkStream = (network: Network): string => `network ${network}`

export interface NetworkHealth {
  readonly covered: readonly Range[]
  /** Epochs that began since the last one that has been read ended, the present one among them; undefined: none has been read. */
  readonly behindEpochs: number | undefined
  /** How long ago the last epoch that has been read ended. */
  readonly ageSeconds: number | undefined
  /** Not further behind than a chain that finalizes, and its node can be read. */
  readonly isFresh: boolean
  /** Behind, and something was read of late. */
  readonly isMoving: boolean
  /** What stands in the way, and what the operator can do. */
  readonly problem: { readonly message: string; readonly todo: string } | undefined
}

/**
 * Three is what it always is: the present epoch, the one before it that makes the next final, and the one whose votes may still come
 * in. One more while an epoch turns and is read, and one that the chain may take longer.
 */
const behindMaxEpochs = 5
/** A node that is restarted is back by then; otherwise an epoch's length, in which nothing is lost. */
const failingMinMs = 120_000

export async function readNetworkHealth(
  context: Omit<ValidatorsContext, 'state' | 'random' | 'log'>,
  network: Network,
): Promise<NetworkHealth> {
  const { duties, settings, clock } = context
  // What was read is told in the time of the chain it was read from, also where no node says it any more.
  const time = { ...settings.validators.networks[network], ...(await storedChain(duties, network)) }
  const covered = await coveredEpochs(duties, network)
  const until = covered.at(-1)?.until
  const epochSeconds = time.slotSeconds * time.slotsPerEpoch
  const sinceGenesis = clock.now() / 1000 - time.genesisUnix
  const behindEpochs = until === undefined ? undefined : Math.floor(sinceGenesis / epochSeconds) - until
  const run = findRun(context, network)?.status
  const since = run?.failingSinceMs ?? null
  const failingMs = since === null ? 0 : clock.now() - since
  const contradiction = run?.isContradicted ? contradictionProblem(run.trouble ?? '', network) : undefined
  const isFailing = contradiction !== undefined || failingMs > Math.max(failingMinMs, epochSeconds * 1000)
  const windowsProblem = await describeWindowsMismatch(duties, network, time)
  // The first epoch may not be final yet: nothing is wrong as long as the node answers.
  const isWaiting = until === undefined && run !== undefined && run.rounds > 0 && run.trouble === null
  const isAdvancing = isMoving(context, networkStream(network), until ?? 0) || isWaiting
  const isFresh =
    windowsProblem === undefined && !isFailing && behindEpochs !== undefined && behindEpochs <= behindMaxEpochs
  return {
    covered,
    behindEpochs,
    ageSeconds: until === undefined ? undefined : Math.round(sinceGenesis - until * epochSeconds),
    isFresh,
    isMoving: !isFresh && isAdvancing && !isFailing && windowsProblem === undefined,
    problem:
      windowsProblem === undefined
        ? (contradiction ?? (isFailing ? unreadableProblem(failingMs) : undefined))
        : { message: windowsProblem, todo: windowsTodo },
  }
}

const windowsTodo = 'correct the setting and start again; until then the network is neither read nor answered'

const contradictionProblem = (reason: string, network: Network) => ({
  message: `its beacon node contradicts itself: ${reason}`,
  todo: `repair the node, or add a second one to validators.networks.${network}.beacon.urls to decide; until then the epoch is read again and not stored`,
})

const unreadableProblem = (failingMs: number) => ({
  message: `its beacon node has not been readable for ${Math.floor(failingMs / 60_000)} min`,
  todo: 'look at the node and its address; the log says what was wrong',
})
