// The health of a network's ingest, measured against the time of the chain. Used by /readyz, the coverage report and
// the doctor (behaviour/validators.md#late-networks).
import type { Network } from '#api/contract/wire/validators.ts'
import { holes, type Range } from '#core/ranges.ts'
import { isProgressing } from '#ingest/stream-progress.ts'
import { type NetworkSettings, networkSettings } from '#runtime/settings/validators.ts'
import type { ValidatorsContext } from '../../context.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { describeWindowsMismatch, storedChain } from '../../duties/networks.ts'
import type { IngestStatus } from './ingest-status.ts'

/** The name of the network's stream in reports. */
export const networkStream = (network: Network): string => `network ${network}`

export type NodesStatus = 'agree' | 'disagree' | 'not compared'

export interface NetworkHealth {
  readonly covered: readonly Range[]
  /** From the first epoch that the operator wants to the last stored one. */
  readonly wanted: Range
  /** Where reading ends: the newest epoch that can be final. Undefined: not known. */
  readonly target: number | undefined
  /** Epochs that are not stored because no node had their states, or that were never requested. */
  readonly missing: readonly Range[]
  /** Why the last gap could not be computed from blocks, if this process has left it. */
  readonly missingReason: string | undefined
  /** Missing epochs that this process is reading; 0: none. */
  readonly fillingEpochs: number
  /** Epochs that started after the end of the last stored one, including the current one; undefined: none is stored. */
  readonly behindEpochs: number | undefined
  /** How long ago the last stored epoch ended. */
  readonly ageSeconds: number | undefined
  /** Not further behind than finality requires, and the node is readable. */
  readonly isFresh: boolean
  /** Behind, but epochs were stored recently. */
  readonly isProgressing: boolean
  /** No epoch of the chain can be stored yet, because none is final. */
  readonly isYoung: boolean
  /** Whether the nodes return the same; undefined: there is only one, or nothing was compared yet. */
  readonly nodes: NodesStatus | undefined
  /** Nodes that were not compared with the others, and why. */
  readonly notCompared: readonly string[]
  /** What prevents ingest, and what the operator can do. */
  readonly problem: { readonly message: string; readonly todo: string } | undefined
}

/**
 * Ingest is always three epochs behind: the current one, the one that finalizes its predecessor, and the one whose
 * votes may still be included.
 */
const behindMinEpochs = 3
/** One more while an epoch is being read, and one for a late finalization. */
const behindMaxEpochs = behindMinEpochs + 2
/** After a gap, the first epoch is stored when three more epochs are final. A leak may delay this. */
const waitingMaxEpochs = 8
/** Time for a node to restart. On chains with longer epochs, one epoch. */
const failingMinMs = 120_000

export async function readNetworkHealth(
  context: Omit<ValidatorsContext, 'state' | 'random' | 'log'>,
  network: Network,
): Promise<NetworkHealth> {
  const { duties, settings, clock } = context
  // Use the times of the chain that the stored epochs came from, even if no node is configured any more.
  const chain = await storedChain(duties, network)
  const time = { ...networkSettings(settings, network), ...chain }
  const covered = await coveredEpochs(duties, network)
  const until = covered.at(-1)?.until
  const epochSeconds = time.slotSeconds * time.slotsPerEpoch
  const sinceGenesis = clock.now() / 1000 - time.genesisUnix
  const currentEpoch = Math.floor(sinceGenesis / epochSeconds)
  const behindEpochs = until === undefined ? undefined : currentEpoch - until
  const from = firstWanted(time.beacon, covered[0]?.from)
  const wanted = { from, until: until ?? from }
  const run = context.validators.ingestStatuses.get(network)
  const since = run?.failingSinceMs ?? null
  const failingMs = since === null ? 0 : clock.monotonicMs() - since
  const refusal = run && refusalProblem(run, network)
  const isUnreadable = failingMs > Math.max(failingMinMs, epochSeconds * 1000)
  const skipped = run?.lastError === null ? run.skipped : undefined
  const hasNoStates =
    skipped !== undefined && run !== undefined && run.finalizedEpoch - skipped.finalizedEpoch > waitingMaxEpochs
  const isFailing = refusal !== undefined || isUnreadable || hasNoStates
  const windowsProblem = await describeWindowsMismatch(duties, network, time)
  // The first epoch to store may not be final yet. That is no problem while the node responds.
  const isFirst = until === undefined || skipped !== undefined
  const isWaiting = isFirst && run !== undefined && run.polls > 0 && run.lastError === null
  const isAdvancing = isProgressing(context, networkStream(network), until ?? 0) || isWaiting
  // An epoch ahead of the clock means that the clock is wrong, so the number of missing epochs is unknown.
  const isUpToDate = behindEpochs !== undefined && behindEpochs >= 0 && behindEpochs <= behindMaxEpochs
  const isFresh = windowsProblem === undefined && !isFailing && isUpToDate
  return {
    covered,
    wanted,
    target: findTarget(time.beacon, { until, currentEpoch, isUpToDate }),
    missing: [...holes(covered, wanted), ...(skipped ? [skipped] : [])],
    missingReason: run?.lastGap?.problem,
    fillingEpochs: run?.fillingEpochs ?? 0,
    nodes: run && nodesStatus(run),
    notCompared: run?.notCompared ?? [],
    behindEpochs,
    ageSeconds: until === undefined ? undefined : Math.round(sinceGenesis - until * epochSeconds),
    isFresh,
    isYoung: chain !== undefined && until === undefined && !isFailing && currentEpoch <= behindMaxEpochs,
    isProgressing: !isFresh && isAdvancing && !isFailing && windowsProblem === undefined,
    problem:
      windowsProblem === undefined
        ? (refusal ??
          (isUnreadable ? unreadableProblem(failingMs) : hasNoStates ? noStatesProblem(network) : undefined))
        : { message: windowsProblem, todo: windowsTodo },
  }
}

/** Without `fromEpoch`, the first stored epoch: where to begin was left to the server. */
const firstWanted = ({ urls, fromEpoch }: NetworkSettings['beacon'], first: number | undefined): number =>
  urls.length > 0 && fromEpoch >= 0 ? Math.min(first ?? fromEpoch, fromEpoch) : (first ?? 0)

/** Without a node, nothing more is wanted than what is stored. */
function findTarget(
  { urls, fromEpoch }: NetworkSettings['beacon'],
  head: { readonly until: number | undefined; readonly currentEpoch: number; readonly isUpToDate: boolean },
): number | undefined {
  const { until, currentEpoch, isUpToDate } = head
  if (urls.length === 0 || isUpToDate) return until
  // The first epoch to read is chosen with the first step.
  if (until === undefined && fromEpoch < 0) return undefined
  const final = currentEpoch - behindMinEpochs
  // The clock is wrong if stored epochs are ahead of it.
  return final < Math.max(until ?? 0, fromEpoch) ? undefined : final
}

const windowsTodo = 'correct the setting and restart; until then the network is disabled'

function nodesStatus({ failureKind, notCompared }: IngestStatus): NodesStatus | undefined {
  if (failureKind === 'disagreement') return 'disagree'
  return notCompared && (notCompared.length === 0 ? 'agree' : 'not compared')
}

/** A chain of one's own needs a name of its own; the data of a chain that started again must be forgotten. */
export const otherChainTodo = (network: Network): string =>
  `use a node of ${network}, or another name for its chain; if the chain has started again, stop the server and run: ` +
  `tetrad validators forget --network ${network}`

/** Undefined unless the node responds but its epochs are refused. */
function refusalProblem({ failureKind, lastError }: IngestStatus, network: Network): NetworkHealth['problem'] {
  if (failureKind === 'contradiction') {
    return {
      message: `its beacon node contradicts itself: ${lastError}`,
      todo: `repair the node, or add a second one to validators.networks.${network}.beacon.urls; until then the epoch is not stored`,
    }
  }
  if (failureKind === 'disagreement') {
    return {
      message: `its beacon nodes disagree: ${lastError}`,
      todo: `find out which node is wrong, then repair it or remove it from validators.networks.${network}.beacon.urls; until then these epochs are not stored`,
    }
  }
  if (failureKind === 'otherChain') {
    return {
      message: `its beacon node is refused: ${lastError}`,
      todo: `${otherChainTodo(network)}. Nothing is read until then`,
    }
  }
  if (failureKind === 'otherExecutionChain') {
    return {
      message: `its execution nodes are refused: ${lastError}`,
      todo: `set validators.networks.${network}.execution.chainId to the chain of the network, or use nodes of that chain. No epoch is stored until then`,
    }
  }
  if (failureKind !== 'unknownFork') return undefined
  return {
    message: `ingest has stopped: ${lastError}`,
    todo: 'install a version that supports the fork; ingest then continues. Stored epochs are still served',
  }
}

const noStatesProblem = (network: Network) => ({
  message: 'its beacon node does not return the states of recent epochs, so no epoch can be stored',
  todo: `check that the node offers the states of its last three epochs, or add an archive node to validators.networks.${network}.beacon.urls`,
})

const unreadableProblem = (failingMs: number) => ({
  message: `its beacon node has been unreadable for ${Math.floor(failingMs / 60_000)} min`,
  todo: 'check the node and its URL; the log has the error',
})

/** Undefined: nothing is missing. */
export function describeMissing({
  missing,
  missingReason,
}: Pick<NetworkHealth, 'missing' | 'missingReason'>): string | undefined {
  const [first] = missing
  if (!first) return undefined
  const more = missing.length > 1 ? ` (first of ${missing.length} gaps)` : ''
  const reason = missingReason === undefined ? '' : ` (${missingReason})`
  return `epochs ${first.from} to ${first.until - 1} are missing${more}${reason}`
}
