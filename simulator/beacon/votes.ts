// Simulates votes from casting to inclusion, with mistakes: late, wrong, repeated and doubled votes, and votes for
// orphans. It also sets the timely flags of the chain.
//
// 1. A vote can be included in blocks of its epoch and the next; before Deneb, at most slotsPerEpoch slots later.
// 2. Correctness is decided by the final chain, not by what the voter saw.
// 3. Since Gloas, a vote for the block of an earlier slot also has to be right about its payload (gloas/payload-votes.ts).
//    The block that includes a vote decides which rule applies.
import type { SeededRandom } from '../seeded-random.ts'
import type { MistakeRates } from './behaviour.ts'
import { type ChainState, integerRoot } from './chain.ts'
import { addWeight } from './gloas/builders.ts'
import type { PayloadDelivery } from './gloas/gloas-records.ts'
import { drawPayloadVote } from './gloas/payload-votes.ts'
import { genesisRoot, type SimulatedAttestation } from './records.ts'
import type { Truth } from './truth.ts'

/** A vote that is not included yet. */
interface PendingVote extends Pick<SimulatedAttestation, 'slot' | 'head' | 'target' | 'index'> {
  readonly committee: number
  readonly position: number
  readonly fromSlot: number
}

/** A block that can be voted for. */
export interface VotableBlock {
  readonly slot: number
  readonly root: string
  /** Since Gloas. */
  readonly delivery?: PayloadDelivery | undefined
  /** Since Gloas: whether the chain has the payload, once the next block exists. */
  isFull?: boolean
}

/** The mutable state, as plain data. */
export const createVotesData = () => ({
  pending: [] as PendingVote[],
  /** Blocks in ascending order. Blocks that are too old for votes are dropped, except for the last of them. */
  roots: [{ slot: 0, root: genesisRoot }] as VotableBlock[],
  /** Target roots of the last two epochs. */
  targets: new Map<number, string>(),
  orphan: undefined as { readonly slot: number; readonly root: string } | undefined,
})

type VotesData = ReturnType<typeof createVotesData>

export type Committees = readonly (readonly number[])[]

export class Votes {
  readonly data: VotesData
  readonly #chain: ChainState
  readonly #truth: Truth
  /** Those of the previous and the current epoch. */
  readonly #committees: Map<number, Committees>

  constructor(chain: ChainState, truth: Truth, committees: Map<number, Committees>, data: VotesData) {
    this.#chain = chain
    this.#truth = truth
    this.#committees = committees
    this.data = data
  }

  get head(): string {
    return this.newest.root
  }

  get newest(): VotableBlock {
    return this.data.roots.at(-1) as VotableBlock
  }

  addBlock({ slot, root, delivery }: VotableBlock): void {
    const { roots } = this.data
    roots.push({ slot, root, ...(delivery && { delivery }) })
    while ((roots[1]?.slot ?? slot) < slot - 3 * this.#chain.plan.slotsPerEpoch) roots.shift()
  }

  /** Whether the chain has the payload of the newest block. */
  setPayload(isFull: boolean): void {
    this.newest.isFull = isFull
  }

  setOrphan(slot: number, root: string): void {
    this.data.orphan = { slot, root }
    this.#truth.note('orphan')
  }

  /** Called after the block of the first slot of the epoch, if there is one. */
  setTarget(epoch: number): void {
    this.data.targets.set(epoch, this.head)
    this.data.targets.delete(epoch - 2)
  }

  /** Casts the votes of all validators with a duty in this slot. */
  cast(slot: number, epoch: number, mistakeRatesOf: (validator: number) => MistakeRates, draws: SeededRandom): void {
    for (let committee = 0; committee < this.#chain.plan.committeesPerSlot; committee++) {
      this.#members(slot, committee).forEach((validator, position) => {
        this.#truth.add(epoch, validator, 'assigned', 1)
        const rates = mistakeRatesOf(validator)
        if (draws.happens(rates.noVote)) return
        const vote = () => {
          const choice = this.#choice(slot, epoch, rates, draws)
          const payload = this.#chain.data.gloas
            ? drawPayloadVote(this.data.roots, choice, slot, rates, draws)
            : undefined
          return { ...choice, index: 0, ...payload, slot, committee, position }
        }
        const first = vote()
        this.data.pending.push(first)
        if (draws.happens(rates.repeated))
          this.data.pending.push({ ...first, fromSlot: first.fromSlot + draws.whole(1, 4) })
        if (draws.happens(rates.doubled)) this.data.pending.push(vote())
      })
    }
  }

  #choice(
    slot: number,
    epoch: number,
    rates: MistakeRates,
    draws: SeededRandom,
  ): Pick<PendingVote, 'head' | 'target' | 'fromSlot'> {
    const { slotsPerEpoch } = this.#chain.plan
    const { orphan } = this.data
    const fromSlot = slot + (draws.happens(rates.late) ? draws.whole(2, 2 * slotsPerEpoch) : 1)
    if (orphan?.slot === slot && draws.happens(rates.orphanHead)) {
      this.#truth.note('vote for an orphan')
      const target = slot % slotsPerEpoch === 0 ? orphan.root : (this.data.targets.get(epoch) as string)
      return { head: orphan.root, target, fromSlot }
    }
    return {
      head: draws.happens(rates.wrongHead) ? `0x${draws.pick(['aa', 'bb']).repeat(32)}` : this.head,
      target: draws.happens(rates.wrongTarget) ? `0x${'cc'.repeat(32)}` : (this.data.targets.get(epoch) as string),
      fromSlot,
    }
  }

  /** Aggregates the votes that are due, in random order, and counts them. Returns the proposer reward as well. */
  include(slot: number, epoch: number, draws: SeededRandom): { attestations: SimulatedAttestation[]; gwei: bigint } {
    const { slotsPerEpoch } = this.#chain.plan
    const isIncludable = (vote: PendingVote) =>
      Math.floor(vote.slot / slotsPerEpoch) + 1 >= epoch &&
      (this.#chain.isFrom('deneb', epoch) || slot <= vote.slot + slotsPerEpoch)
    const due = this.data.pending.filter((vote) => vote.fromSlot <= slot && isIncludable(vote))
    this.data.pending = this.data.pending.filter((vote) => vote.fromSlot > slot)
    const isElectra = this.#chain.isFrom('electra', epoch)
    const groups = Map.groupBy(due, ({ slot: at, committee, head, target, index }) =>
      isElectra ? `${at} ${head} ${target} ${index}` : `${at} ${committee} ${head} ${target}`,
    )
    let gwei = 0n
    const attestations = draws.shuffled([...groups.values()]).map((votes) => {
      const { attestation, reward } = this.#aggregate(votes, slot, epoch)
      gwei += reward
      return attestation
    })
    return { attestations, gwei }
  }

  #aggregate(votes: readonly PendingVote[], slot: number, epoch: number) {
    const { slotsPerEpoch } = this.#chain.plan
    const [{ slot: at, head, target, index }] = votes as [PendingVote]
    const committees = [...new Set(votes.map(({ committee }) => committee))].sort((a, b) => a - b)
    const chosen = new Set(votes.map(({ committee, position }) => `${committee} ${position}`))
    const bits = committees.flatMap((committee) =>
      this.#members(at, committee).map((_, position) => chosen.has(`${committee} ${position}`)),
    )
    const targetEpoch = Math.floor(at / slotsPerEpoch)
    const attestation = { slot: at, committees, index, bits, head, targetEpoch, target }
    return { attestation, reward: this.apply(attestation, slot, epoch) }
  }

  #members(slot: number, committee: number): readonly number[] {
    const { slotsPerEpoch } = this.#chain.plan
    const committees = this.#committees.get(Math.floor(slot / slotsPerEpoch)) ?? []
    return committees[((slot % slotsPerEpoch) * committees.length) / slotsPerEpoch + committee] ?? []
  }

  /** Counts the votes of an aggregate in a block of this slot and epoch. Returns the reward of the proposer. */
  apply(attestation: SimulatedAttestation, slot: number, epoch: number): bigint {
    const members = attestation.committees.flatMap((committee) => this.#members(attestation.slot, committee))
    let numerator = 0n
    members.forEach((validator, at) => {
      if (attestation.bits[at]) numerator += this.#count(validator, attestation, slot, epoch)
    })
    return numerator / (56n * 8n)
  }

  /** Counts one vote in one aggregate. Returns its part of the proposer reward (numerator). */
  #count(
    validator: number,
    { slot: at, targetEpoch, head, target, index }: SimulatedAttestation,
    slot: number,
    epoch: number,
  ): bigint {
    const delay = slot - at
    const isTarget = target === this.data.targets.get(targetEpoch)
    const voted = this.#headAt(at)
    const isSameSlot = head === voted.root && voted.slot === at
    const isPayload = !this.#chain.data.gloas || isSameSlot || (index === 1) === (voted.isFull ?? true)
    const isHead = head === voted.root && isPayload
    const isInTime = BigInt(delay) <= integerRoot(BigInt(this.#chain.plan.slotsPerEpoch))
    const row = this.#truth.row(targetEpoch, validator)
    this.#truth.add(targetEpoch, validator, 'inclusions', 1)
    if (!row.included) {
      row.included = 1
      row.inclusion_delay = delay
      row.correct_source = 1
      row.correct_target = isTarget ? 1 : 0
      row.correct_head = isHead ? 1 : 0
      row.late_source = isInTime ? 0 : 1
      if (targetEpoch < epoch) this.#truth.note('vote behind its epoch')
      if (delay > this.#chain.plan.slotsPerEpoch) this.#truth.note('vote later than an epoch')
    }
    const state = this.#chain.at(validator)
    const which = targetEpoch === epoch ? 'current' : 'previous'
    const earned = [isInTime, isTarget, isTarget && isHead && delay === 1]
    const before = state[which]
    let numerator = 0n
    ;[14n, 26n, 14n].forEach((weight, flag) => {
      if (!earned[flag] || state[which] & (1 << flag)) return
      state[which] |= 1 << flag
      numerator += this.#chain.baseReward(validator, epoch) * weight
    })
    const isNew = state[which] !== before
    if (isNew && isSameSlot && this.#chain.data.gloas) addWeight(this.#chain, at, epoch, state.effective)
    return numerator
  }

  #headAt(slot: number): VotableBlock {
    return this.data.roots.findLast((block) => block.slot <= slot) ?? { slot: 0, root: genesisRoot }
  }
}
