// Collects the missed duties of one segment: late, wrong and missing votes, missing and empty blocks, missing sync
// signatures, slashings, and votes of payload committees that are not on the chain or contradict it. For votes it also
// records how many slots later the next block was, which is the best delay. Since Gloas it collects all proposals.

import { recordFrom } from '#core/record-from.ts'
import type { Block } from '#sources/beacon/block.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import type { PayloadStatus } from '#sources/beacon/payload-status.ts'
import {
  type MissedDuty,
  type MissedDutyColumns,
  type MissedKind,
  missedFields,
  missedKinds,
  payloadFlags,
  wrongHead,
  wrongTarget,
} from '#validators/duties/missed.ts'
import type { EpochData } from '../read/epoch.ts'
import type { BlockEffects } from '../rules/block-effects.ts'
import { isWrongVote, type PayloadVote } from '../rules/payload-votes.ts'
import { flag, type Votes } from '../rules/votes.ts'
import { isEmptyBlock, type Proposal } from './proposals.ts'

type NewMissedDuty = Pick<MissedDuty, 'validator' | 'epoch' | 'slot'> & Partial<MissedDuty>

/** What an epoch since Gloas has besides other duties. */
export interface PayloadDuties {
  readonly proposals?: readonly Proposal[]
  /** Undefined: the payload committees are not known. */
  readonly payloadVotes?: readonly PayloadVote[] | undefined
}

export class MissedDutyCollector {
  #count = 0
  #columns = newColumns(1024)

  collect(
    rules: ConsensusRules,
    { epoch, blocks, proposers }: EpochData,
    votes: Votes,
    effects: readonly BlockEffects[],
    { proposals = [], payloadVotes = [] }: PayloadDuties = {},
  ): void {
    this.#votes(epoch, votes, slotsUntilNextBlock(rules, epoch, blocks))
    this.#blocks(epoch, firstSlotAt(rules, epoch), proposers, blocks, proposals)
    for (const { slot, slashed } of effects)
      for (const { validator } of slashed) this.#add('slashed', { validator, epoch, slot })
    this.#sync(epoch, effects)
    for (const proposal of proposals) this.#proposal(epoch, proposal)
    for (const duty of payloadVotes) if (!duty.vote || isWrongVote(duty)) this.#payloadVote(epoch, duty)
  }

  /** Runs for a million validators per epoch, so the common case of a perfect vote is checked first. */
  #votes(epoch: number, { dutySlot, delay, right }: Votes, bestDelays: ReadonlyMap<number, number>): void {
    const allRight = flag.source | flag.target | flag.head
    for (let validator = 0; validator < dutySlot.length; validator++) {
      const slot = dutySlot[validator] as number
      if (slot < 0 || (delay[validator] === 1 && right[validator] === allRight)) continue
      const slots = delay[validator] as number
      const flags = right[validator] as number
      const wrong = slots === 0 ? 0 : (flags & flag.target ? 0 : wrongTarget) | (flags & flag.head ? 0 : wrongHead)
      this.#add('vote', { validator, epoch, slot, delay: slots, best_delay: bestDelays.get(slot) ?? 0, wrong })
    }
  }

  #blocks(
    epoch: number,
    first: number,
    proposers: ArrayLike<number>,
    blocks: readonly Block[],
    proposals: readonly Proposal[],
  ): void {
    const bySlot = new Map(blocks.map((block) => [block.slot, block]))
    const proposalAt = new Map(proposals.map((proposal) => [proposal.slot, proposal]))
    for (let at = 0; at < proposers.length; at++) {
      const [validator, slot] = [proposers[at] as number, first + at]
      const block = bySlot.get(slot)
      if (validator < 0) continue
      if (!block) this.#add('noBlock', { validator, epoch, slot })
      else if (isEmptyBlock(block, proposalAt.get(slot))) this.#add('emptyBlock', { validator, epoch, slot })
    }
  }

  #sync(epoch: number, effects: readonly BlockEffects[]): void {
    const unsigned = effects.flatMap(({ slot, seats }) =>
      seats.filter(({ signed }) => !signed).map(({ validator }) => ({ validator, slot })),
    )
    for (const [validator, missed] of Map.groupBy(unsigned, (seat) => seat.validator))
      this.#add('sync', { validator, epoch, slot: missed[0]?.slot ?? 0, missing: missed.length })
  }

  #proposal(epoch: number, { slot, proposer, payload, builder, valueGwei, isPaid }: Proposal): void {
    this.#add('proposal', {
      ...{ validator: proposer, epoch, slot },
      payload: statusFlag(payload) | (isPaid === undefined ? 0 : isPaid ? payloadFlags.paid : payloadFlags.unpaid),
      builder: builder === undefined ? 0 : builder + 1,
      ether: Math.floor(valueGwei / gweiPerEther),
      gwei: valueGwei % gweiPerEther,
    })
  }

  #payloadVote(epoch: number, duty: PayloadVote): void {
    const { validator, slot, canBeOnChain, vote, payload } = duty
    const { seen, blobsSeen } = payloadFlags
    this.#add('payloadVote', {
      ...{ validator, epoch, slot, delay: vote ? 1 : 0, best_delay: canBeOnChain ? 1 : 0 },
      payload: statusFlag(payload) | (vote?.isPresent ? seen : 0) | (vote?.hasBlobs ? blobsSeen : 0),
    })
  }

  #add(kind: MissedKind, duty: NewMissedDuty): void {
    if (this.#count === this.#columns.validator.length) this.#grow()
    const at = this.#count++
    for (const field of missedFields) this.#columns[field][at] = duty[field] ?? 0
    this.#columns.kind[at] = missedKinds.indexOf(kind)
  }

  #grow(): void {
    const wider = newColumns(this.#columns.validator.length * 2)
    for (const field of missedFields) wider[field].set(this.#columns[field])
    this.#columns = wider
  }

  /** Returns the missed duties of the stored validators, sorted by validator and epoch, and clears the collector. */
  take(isKept: (validator: number) => boolean): MissedDutyColumns {
    const { validator } = this.#columns
    const positions = new Float64Array(this.#count)
    let count = 0
    for (let at = 0; at < this.#count; at++) {
      if (isKept(validator[at] as number)) positions[count++] = (validator[at] as number) * positionsMax + at
    }
    const order = positions.subarray(0, count).sort()
    const before = this.#columns
    this.clear()
    return recordFrom(missedFields, (field) =>
      Int32Array.from(order, (position) => before[field][position % positionsMax] as number),
    )
  }

  clear(): void {
    this.#count = 0
    this.#columns = newColumns(1024)
  }
}

const gweiPerEther = 1_000_000_000

const statusFlag = (status: PayloadStatus | undefined): number =>
  status === 'full' ? payloadFlags.full : status === 'empty' ? payloadFlags.empty : 0

/** More than a segment can have. Multiplied by a validator index, it is still an exact integer. */
const positionsMax = 2 ** 28

const newColumns = (count: number): MissedDutyColumns => recordFrom(missedFields, () => new Int32Array(count))

/**
 * For each slot of the epoch: slots until the next block that could include its votes. No entry: there was no such
 * block.
 */
function slotsUntilNextBlock(
  rules: ConsensusRules,
  epoch: number,
  blocks: readonly Block[],
): ReadonlyMap<number, number> {
  const first = firstSlotAt(rules, epoch)
  const delays = new Map<number, number>()
  for (let slot = first; slot < first + rules.slotsPerEpoch; slot++) {
    const next = blocks.find((block) => block.slot > slot)
    if (next) delays.set(slot, next.slot - slot)
  }
  return delays
}
