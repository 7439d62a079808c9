// Pieces that are at hand together go into one transaction: it costs far more than their rows.
import type { Range } from '#core/ranges.ts'
import type { Clock } from '#io/clock.ts'
import type { Piece } from './mill.ts'

export type Span = Range

export interface Made {
  readonly span: Span
  readonly piece: Piece
}

/**
 * As much as one transaction takes of small pieces: so much memory, and so much work to do again after a crash. With a slow node the
 * time limit comes first, so that what has been read is soon answered.
 */
const together = { rowsMax: 65_536, piecesMax: 64, waitMs: 3000 }

/** What was made before a failure is handed on before it: with a node that fails often, things still go on. */
export async function* inBatches(
  pieces: AsyncIterable<Made>,
  clock: Pick<Clock, 'monotonicMs'>,
): AsyncGenerator<readonly Made[]> {
  let batch: Made[] = []
  let rows = 0
  let sinceMs = clock.monotonicMs()
  let failure: { readonly error: unknown } | undefined
  try {
    for await (const made of pieces) {
      batch.push(made)
      rows += made.piece.validator.length
      const isInTime = clock.monotonicMs() - sinceMs < together.waitMs
      if (rows < together.rowsMax && batch.length < together.piecesMax && isInTime) continue
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
