// When watched validators leave the queues of the chain: the epochs of activation and exit from the registry, and an
// estimate for deposits that are not applied yet (behaviour/validators.md#alerts).
import { type ChainTime, epochAtTime, hourOf } from '#core/chain-time.ts'
import type { Clock } from '#runtime/clock.ts'
import type { EntityLabels, QueueName } from '#runtime/watched-metrics.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import { type ConsensusRules, epochAt } from '#sources/beacon/consensus.ts'
import { type QueuedDeposit, queuedDepositsIn } from '#sources/beacon/pending.ts'
import type { BeaconQueries } from '../../ingest/read/beacon-queries.ts'
import { groupByEntity } from './series.ts'
import { queryOrUndefined } from './upcoming-proposals.ts'
import type { WatchedValidator } from './watched-validators.ts'

/** The last of the validators leaves the queue in this epoch. */
export interface QueueEpoch extends EntityLabels {
  readonly queue: QueueName
  readonly epoch: number
}

/** From eligibility to activation, if the chain is final: one epoch to finalize it, one to activate, four ahead. */
const activationEpochs = 6

/** Validators that wait for their activation or exit after this epoch. */
export function registryQueues(watched: ReadonlyMap<number, WatchedValidator>, epoch: number): QueueEpoch[] {
  const activationOf = ({ activationEpoch, eligibilityEpoch }: WatchedValidator) =>
    activationEpoch ?? (eligibilityEpoch === null ? null : Math.max(eligibilityEpoch + activationEpochs, epoch + 1))
  return [...groupByEntity(watched)].flatMap(([labels, validators]) => {
    const last = (queue: QueueName, epochOf: (validator: WatchedValidator) => number | null): QueueEpoch[] => {
      const lastEpoch = validators.reduce((max, validator) => Math.max(max, epochOf(validator) ?? 0), 0)
      return lastEpoch > epoch ? [{ ...labels, queue, epoch: lastEpoch }] : []
    }
    return [...last('activation', activationOf), ...last('exit', ({ exitEpoch }) => exitEpoch)]
  })
}

export type ReadDepositQueue = (signal: AbortSignal) => Promise<number | undefined>

/**
 * The queue of deposits, requested once per chain hour. Returns the earliest epoch in which the last deposit of the
 * watch list is applied. Undefined: there is none.
 */
export function createDepositQueue(
  beacon: Beacon,
  time: ChainTime,
  clock: Pick<Clock, 'now'>,
  watch: readonly string[],
): ReadDepositQueue {
  /** Public keys and addresses of the watch list. */
  const names = new Set(watch.filter((name) => name.startsWith('0x')).map((name) => name.toLowerCase()))
  const isWatched = ({ pubkey, address }: QueuedDeposit) =>
    names.has(pubkey) || (address !== undefined && names.has(address))
  const request = async (queries: BeaconQueries, rules: ConsensusRules) => {
    const head = await queries.head()
    const deposits = head && (await queries.pendingDeposits(head.slot))
    return deposits && lastAppliedEpoch(rules, epochAt(rules, head.slot), queuedDepositsIn(deposits), isWatched)
  }
  let lastHour = -1
  let appliedEpoch: number | undefined
  return async (signal) => {
    if (names.size === 0) return undefined
    const hour = hourOf(time, epochAtTime(time, clock.now()))
    // A failure is not repeated before the next hour: the list may be large.
    if (hour !== lastHour) appliedEpoch = await queryOrUndefined(beacon, request, signal)
    lastHour = hour
    return appliedEpoch
  }
}

/** With the highest churn that the chain allows, so that no deposit is applied earlier. */
export function lastAppliedEpoch(
  { depositChurn, pendingDepositsPerEpochMax }: Pick<ConsensusRules, 'depositChurn' | 'pendingDepositsPerEpochMax'>,
  epoch: number,
  deposits: readonly QueuedDeposit[],
  isWatched: (deposit: QueuedDeposit) => boolean,
): number | undefined {
  const last = deposits.findLastIndex(isWatched)
  if (last < 0) return undefined
  const gwei = deposits.slice(0, last + 1).reduce((sum, deposit) => sum + deposit.gwei, 0)
  const churnMax = Math.max(depositChurn.max, depositChurn.gloas.max)
  return epoch + Math.max(Math.ceil(gwei / churnMax), Math.ceil((last + 1) / pendingDepositsPerEpochMax))
}
