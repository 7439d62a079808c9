// Computes missing epochs from blocks, for ingest at the head and for filling gaps, and logs it.
import type { Range } from '#core/ranges.ts'
import type { IngestSource } from '../write/ingest-source.ts'

/** `until`: an epoch that can be read. Returns why it is not possible. Undefined: the next segments use the result. */
export async function computeEpochs(
  { context, network, processor }: IngestSource,
  { from, until }: Range,
  signal: AbortSignal,
): Promise<string | undefined> {
  // An epoch can be read only if the state of the epoch before it is known as well.
  const problem = await processor.computeEpochs({ from, until: until - 1 }, signal)
  if (problem !== undefined) return problem
  const message = 'no beacon node has the states of these epochs; they were computed from blocks and verified'
  context.log.info({ network, fromEpoch: from, untilEpoch: until - 1 }, message)
  return undefined
}
