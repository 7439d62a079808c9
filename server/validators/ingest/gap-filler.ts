// Fills gaps while a server runs: at the start, when a new gap is left, and then every hour (fill-gaps.ts).
import { errorMessage } from '#core/error-message.ts'
import { recordStep } from '#ingest/stream-progress.ts'
import type { ValidatorsContext } from '../context.ts'
import type { Follower } from './follow.ts'
import { networkStream } from './health.ts'
import type { IngestProgress, SkippedEpochs } from './ingest-progress.ts'

/** Missing epochs are tried again after this time: a node may have them by then. */
const fillEveryMs = 3_600_000

/**
 * As long as some gaps can be filled, it continues with every poll. `onLeft` gets the number of epochs that are being
 * read and are not stored yet, and 0 at the end.
 */
export function createGapFiller(
  context: Pick<ValidatorsContext, 'clock' | 'log' | 'streams'>,
  follower: Pick<Follower, 'network' | 'fillGaps'>,
  onLeft: (left: number) => void = () => {},
): (progress: Pick<IngestProgress, 'lastGap'>, signal: AbortSignal) => Promise<void> {
  const { clock, log } = context
  const { network } = follower
  let dueMs = clock.monotonicMs()
  let knownGap: SkippedEpochs | undefined
  return async ({ lastGap }, signal) => {
    if (clock.monotonicMs() < dueMs && lastGap === knownGap) return
    knownGap = lastGap
    let mayContinue = false
    try {
      mayContinue = await follower.fillGaps(signal, (left) => {
        if (left === 0) log.info({ network }, 'missing epochs stored')
        else log.debug({ network, epochsLeft: left }, 'missing epochs stored')
        onLeft(left)
        recordStep(context, networkStream(network))
      })
    } catch (error) {
      if (signal.aborted) throw error
      log.warn({ network, reason: errorMessage(error) }, 'missing epochs could not be read; retrying in an hour')
    } finally {
      onLeft(0)
    }
    dueMs = mayContinue ? clock.monotonicMs() : clock.monotonicMs() + fillEveryMs
  }
}
