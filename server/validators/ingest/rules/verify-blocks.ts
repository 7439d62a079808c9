// Checks that blocks follow each other and were proposed by the validators whose duty it was. Used for blocks that were
// read with states, and for those that missing states are computed from.
import type { Block } from '#sources/beacon/block.ts'
import { ContradictionError } from '#sources/beacon/client.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import type { BlockLink } from '../read/beacon-queries.ts'

export function verifyLink(epoch: number, before: BlockLink, after: Pick<Block, 'slot' | 'parentRoot'>): void {
  if (before.root === after.parentRoot) return
  const cause =
    after.slot - before.slot > 1
      ? 'the node lacks blocks between them, or one of the two was altered'
      : 'one of the two was altered'
  throw new ContradictionError(
    `epoch ${epoch}, slot ${after.slot}: the parent root of the block is ${after.parentRoot}, but the root of the block of slot ${before.slot} is ${before.root}: ${cause}`,
  )
}

export function verifyProposers(
  rules: ConsensusRules,
  epoch: number,
  blocks: readonly Block[],
  proposers: ArrayLike<number>,
): void {
  const first = firstSlotAt(rules, epoch)
  const mismatch = blocks.find(({ slot, proposer }) => proposers[slot - first] !== proposer)
  if (mismatch)
    throw new ContradictionError(
      `epoch ${epoch}, slot ${mismatch.slot}: the proposer of the block is validator ${mismatch.proposer}, but the duty is of ${proposers[mismatch.slot - first]}`,
    )
}
