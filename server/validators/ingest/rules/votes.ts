// Evaluates the votes (attestations) of one epoch: which validators had to vote, whose votes were included, with which
// delay and correctness, and the proposer rewards for including them.
//
// 1. Votes of an epoch can only be included in its own blocks and in those of the next epoch.
// 2. The earliest inclusion determines delay and correctness; within a block, the first aggregate.
// 3. The chain rewards timely flags. A validator's flags accumulate over all inclusions, even of different votes.
// 4. The root of a block is the parent root of the next one. So the blocks up to the one that includes a vote are
//    enough to check its roots.
// 5. An included vote always has the correct source: the chain rejects any other.
// 6. Since Gloas, the votes for a block in its own slot can decide whether its builder is paid (proposals.ts). A
//    validator counts with the inclusion that sets a new flag.
import { strict as assert } from 'node:assert'
import { type Attestation, type Block, bitLength, hasBit } from '#sources/beacon/block.ts'
import { ContradictionError } from '#sources/beacon/client.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { type ConsensusRules, epochAt, firstSlotAt, isFrom, isqrt, weights } from '#sources/beacon/consensus.ts'
import { type PayloadStatus, payloadStatus } from '#sources/beacon/payload-status.ts'
import { type HeadVote, isHeadRight } from './head-vote.ts'
import { baseReward, floorDivide, type Stake } from './stake.ts'

export const flag = { source: 1, target: 2, head: 4 } as const

export type Votes = Readonly<ReturnType<typeof emptyVotes>>

const emptyVotes = (epoch: number, count: number) => ({
  epoch,
  /** By validator, like the other columns. Slot of the duty; −1: no duty. */
  dutySlot: new Int32Array(count).fill(-1),
  inclusions: new Uint16Array(count),
  /** Slots; 0: not included. */
  delay: new Uint16Array(count),
  /** Flags that the earliest inclusion is correct about; always includes the source. */
  right: new Uint8Array(count),
  /** Timely flags, which the chain rewards. */
  timely: new Uint8Array(count),
  /** Proposer reward in gwei by slot, in this epoch and the next. */
  proposerGwei: new Map<number, number>(),
  /** Since Gloas: increments that voted for the block of their own slot. By slot of the including block, then of the vote. */
  sameSlot: new Map<number, Map<number, number>>(),
})

/**
 * `blocks`: those of this epoch and the next, in ascending order. `stakes`: those of this epoch and the next. `parent`: the
 * block before them. It is needed since Gloas, if the epoch starts with an empty slot. Undefined: it is the genesis block.
 */
export function tallyVotes(
  rules: ConsensusRules,
  committees: Committees,
  blocks: readonly Block[],
  stakes: readonly [now: Stake, next: Stake],
  parent?: Block,
): Votes {
  const { epoch } = stakes[0]
  const count = Math.max(stakes[0].validators.count, stakes[1].validators.count)
  const votes = emptyVotes(epoch, count)
  committees.members.forEach((members, at) => {
    const slot = committees.firstSlot + Math.floor(at / committees.perSlot)
    for (const index of members) votes.dutySlot[index] = slot
  })
  const heads = createHeadLookup(rules, parent ? [parent, ...blocks] : blocks)
  for (const block of blocks) {
    const stake = stakes[epochAt(rules, block.slot) - epoch]
    assert(stake, `the block of slot ${block.slot} cannot hold votes of epoch ${epoch}`)
    let gwei = 0
    for (const attestation of block.attestations) {
      if (attestation.targetEpoch !== epoch) continue
      gwei += countAttestation(rules, votes, block, attestation, committees, stake, heads)
    }
    if (gwei > 0) votes.proposerGwei.set(block.slot, gwei)
  }
  return votes
}

/** Counts one aggregate. Returns the proposer reward for including it. */
function countAttestation(
  rules: ConsensusRules,
  votes: Votes,
  block: Block,
  attestation: Attestation,
  committees: Committees,
  stake: Stake,
  heads: HeadLookup,
): number {
  const delay = block.slot - attestation.slot
  const isTargetRight = attestation.targetRoot === heads(firstSlotAt(rules, votes.epoch)).headRoot
  const head = heads(attestation.slot)
  const isRight = isHeadRight({ ...attestation, ...head, fork: block.fork })
  const right = flag.source | (isTargetRight ? flag.target : 0) | (isRight ? flag.head : 0)
  const timely = timelyFlags(rules, delay, isTargetRight, isRight, stake.epoch)
  const isForBlockOfSlot = block.bid !== undefined && head.isSameSlot && attestation.blockRoot === head.headRoot
  let [numerator, sameSlot] = [0, 0]
  let bit = 0
  for (const members of membersOf(attestation, committees)) {
    for (let seat = 0; seat < members.length; seat++) {
      const index = members[seat] as number
      if (!hasBit(attestation.bits, bit++)) continue
      votes.inclusions[index] = (votes.inclusions[index] as number) + 1
      if (votes.delay[index] === 0) {
        votes.delay[index] = delay
        votes.right[index] = right
      }
      const fresh = timely & ~(votes.timely[index] as number)
      if (fresh === 0) continue
      votes.timely[index] = (votes.timely[index] as number) | fresh
      numerator += baseReward(stake, index) * weightOf(fresh)
      if (isForBlockOfSlot) sameSlot += stake.validators.increments[index] as number
    }
  }
  const bits = bitLength(attestation.bits)
  if (bit !== bits) {
    throw new ContradictionError(
      `epoch ${votes.epoch}, slot ${block.slot}: an attestation has ${bits} bits, its committees have ${bit} members`,
    )
  }
  if (sameSlot > 0) {
    const bySlot = votes.sameSlot.getOrInsertComputed(block.slot, () => new Map())
    bySlot.set(attestation.slot, (bySlot.get(attestation.slot) ?? 0) + sameSlot)
  }
  return floorDivide(numerator, ((weights.all - weights.proposer) * weights.all) / weights.proposer)
}

/** Since Deneb, late targets count without a limit (EIP-7045). The head only counts if the target is correct. */
function timelyFlags(rules: ConsensusRules, delay: number, target: boolean, head: boolean, blockEpoch: number): number {
  const isTargetInTime = isFrom(rules, 'deneb', blockEpoch) || delay <= rules.slotsPerEpoch
  return (
    (delay <= lateSourceSlots(rules) ? flag.source : 0) |
    (target && isTargetInTime ? flag.target : 0) |
    (target && head && delay === 1 ? flag.head : 0)
  )
}

/** A vote that is included later than this many slots gets no source reward. */
const lateSourceSlots = (rules: ConsensusRules): number => Number(isqrt(BigInt(rules.slotsPerEpoch)))

export const weightOf = (flags: number): number =>
  (flags & flag.source ? weights.source : 0) +
  (flags & flag.target ? weights.target : 0) +
  (flags & flag.head ? weights.head : 0)

/** The committees whose members are concatenated in the bits of an aggregate. */
export function membersOf(attestation: Attestation, committees: Committees): Uint32Array[] {
  const first = (attestation.slot - committees.firstSlot) * committees.perSlot
  const { committeeBits } = attestation
  const chosen = committeeBits
    ? Array.from({ length: committeeBits.length * 8 }, (_, at) => at).filter((at) => hasBit(committeeBits, at))
    : [attestation.index]
  return chosen.map((index) => {
    const members = index < committees.perSlot ? committees.members[first + index] : undefined
    if (!members) throw new ContradictionError(`slot ${attestation.slot}: there is no committee ${index}`)
    return members
  })
}

type HeadLookup = (slot: number) => Pick<HeadVote, 'headRoot' | 'isSameSlot' | 'payload'>

/**
 * The last block up to a slot. Its root is undefined for slots from the last block on. `blocks`: of the chain, in
 * ascending order.
 */
function createHeadLookup(rules: ConsensusRules, blocks: readonly Block[]): HeadLookup {
  const bySlot = new Map<number, ReturnType<HeadLookup>>()
  const find: HeadLookup = (slot) => {
    const at = blocks.findIndex((block) => block.slot > slot)
    const [block, child] = [blocks[at - 1], blocks[at]]
    return {
      headRoot: child?.parentRoot,
      isSameSlot: slot === 0 || block?.slot === slot,
      // Only the genesis block is not among the blocks. Its payload is part of the first state.
      payload: block ? judgedPayload(rules, block, child) : 'full',
    }
  }
  return (slot) => bySlot.getOrInsertComputed(slot, () => find(slot))
}

/**
 * The payload of a block as votes are judged by it. The chain keeps a bit for each of the last slots, and sets those of
 * some slots although their payloads are not part of it: the fork starts with all bits set and only resets those of the
 * slots after its first one, and its first block sets that of slot 0.
 */
function judgedPayload(rules: ConsensusRules, block: Block, child: Block | undefined): PayloadStatus {
  const isSet = block.slot === firstSlotAt(rules, rules.forkEpochs.gloas) || block.sharesFirstPayloadBit
  const isKept = child !== undefined && child.slot - block.slot < rules.historicalRoots
  return isSet && isKept ? 'full' : payloadStatus(block, child)
}
