// Records the states of epochs that are not final, while ingest follows a network: many nodes delete them at finality. An
// epoch whose state is missing later can then be computed from blocks and recorded states, instead of leaving a gap
// (behaviour/validators.md#nodes-that-prune-states).
import type { Range } from '#core/ranges.ts'
import { computedEpochsMax } from '../replay/computed-epochs-max.ts'
import type { IngestSource } from '../write/ingest-source.ts'
import { findGaps } from './find-gaps.ts'

/** Gaps whose records of states are kept, to compute them from blocks later: the newest ones. */
const gapsWithRecordsMax = 2

/**
 * A function that records states and logs the result. A failure does not stop ingest: an archive node needs no records.
 * It is logged when it begins.
 */
export function createStateRecorder(
  source: Pick<IngestSource, 'context' | 'network' | 'processor' | 'time'>,
): IngestSource['recordHead'] {
  const { network, processor } = source
  const { log } = source.context
  const isComputable = ({ from, until }: Range) => until - from <= computedEpochsMax
  let lastFailure: string | undefined
  return async (next, signal) => {
    const gaps = (await findGaps(source)).filter(isComputable).slice(-gapsWithRecordsMax)
    const { recorded, dropped, failure } = await processor.recordHead(next, gaps, signal)
    if (recorded.length > 0) log.debug({ network, epochs: recorded }, 'states recorded')
    if (dropped.length > 0)
      log.warn({ network, epochs: dropped }, 'too many epochs are not final; the oldest recorded states were deleted')
    if (failure !== undefined && failure !== lastFailure)
      log.warn({ network, reason: failure }, 'states of recent epochs could not be recorded; retrying')
    lastFailure = failure
  }
}
