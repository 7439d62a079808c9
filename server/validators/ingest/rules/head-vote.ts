// Whether an included vote names the right head.
//
// 1. The root must be that of the last block up to the slot of the vote.
// 2. Since Gloas, a vote for a block of an earlier slot also says whether it sees the payload of that block. This must be
//    what the chain decided: the next block builds on the payload (1), or it does not (0). That an envelope exists does
//    not matter.
// 3. A vote for the block of its own slot cannot know about the payload. It is not judged by it.
// 4. The block that includes a vote decides which rule applies, at any delay. Before Gloas, votes did not contain a payload
//    vote, and every payload is part of the chain. So late votes of the last slots before the fork lose their head if
//    these slots were empty (docs/methodology.md, "Head votes since Gloas").
import { type Fork, isForkFrom } from '#sources/beacon/consensus.ts'
import type { PayloadStatus } from '#sources/beacon/payload-status.ts'

export interface HeadVote {
  /** The fork of the block that includes the vote. */
  readonly fork: Fork
  readonly blockRoot: string
  /** The payload vote since Gloas: 0 or 1. */
  readonly index: number
  /** The root of the last block up to the slot of the vote. */
  readonly headRoot: string | undefined
  /** Whether that block is in the slot of the vote. */
  readonly isSameSlot: boolean
  /** Of that block. */
  readonly payload: PayloadStatus
}

export const isHeadRight = (vote: HeadVote): boolean =>
  vote.blockRoot === vote.headRoot &&
  (!isForkFrom(vote.fork, 'gloas') || vote.isSameSlot || vote.index === (vote.payload === 'full' ? 1 : 0))
