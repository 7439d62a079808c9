// When a running server reads the past of added validators (fill-past.ts): one segment per poll.
//
// 1. If the states are missing, or epochs were refused, later ones are read. What is left out is tried again every hour,
//    like gaps, and after a change of the watch list. Missing states are logged once.
import { errorMessage } from '#core/error-message.ts'
import type { ValidatorsContext } from '../../context.ts'
import type { Follower } from '../follow.ts'
import type { PastStep } from './fill-past.ts'

const retryMs = 3_600_000

/** `onStored` is called after each stored segment. */
export function createFillPastSchedule(
  { clock, log }: Pick<ValidatorsContext, 'clock' | 'log'>,
  follower: Pick<Follower, 'network' | 'watchChanges' | 'fillPast'>,
  onStored: () => void,
): (signal: AbortSignal) => Promise<void> {
  const { network } = follower
  let dueMs = clock.monotonicMs()
  let watchChanges = 0
  let after = 0
  let hasLoggedUnreadable = false

  const report = (step: PastStep) => {
    if (step.is === 'read') {
      const { epochs, validators, left } = step
      log.info({ network, ...epochs, validators, epochsLeft: left }, 'earlier epochs of added validators stored')
      hasLoggedUnreadable = false
    }
    if (step.is === 'refused') {
      const { epochs, reason } = step
      log.warn({ network, ...epochs, reason }, 'earlier epochs of added validators were not stored')
    }
    if (step.is !== 'unreadable' || hasLoggedUnreadable) return
    const message = `no beacon node has the states of earlier epochs of added validators; to read them, add an archive node to validators.networks.${network}.beacon.urls`
    log.warn({ network, untilEpoch: step.epochs.until }, message)
    hasLoggedUnreadable = true
  }

  return async (signal) => {
    const isChanged = follower.watchChanges !== watchChanges
    if (clock.monotonicMs() < dueMs && !isChanged) return
    if (isChanged) after = 0
    watchChanges = follower.watchChanges
    dueMs = clock.monotonicMs() + retryMs
    try {
      const step = await follower.fillPast(signal, after)
      report(step)
      if (step.is === 'read') onStored()
      if (step.is === 'refused' || step.is === 'unreadable') after = step.epochs.until
      if (step.is !== 'complete') dueMs = clock.monotonicMs()
      // What was left out is tried again in an hour.
      else after = 0
    } catch (error) {
      if (signal.aborted) throw error
      const reason = errorMessage(error)
      log.warn({ network, reason }, 'earlier epochs of added validators could not be read; retrying in an hour')
    }
  }
}
