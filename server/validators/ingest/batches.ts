// Pieces that are at hand together go into one transaction: it costs far more than their rows.
import type { Range } from '#core/ranges.ts'
import type { Clock } from '#runtime/clock.ts'
import type { ProcessedSegment } from './epochs/epoch-processor.ts'

export type EpochSpan = Range

export interface ProcessedSpan {
  readonly span: EpochSpan
  readonly segment: ProcessedSegment
}

/**
 * As much as one transaction takes of small pieces: so much memory, and so much work to do again after a crash. With a slow node the
 * time limit comes first, so that what has been read is soon answered.
 */
const batchLimits = { rowsMax: 65_536, piecesMax: 64, waitMs: 3000 }

/** What was made before a failure is handed on before it: with a node that fails often, things still go on. */
export async function* inBatches(
  segments: AsyncIterable<ProcessedSpan>,
  clock: Pick<Clock, 'monotonicMs'>,
): AsyncGenerator<readonly ProcessedSpan[]> {
  let batch: ProcessedSpan[] = []
  let rows = 0
  let sinceMs = clock.monotonicMs()
  let failure: { readonly error: unknown } | undefined
  try {
    for await (const processed of segments) {
      batch.push(processed)
      rows += processed.segment.validator.length
      const isInTime = clock.monotonicMs() - sinceMs < batchLimits.waitMs
      if (rows < batchLimits.rowsMax && batch.length < batchLimits.piecesMax && isInTime) continue
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
