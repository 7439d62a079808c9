// Whether the payload of a block is part of the chain. Since Gloas, a block only commits to a payload, and the next block
// decides: its bid names the last payload it builds on. That an envelope exists proves nothing, because a payload that
// was late has one as well.
import type { Block } from './block.ts'

/** Unknown: the block has no child yet. */
export type PayloadStatus = 'full' | 'empty' | 'unknown'

/** The hash of the payload of a block, or of the payload that it commits to. */
export const payloadHashOf = ({ bid, payload }: Pick<Block, 'bid' | 'payload'>): string | undefined =>
  bid?.blockHash ?? payload?.hash

/** Whether a block builds on the payload of its parent. The payload of a block before Gloas is part of the block. */
export const buildsOnPayload = (child: Pick<Block, 'bid'>, parent: Pick<Block, 'bid' | 'payload'>): boolean =>
  parent.bid === undefined || child.bid?.parentBlockHash === parent.bid.blockHash

/** `child`: the next block of the chain, if there is one. */
export function payloadStatus(
  block: Pick<Block, 'bid' | 'payload'>,
  child: Pick<Block, 'bid'> | undefined,
): PayloadStatus {
  if (!block.bid) return 'full'
  if (!child) return 'unknown'
  return buildsOnPayload(child, block) ? 'full' : 'empty'
}
