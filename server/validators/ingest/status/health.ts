// The health of a network's ingest, measured against the time of the chain. Used by /readyz, the coverage report and
// the doctor (behaviour/validators.md#late-networks).

import type { Network } from '#api/contract/wire/validators.ts'
import { type Epoch, epochAtTime, epochSeconds, epochStartMs } from '#core/chain-time.ts'
import { holes, type Range } from '#core/ranges.ts'
import { isProgressing } from '#ingest/stream-progress.ts'
import { type NetworkSettings, networkSettings } from '#runtime/settings/validators.ts'
import type { ValidatorsContext } from '../../context.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { describeWindowsMismatch, storedChain } from '../../duties/networks.ts'
import type { ComputingStep } from '../read/computed-states.ts'
import type { IngestStatus } from './ingest-status.ts'

/** The name of the network's stream in reports. */
export const networkStream = (network: Network): string => `network ${network}`

export interface NetworkHealth {
  readonly covered: readonly Range[]
  /** From the first epoch that the operator wants to the last stored one. */
  readonly wanted: Range
  /** Where reading ends: the newest epoch that can be final. Undefined: not known. */
  readonly target: number | undefined
  /** Epochs before the end of the stored ones that are not stored. */
  readonly missing: readonly Range[]
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
  /** What takes long at present, such as `downloading the first state`. */
  readonly step: string | undefined
  /** Two nodes return different final blocks. */
  readonly doNodesDisagree: boolean
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
  const currentEpoch = epochAtTime(time, clock.now())
  const behindEpochs = until === undefined ? undefined : currentEpoch - until
  const from = firstWanted(time.beacon, covered[0]?.from)
  const wanted = { from, until: until ?? from }
  const run = context.validators.ingestStatuses.get(network)
  const since = run?.failingSinceMs ?? null
  const failingMs = since === null ? 0 : clock.monotonicMs() - since
  const refusal = run && refusalProblem(run, network)
  const isUnreadable = failingMs > Math.max(failingMinMs, epochSeconds(time) * 1000)
  const isFailing = refusal !== undefined || isUnreadable
  const windowsProblem = await describeWindowsMismatch(duties, network, time)
  // The first epoch to store may not be final yet. That is no problem while the node responds.
  const isFirst = until === undefined
  const isWaiting = isFirst && run !== undefined && run.polls > 0 && run.lastError === null
  const isAdvancing = isProgressing(context, networkStream(network), until ?? 0) || isWaiting
  // An epoch ahead of the clock means that the clock is wrong, so the number of missing epochs is unknown.
  const isUpToDate = behindEpochs !== undefined && behindEpochs >= 0 && behindEpochs <= behindMaxEpochs
  const isFresh = windowsProblem === undefined && !isFailing && isUpToDate
  return {
    covered,
    wanted,
    target: findTarget(time.beacon, { until, currentEpoch, isUpToDate }),
    missing: holes(covered, wanted),
    fillingEpochs: run?.fillingEpochs ?? 0,
    step: run?.step && describeStep(run.step),
    doNodesDisagree: run?.failureKind === 'disagreement',
    behindEpochs,
    ageSeconds: until === undefined ? undefined : Math.round((clock.now() - epochStartMs(time, until as Epoch)) / 1000),
    isFresh,
    isYoung: chain !== undefined && until === undefined && !isFailing && currentEpoch <= behindMaxEpochs,
    isProgressing: !isFresh && isAdvancing && !isFailing && windowsProblem === undefined,
    problem:
      windowsProblem === undefined
        ? (refusal ?? (isUnreadable ? unreadableProblem(failingMs) : undefined))
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

const describeStep = ({ name, slot, until, reason }: ComputingStep): string =>
  slot === undefined ? [name, reason].filter(Boolean).join(': ') : `${name}, slot ${slot} of ${until}`

const windowsTodo = 'correct the setting and restart; until then the network is disabled'

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

const unreadableProblem = (failingMs: number) => ({
  message: `its beacon node has been unreadable for ${Math.floor(failingMs / 60_000)} min`,
  todo: 'check the node and its URL; the log has the error',
})

/** Undefined: nothing is missing. */
export function describeMissing({ missing }: Pick<NetworkHealth, 'missing'>): string | undefined {
  const [first] = missing
  if (!first) return undefined
  const more = missing.length > 1 ? ` (first of ${missing.length} gaps)` : ''
  return `epochs ${first.from} to ${first.until - 1} are missing${more}`
}
