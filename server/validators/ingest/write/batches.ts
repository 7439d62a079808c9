// Groups processed segments into batches that are written in one transaction. A transaction costs far more than the
// rows of a small segment.
import type { Range } from '#core/ranges.ts'
import type { Clock } from '#runtime/clock.ts'
import type { ProcessedSegment } from '../epochs/processed-segment.ts'

/** A processed segment and its epochs. */
export interface BatchMember {
  readonly epochs: Range
  readonly segment: ProcessedSegment
}

/**
 * Limits on memory and on the work that is lost in a crash. With a slow node the time limit applies first, so that new
 * epochs are soon available to callers.
 */
const batchLimits = { rowsMax: 65_536, segmentsMax: 64, waitMs: 3000 }

/** Yields the segments before a failure first, then throws it. So ingest advances even if the node fails often. */
export async function* inBatches(
  segments: AsyncIterable<BatchMember>,
  clock: Pick<Clock, 'monotonicMs'>,
): AsyncGenerator<readonly BatchMember[]> {
  let batch: BatchMember[] = []
  let rows = 0
  let sinceMs = clock.monotonicMs()
  let failure: { readonly error: unknown } | undefined
  try {
    for await (const processed of segments) {
      batch.push(processed)
      rows += processed.segment.validator.length
      const isInTime = clock.monotonicMs() - sinceMs < batchLimits.waitMs
      if (rows < batchLimits.rowsMax && batch.length < batchLimits.segmentsMax && isInTime) continue
      yield batch
      batch = []
      rows = 0
      sinceMs = clock.monotonicMs()
    }
  } catch (error) {
    failure = { error }
  }
  if (batch.length > 0) yield batch
  if (failure) throw failure.error
}
