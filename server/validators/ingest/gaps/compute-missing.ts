// Computes missing epochs from blocks, for ingest at the head and for filling gaps, and logs it.
import type { Range } from '#core/ranges.ts'
import type { ComputeResult } from '../epochs/epoch-processor.ts'
import type { IngestSource } from '../write/ingest-source.ts'

/** `until`: an epoch that can be read, so a node or a record has the state before it as well. */
export async function computeMissing(
  { context, network, processor }: IngestSource,
  { from, until }: Range,
  signal: AbortSignal,
): Promise<ComputeResult> {
  // The state before `until` may be that of `from`. Then only withdrawals of `from` are missing.
  const computed = { from, until: Math.max(from + 1, until - 1) }
  const result = await processor.computeEpochs(computed, signal)
  if (result.is === 'computed') {
    const message = 'no beacon node has the states of these epochs; they were computed from blocks and verified'
    context.log.info({ network, fromEpoch: from, untilEpoch: computed.until }, message)
  }
  return result
}
