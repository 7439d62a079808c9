// Gathers what was not right in the epochs of one piece: late, wrong and missing votes, blocks that lack or are empty, sync
// signatures that lack, slashings. Whether the block that should have taken a vote was itself missing is told with it.

import type { Block } from '#sources/beacon/block.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import {
  type MissedDuty,
  type MissedDutyColumns,
  type MissedField,
  type MissedKind,
  missedFields,
  missedKinds,
  wrongHead,
  wrongTarget,
} from '#validators/duties/missed.ts'
import type { EpochData } from '../read/epoch.ts'
import type { BlockEffects } from './block-effects.ts'
import { flag, type Votes } from './votes.ts'

type NewMissedDuty = Pick<MissedDuty, 'validator' | 'epoch' | 'slot'> & Partial<MissedDuty>

export class MissedDutyCollector {
  #count = 0
  #columns = newColumns(1024)

  /** `effects`: of the epoch's own blocks. */
  collect(
    rules: ConsensusRules,
    { epoch, blocks, proposers }: EpochData,
    votes: Votes,
    effects: readonly BlockEffects[],
  ): void {
    this.#votes(epoch, votes, slotsUntilNextBlock(rules, epoch, blocks))
    this.#blocks(epoch, firstSlotAt(rules, epoch), proposers, blocks)
    for (const { slot, slashed } of effects)
      for (const { validator } of slashed) this.#add('slashed', { validator, epoch, slot })
    this.#sync(epoch, effects)
  }

  /** A million times an epoch, and most of them there is nothing to say. */
  #votes(epoch: number, { dutySlot, delay, right }: Votes, waits: ReadonlyMap<number, number>): void {
    const allRight = flag.source | flag.target | flag.head
    for (let validator = 0; validator < dutySlot.length; validator++) {
      const slot = dutySlot[validator] as number
      if (slot < 0 || (delay[validator] === 1 && right[validator] === allRight)) continue
      const slots = delay[validator] as number
      const rightly = right[validator] as number
      const wrong = slots === 0 ? 0 : (rightly & flag.target ? 0 : wrongTarget) | (rightly & flag.head ? 0 : wrongHead)
      this.#add('vote', { validator, epoch, slot, delay: slots, best_delay: waits.get(slot) ?? 0, wrong })
    }
  }

  #blocks(epoch: number, first: number, proposers: ArrayLike<number>, blocks: readonly Block[]): void {
    const bySlot = new Map(blocks.map((block) => [block.slot, block]))
    for (let at = 0; at < proposers.length; at++) {
      const [validator, slot] = [proposers[at] as number, first + at]
      const block = bySlot.get(slot)
      if (validator < 0) continue
      if (!block) this.#add('noBlock', { validator, epoch, slot })
      else if (block.payload?.transactions === 0) this.#add('emptyBlock', { validator, epoch, slot })
    }
  }

  #sync(epoch: number, effects: readonly BlockEffects[]): void {
    const unsigned = effects.flatMap(({ slot, seats }) =>
      seats.filter(({ signed }) => !signed).map(({ validator }) => ({ validator, slot })),
    )
    for (const [validator, own] of Map.groupBy(unsigned, (one) => one.validator))
      this.#add('sync', { validator, epoch, slot: own[0]?.slot ?? 0, missing: own.length })
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

  /** The lapses of those that are kept, which are forgotten here. */
  take(isKept: (validator: number) => boolean): MissedDutyColumns {
    const { validator } = this.#columns
    // By validator, then in the order in which they came, which is that of the epochs.
    const positions = new Float64Array(this.#count)
    let count = 0
    for (let at = 0; at < this.#count; at++) {
      if (isKept(validator[at] as number)) positions[count++] = (validator[at] as number) * positionsMax + at
    }
    const order = positions.subarray(0, count).sort()
    const before = this.#columns
    this.clear()
    return mapFields((field) => Int32Array.from(order, (position) => before[field][position % positionsMax] as number))
  }

  clear(): void {
    this.#count = 0
    this.#columns = newColumns(1024)
  }
}

/** More lapses than a piece can have; beside a validator's index it still leaves a whole number exact. */
const positionsMax = 2 ** 28

const mapFields = (of: (field: MissedField) => Int32Array): MissedDutyColumns =>
  Object.fromEntries(missedFields.map((field) => [field, of(field)])) as Record<MissedField, Int32Array>

const newColumns = (count: number): MissedDutyColumns => mapFields(() => new Int32Array(count))

/** Slot of the epoch → slots until the next block that could take its votes; without an entry there was none. */
function slotsUntilNextBlock(
  rules: ConsensusRules,
  epoch: number,
  blocks: readonly Block[],
): ReadonlyMap<number, number> {
  const first = firstSlotAt(rules, epoch)
  const waits = new Map<number, number>()
  for (let slot = first; slot < first + rules.slotsPerEpoch; slot++) {
    const next = blocks.find((block) => block.slot > slot)
    if (next) waits.set(slot, next.slot - slot)
  }
  return waits
}
