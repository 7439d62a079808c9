// Logs why a network could not be read, and when it is readable again.
import type { Network } from '#api/contract/wire/validators.ts'
import { type Epoch, epochStartMs } from '#core/chain-time.ts'
import { Fault } from '#core/fault.ts'
import { logOutcome, type PollOutcome } from '#ingest/poll.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import type { ValidatorsContext } from '../../context.ts'
import { WatchFileError } from '../watch/watch-list-updater.ts'
import type { FailureKind } from './ingest-status.ts'

/** Checks the name, because an error from another thread loses its class. */
export function failureKindOf(error: unknown): FailureKind {
  const name = error instanceof Error ? error.name : ''
  if (name === 'ContradictionError') return 'contradiction'
  if (name === 'NodesDisagreeError') return 'disagreement'
  if (name === 'OtherChainError') return 'otherChain'
  if (name === 'OtherExecutionChainError') return 'otherExecutionChain'
  return name === 'UnknownForkError' ? 'unknownFork' : 'unreadable'
}

function failureText(error: unknown, source: string): string {
  if (error instanceof Fault || error instanceof WatchFileError) return 'network not read'
  const kind = failureKindOf(error)
  if (kind === 'unknownFork')
    return 'ingest has stopped before a fork that is not supported. Stored epochs are still served'
  if (kind === 'otherChain') return `${source} refused: it is on another chain. Nothing is read from it`
  if (kind === 'otherExecutionChain') return 'execution node refused: it is on another chain. No epoch is stored'
  if (kind === 'disagreement')
    return 'beacon nodes disagree. The epochs were not stored and will be retried. Find out which node is wrong'
  if (kind === 'contradiction')
    return `${source} contradicts itself. The epoch was not stored and will be retried. Repair the node or add a second one`
  return `${source} could not be read`
}

/** Logs once for each fork that is scheduled but not supported, as long as it lies in the future. */
export function unknownForkLogger({ log, clock }: ValidatorsContext, network: Network): (chain: Chain) => void {
  let loggedEpoch: number | undefined
  return ({ identity, rules: { unknownFork: fork } }) => {
    if (!fork || fork.epoch === loggedEpoch) return
    loggedEpoch = fork.epoch
    const startsMs = epochStartMs(identity, fork.epoch as Epoch)
    if (startsMs <= clock.now()) return
    const message = 'this version of Tetrad does not support a scheduled fork. Update Tetrad before it starts'
    log.warn({ network, fork: fork.name, epoch: fork.epoch, startsAt: new Date(startsMs).toISOString() }, message)
  }
}

/** Logs failures and recoveries. */
export const outcomeLogger =
  (context: ValidatorsContext, network: Network, source: string) =>
  (outcome: PollOutcome<unknown>): void => {
    const failed = outcome.is === 'failed' ? failureText(outcome.error, source) : ''
    logOutcome(context, outcome, { network }, { failed, recovered: `${source} is readable again` })
  }
