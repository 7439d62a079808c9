// Computes the committees, proposers and payload committees of an epoch from RANDAO, the active validators and their
// effective balances, as the consensus specifications define it. A node then need not have the state of the epoch.
import { hasBit } from '#sources/beacon/block.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { type ConsensusRules, epochAt, firstSlotAt, isFrom } from '#sources/beacon/consensus.ts'
import { hashShort } from '#sources/beacon/sha256.ts'
import { isActiveAt, type Validators } from '#sources/beacon/validators.ts'

/** The columns that committees and proposers depend on. */
export type DutyColumns = Pick<Validators, 'count' | 'activation' | 'exit' | 'increments'>

const seedSize = 32
const domain = { proposer: 0, attester: 1, payloadCommittee: 12 } as const

/**
 * Permutes a list in place with the swap-or-not shuffle: position `i` of the result is the member at the shuffled index
 * of `i`. Each round pairs the positions that mirror each other around a pivot, and swaps the pairs whose bit is set.
 */
export function shuffleList(list: Uint32Array, seed: Uint8Array, rounds: number): void {
  const count = list.length
  if (count < 2) return
  const source = new RoundBits(seed, count)
  // A shuffled index goes through the rounds in ascending order, so the list goes through them in descending order.
  for (let round = rounds - 1; round >= 0; round--) {
    const pivot = source.startRound(round)
    swapMirrored(list, source, 0, pivot)
    swapMirrored(list, source, pivot + 1, count - 1)
  }
}

/** Swaps positions `from` and `last`, then the next pair towards the middle, and so on. */
function swapMirrored(list: Uint32Array, source: RoundBits, from: number, last: number): void {
  let low = from
  let high = last
  while (low < high) {
    // The bits of one hash: positions from a multiple of 256 on.
    const bits = source.bitsAt(high)
    const end = Math.max(high & ~255, (low + high + 1) >>> 1)
    for (; high >= end; low++, high--) {
      if ((((bits[(high & 255) >>> 3] as number) >>> (high & 7)) & 1) === 0) continue
      const member = list[low] as number
      list[low] = list[high] as number
      list[high] = member
    }
  }
}

export function shuffledIndex(source: RoundBits, index: number, rounds: number): number {
  const { count } = source
  let current = index
  for (let round = 0; round < rounds; round++) {
    const flipped = (source.startRound(round) + count - current) % count
    const position = Math.max(current, flipped)
    if (hasBit(source.bitsAt(position), position & 255)) current = flipped
  }
  return current
}

/** The pivot and the random bits of each round for a list of this length. One hash has the bits of 256 positions. */
export class RoundBits {
  readonly count: number
  /** By round. Choosing a proposer shuffles many indices with the same pivots. */
  readonly #pivots: number[] = []
  readonly #input = new Uint8Array(seedSize + 5)
  readonly #pivotInput = this.#input.subarray(0, seedSize + 1)
  readonly #view = new DataView(this.#input.buffer)
  readonly #hash = new Uint8Array(32)
  #block = -1

  constructor(seed: Uint8Array, count: number) {
    this.#input.set(seed)
    this.count = count
  }

  /** Returns the pivot. */
  startRound(round: number): number {
    this.#input[seedSize] = round
    this.#block = -1
    const pivot = this.#pivots[round] ?? this.#pivotOf()
    this.#pivots[round] = pivot
    return pivot
  }

  #pivotOf(): number {
    hashShort(this.#pivotInput, this.#hash)
    return Number(new DataView(this.#hash.buffer).getBigUint64(0, true) % BigInt(this.count))
  }

  /** The bits of the 256 positions around this one. The next call overwrites them. */
  bitsAt(position: number): Uint8Array {
    const block = position >>> 8
    if (block !== this.#block) {
      this.#block = block
      this.#view.setUint32(seedSize + 1, block, true)
      hashShort(this.#input, this.#hash)
    }
    return this.#hash
  }
}

/** `mix`: the RANDAO mix at the end of the epoch before the previous one. */
function seedOf(domainType: number, epoch: number, mix: Uint8Array): Uint8Array {
  const input = new Uint8Array(4 + 8 + seedSize)
  input[0] = domainType
  new DataView(input.buffer).setBigUint64(4, BigInt(epoch), true)
  input.set(mix, 12)
  return hashed(input)
}

function slotSeed(epochSeed: Uint8Array, slot: number): Uint8Array {
  const input = new Uint8Array(seedSize + 8)
  input.set(epochSeed)
  new DataView(input.buffer).setBigUint64(seedSize, BigInt(slot), true)
  return hashed(input)
}

function hashed(input: Uint8Array): Uint8Array {
  const output = new Uint8Array(32)
  hashShort(input, output)
  return output
}

/** `mix`: the RANDAO mix at the end of the epoch before the previous one. */
export function computeCommittees(
  rules: ConsensusRules,
  epoch: number,
  validators: DutyColumns,
  mix: Uint8Array,
): Committees {
  const shuffled = activeIndices(validators, epoch)
  shuffleList(shuffled, seedOf(domain.attester, epoch, mix), rules.shuffleRounds)
  const { slotsPerEpoch, committeesPerSlotMax, committeeSizeTarget } = rules
  const wanted = Math.floor(shuffled.length / slotsPerEpoch / committeeSizeTarget)
  const perSlot = Math.max(1, Math.min(committeesPerSlotMax, wanted))
  const groups = perSlot * slotsPerEpoch
  const start = (at: number) => Math.floor((shuffled.length * at) / groups)
  return {
    firstSlot: firstSlotAt(rules, epoch),
    perSlot,
    members: Array.from({ length: groups }, (_, at) => shuffled.subarray(start(at), start(at + 1))),
  }
}

/**
 * The proposers of an epoch by slot. `validators`: at the start of the epoch; since Fulu, at the start of the previous
 * epoch. `mix`: the RANDAO mix at the end of the epoch before the previous one.
 */
export function computeProposers(
  rules: ConsensusRules,
  epoch: number,
  validators: DutyColumns,
  mix: Uint8Array,
): Int32Array {
  const active = activeIndices(validators, epoch)
  const epochSeed = seedOf(domain.proposer, epoch, mix)
  const isElectra = isFrom(rules, 'electra', epoch)
  return Int32Array.from({ length: rules.slotsPerEpoch }, (_, at) => {
    const seed = slotSeed(epochSeed, firstSlotAt(rules, epoch) + at)
    return chooseProposer(rules, active, validators.increments, seed, isElectra)
  })
}

/** Draws candidates until one passes a test that it passes with a probability proportional to its effective balance. */
function chooseProposer(
  rules: ConsensusRules,
  active: Uint32Array,
  increments: Uint32Array,
  seed: Uint8Array,
  isElectra: boolean,
): number {
  const maxIncrements = rules.effectiveMax[isElectra ? 'electra' : 'phase0'] / rules.increment
  if (active.length === 0) throw new Error('no validator is active')
  const values = new RandomValues(seed, isElectra ? 2 : 1)
  const source = new RoundBits(seed, active.length)
  for (let draw = 0; ; draw++) {
    const candidate = active[shuffledIndex(source, draw % active.length, rules.shuffleRounds)] as number
    if ((increments[candidate] as number) * values.max >= maxIncrements * values.at(draw)) return candidate
  }
}

/**
 * The seats of the payload committees of an epoch since Gloas, by slot. The members of a slot's committees are drawn in
 * turn until all seats are taken, so one of them may have several. `increments`: at the start of the previous epoch, for
 * the first epoch of Gloas at its own start. `mix`: as for the committees.
 */
export function computePayloadCommittees(
  rules: ConsensusRules,
  { firstSlot, perSlot, members }: Committees,
  increments: Uint32Array,
  mix: Uint8Array,
): Uint32Array {
  const epochSeed = seedOf(domain.payloadCommittee, epochAt(rules, firstSlot), mix)
  const size = rules.payloadCommitteeSize
  const maxIncrements = rules.effectiveMax.electra / rules.increment
  const seats = new Uint32Array(rules.slotsPerEpoch * size)
  for (let at = 0; at < rules.slotsPerEpoch; at++) {
    const candidates = members.slice(at * perSlot, (at + 1) * perSlot).flatMap((committee) => [...committee])
    const values = new RandomValues(slotSeed(epochSeed, firstSlot + at), 2)
    if (candidates.length === 0) throw new Error(`slot ${firstSlot + at} has no committee`)
    for (let draw = 0, seat = 0; seat < size; draw++) {
      const candidate = candidates[draw % candidates.length] as number
      if ((increments[candidate] as number) * values.max < maxIncrements * values.at(draw)) continue
      seats[at * size + seat++] = candidate
    }
  }
  return seats
}

/** Random values of one or two bytes, from hashes of a seed and a number. */
class RandomValues {
  readonly max: number
  readonly #bytes: number
  readonly #perHash: number
  readonly #input = new Uint8Array(seedSize + 8)
  readonly #view = new DataView(this.#input.buffer)
  readonly #hash = new Uint8Array(32)

  constructor(seed: Uint8Array, bytes: 1 | 2) {
    this.#bytes = bytes
    this.#perHash = 32 / bytes
    this.max = 2 ** (8 * bytes) - 1
    this.#input.set(seed)
  }

  /** Must be called with 0, 1, 2 and so on. */
  at(draw: number): number {
    const position = draw % this.#perHash
    if (position === 0) {
      this.#view.setBigUint64(seedSize, BigInt(draw / this.#perHash), true)
      hashShort(this.#input, this.#hash)
    }
    const low = this.#hash[position * this.#bytes] as number
    return this.#bytes === 1 ? low : low + 256 * (this.#hash[position * 2 + 1] as number)
  }
}

function activeIndices(validators: DutyColumns, epoch: number): Uint32Array {
  const active = new Uint32Array(validators.count)
  let count = 0
  for (let index = 0; index < validators.count; index++)
    if (isActiveAt(validators, index, epoch)) active[count++] = index
  return active.slice(0, count)
}
