// When a running server fills gaps (fill-gaps.ts): at the start, and then every hour.
import { errorMessage } from '#core/error-message.ts'
import type { ValidatorsContext } from '../../context.ts'
import type { Follower } from '../follow.ts'

/** Missing epochs are tried again after this time: a node may have them by then. */
const fillEveryMs = 3_600_000
/** New epochs wait for gaps this long, and for the segment that is being read then. */
const fillForMs = 5_000

/**
 * As long as some gaps can be filled, it continues for some seconds, and with every poll. `onStored` is called after each
 * stored segment with the number of epochs that are being read and are not stored yet, `onEnd` when a run has ended.
 */
export function createFillGapsSchedule(
  { clock, log }: Pick<ValidatorsContext, 'clock' | 'log'>,
  follower: Pick<Follower, 'network' | 'fillGaps'>,
  { onStored, onEnd }: { readonly onStored: (left: number) => void; readonly onEnd: () => void },
): (signal: AbortSignal) => Promise<void> {
  const { network } = follower
  let dueMs = clock.monotonicMs()
  return async (signal) => {
    if (clock.monotonicMs() < dueMs) return
    let [mayContinue, hasStored] = [false, false]
    const untilMs = clock.monotonicMs() + fillForMs
    try {
      do {
        mayContinue = await follower.fillGaps(signal, (left) => {
          log.debug({ network, epochsLeft: left }, 'missing epochs stored')
          hasStored = true
          onStored(left)
        })
      } while (mayContinue && clock.monotonicMs() < untilMs)
      if (hasStored) log.info({ network }, mayContinue ? 'missing epochs stored, more follow' : 'missing epochs stored')
    } catch (error) {
      if (signal.aborted) throw error
      log.warn({ network, reason: errorMessage(error) }, 'missing epochs could not be read; retrying in an hour')
    } finally {
      onEnd()
    }
    dueMs = mayContinue ? clock.monotonicMs() : clock.monotonicMs() + fillEveryMs
  }
}
