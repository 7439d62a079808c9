// When watched validators leave the queues of the chain: the epochs of activation and exit from the registry, and an
// estimate for deposits that are not applied yet (behaviour/validators.md#alerts).
import type { EntityLabels, QueueName } from '#runtime/watched-metrics.ts'
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { type QueuedDeposit, queuedDepositsIn } from '#sources/beacon/pending.ts'
import type { AlertSources } from '../../ingest/write/alert-sources.ts'
import { groupByEntity } from './series.ts'
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

/**
 * The earliest epoch in which the last deposit of the watch list is applied, by the queue after the last stored epoch.
 * Undefined: there is none.
 */
export function depositQueueEpoch(
  rules: Parameters<typeof lastAppliedEpoch>[0],
  { epochs, deposits }: AlertSources,
  watch: readonly string[],
): number | undefined {
  /** Public keys and addresses of the watch list. */
  const names = new Set(watch.filter((name) => name.startsWith('0x')).map((name) => name.toLowerCase()))
  if (!deposits || names.size === 0) return undefined
  const isWatched = ({ pubkey, address }: QueuedDeposit) =>
    names.has(pubkey) || (address !== undefined && names.has(address))
  return lastAppliedEpoch(rules, epochs.until, queuedDepositsIn(deposits), isWatched)
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
