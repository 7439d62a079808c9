// The votes of the payload committees of Gloas: which validator had to vote in which slot about the payload of that slot,
// how it voted, and whether its vote could be on the chain at all. These votes are neither rewarded nor penalized.
//
// 1. Only the block of the next slot can include them, and only if the slot itself has a block. If one of the two is
//    missing, the votes cannot be on the chain, and nobody can tell from blocks whether there were any.
// 2. A vote that could be on the chain but is not may be the fault of the next proposer.
import { type Block, hasBit } from '#sources/beacon/block.ts'
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { type PayloadStatus, payloadStatus } from '#sources/beacon/payload-status.ts'

/** One duty: a validator in the payload committee of one slot. It may have several seats. */
export interface PayloadVote {
  readonly validator: number
  readonly slot: number
  readonly seats: number
  readonly canBeOnChain: boolean
  /** Undefined: it is not on the chain. */
  readonly vote: { readonly isPresent: boolean; readonly hasBlobs: boolean } | undefined
  /** Whether the payload became part of the chain. Undefined: the slot has no block. */
  readonly payload: PayloadStatus | undefined
}

/** `seats`: of one slot after another, from the slot `from` on. `blocks`: in ascending order, with those that follow. */
export function findPayloadVotes(
  { payloadCommitteeSize }: ConsensusRules,
  from: number,
  seats: Uint32Array,
  blocks: readonly Block[],
): PayloadVote[] {
  const positions = new Map(blocks.map(({ slot }, at) => [slot, at]))
  const found: PayloadVote[] = []
  for (let start = 0, slot = from; start < seats.length; start += payloadCommitteeSize, slot++) {
    const at = positions.get(slot)
    const block = at === undefined ? undefined : blocks[at]
    const next = at === undefined ? undefined : blocks[at + 1]
    const including = block && next?.slot === slot + 1 ? next : undefined
    const common = { slot, canBeOnChain: including !== undefined, payload: block && payloadStatus(block, next) }
    const members = Map.groupBy(seats.subarray(start, start + payloadCommitteeSize).entries(), ([, member]) => member)
    for (const [validator, held] of members) {
      const vote = including && voteOf(including, slot, held)
      found.push({ ...common, validator, seats: held.length, vote })
    }
  }
  return found
}

/** The first vote that has the bit of one of the seats. A block that the chain accepts has only votes about its parent. */
function voteOf(block: Block, slot: number, seats: readonly (readonly [number, number])[]): PayloadVote['vote'] {
  const included = block.payloadAttestations?.find(
    (votes) =>
      votes.slot === slot && votes.blockRoot === block.parentRoot && seats.some(([seat]) => hasBit(votes.bits, seat)),
  )
  return included && { isPresent: included.isPresent, hasBlobs: included.hasBlobs }
}

/** Whether a vote contradicts what the chain decided. Undefined: there is no vote, or the chain has not decided yet. */
export const isWrongVote = ({ vote, payload }: PayloadVote): boolean | undefined =>
  vote && payload !== undefined && payload !== 'unknown' ? vote.isPresent !== (payload === 'full') : undefined
