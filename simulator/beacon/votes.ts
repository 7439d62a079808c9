// Votes from the moment they are cast until they stand in a block: late, wrong, repeated, doubled, for blocks that nobody
// built on. The chain's own count of them is kept here as well.
//
// 1. A vote of an epoch can stand in blocks of that epoch and the next; before Deneb, only within an epoch's length.
// 2. What a vote is right about is decided by the chain as it became, not as the voter saw it.
import type { SeededRandom } from '../seeded-random.ts'
import type { MistakeRates } from './behaviour.ts'
import { type ChainState, integerRoot } from './chain.ts'
import { genesisRoot, type SimAttestation } from './records.ts'
import type { Truth } from './truth.ts'

/** A vote on its way into a block. */
interface PendingVote {
  readonly slot: number
  readonly committee: number
  readonly place: number
  readonly head: string
  readonly target: string
  readonly fromSlot: number
}

/** Everything that changes, as plain data. */
export interface VotesData {
  pending: PendingVote[]
  /** Blocks of the chain, in rising order; older ones than anybody can vote for are forgotten, but for the last. */
  readonly roots: { readonly slot: number; readonly root: string }[]
  /** By epoch: the two at hand. */
  readonly targets: Map<number, string>
  orphan: { readonly slot: number; readonly root: string } | undefined
}

export const createVotesData = (): VotesData => ({
  pending: [],
  roots: [{ slot: 0, root: genesisRoot }],
  targets: new Map(),
  orphan: undefined,
})

export type Committees = readonly (readonly number[])[]

export class Votes {
  readonly data: VotesData
  readonly #chain: ChainState
  readonly #truth: Truth
  /** Of the last epoch and the present one. */
  readonly #committees: Map<number, Committees>

  constructor(chain: ChainState, truth: Truth, committees: Map<number, Committees>, data: VotesData) {
    this.#chain = chain
    this.#truth = truth
    this.#committees = committees
    this.data = data
  }

  get head(): string {
    return this.data.roots.at(-1)?.root as string
  }

  addBlock(slot: number, root: string): void {
    const { roots } = this.data
    roots.push({ slot, root })
    while ((roots[1]?.slot ?? slot) < slot - 3 * this.#chain.plan.slotsPerEpoch) roots.shift()
  }

  setOrphan(slot: number, root: string): void {
    this.data.orphan = { slot, root }
    this.#truth.note('orphan')
  }

  /** Behind the block of the epoch's first slot, if there is one. */
  setTarget(epoch: number): void {
    this.data.targets.set(epoch, this.head)
    this.data.targets.delete(epoch - 2)
  }

  /** Everybody whose duty it is votes, or does not. */
  cast(slot: number, epoch: number, mistakeRatesOf: (validator: number) => MistakeRates, draws: SeededRandom): void {
    const { slotsPerEpoch, committeesPerSlot } = this.#chain.plan
    for (let committee = 0; committee < committeesPerSlot; committee++) {
      const members = this.#committees.get(epoch)?.[(slot % slotsPerEpoch) * committeesPerSlot + committee] ?? []
      members.forEach((validator, place) => {
        this.#truth.add(epoch, validator, 'assigned', 1)
        const rates = mistakeRatesOf(validator)
        if (draws.happens(rates.noVote)) return
        const vote = () => ({ ...this.#choice(slot, epoch, rates, draws), slot, committee, place })
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
    habits: MistakeRates,
    draws: SeededRandom,
  ): Pick<PendingVote, 'head' | 'target' | 'fromSlot'> {
    const { slotsPerEpoch } = this.#chain.plan
    const { orphan } = this.data
    const fromSlot = slot + (draws.happens(habits.late) ? draws.whole(2, 2 * slotsPerEpoch) : 1)
    if (orphan?.slot === slot && draws.happens(habits.orphanHead)) {
      this.#truth.note('vote for an orphan')
      const target = slot % slotsPerEpoch === 0 ? orphan.root : (this.data.targets.get(epoch) as string)
      return { head: orphan.root, target, fromSlot }
    }
    return {
      head: draws.happens(habits.wrongHead) ? `0x${draws.pick(['aa', 'bb']).repeat(32)}` : this.head,
      target: draws.happens(habits.wrongTarget) ? `0x${'cc'.repeat(32)}` : (this.data.targets.get(epoch) as string),
      fromSlot,
    }
  }

  /** Puts the votes that are due into aggregates, in a drawn order, and counts them. Tells what they bring the proposer. */
  include(slot: number, epoch: number, draws: SeededRandom): { attestations: SimAttestation[]; gwei: bigint } {
    const { slotsPerEpoch } = this.#chain.plan
    const isOpen = (ballot: PendingVote) =>
      Math.floor(ballot.slot / slotsPerEpoch) + 1 >= epoch &&
      (this.#chain.isFrom('deneb', epoch) || slot <= ballot.slot + slotsPerEpoch)
    const due = this.data.pending.filter((ballot) => ballot.fromSlot <= slot && isOpen(ballot))
    this.data.pending = this.data.pending.filter((ballot) => ballot.fromSlot > slot)
    const isElectra = this.#chain.isFrom('electra', epoch)
    const groups = Map.groupBy(due, ({ slot: at, committee, head, target }) =>
      isElectra ? `${at} ${head} ${target}` : `${at} ${committee} ${head} ${target}`,
    )
    let gwei = 0n
    const attestations = draws.shuffled([...groups.values()]).map((ballots) => {
      const { attestation, reward } = this.#aggregate(ballots, slot, epoch)
      gwei += reward
      return attestation
    })
    return { attestations, gwei }
  }

  #aggregate(ballots: readonly PendingVote[], slot: number, epoch: number) {
    const { slotsPerEpoch, committeesPerSlot } = this.#chain.plan
    const [{ slot: at, head, target }] = ballots as [PendingVote]
    const targetEpoch = Math.floor(at / slotsPerEpoch)
    const committees = [...new Set(ballots.map(({ committee }) => committee))].sort((a, b) => a - b)
    const chosen = new Set(ballots.map(({ committee, place }) => `${committee} ${place}`))
    const first = (at % slotsPerEpoch) * committeesPerSlot
    const bits: boolean[] = []
    let numerator = 0n
    for (const committee of committees) {
      const members = this.#committees.get(targetEpoch)?.[first + committee] ?? []
      members.forEach((validator, place) => {
        bits.push(chosen.has(`${committee} ${place}`))
        if (bits.at(-1)) numerator += this.#count(validator, { at, targetEpoch, head, target }, slot, epoch)
      })
    }
    return { attestation: { slot: at, committees, bits, head, targetEpoch, target }, reward: numerator / (56n * 8n) }
  }

  /** One validator's vote in one aggregate; tells what it adds to the proposer's reward. */
  #count(
    validator: number,
    { at, targetEpoch, head, target }: { at: number; targetEpoch: number; head: string; target: string },
    slot: number,
    epoch: number,
  ): bigint {
    const delay = slot - at
    const isTarget = target === this.data.targets.get(targetEpoch)
    const isHead = head === this.#headAt(at)
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
    const own = this.#chain.at(validator)
    const which = targetEpoch === epoch ? 'current' : 'previous'
    const earned = [isInTime, isTarget, isTarget && isHead && delay === 1]
    let numerator = 0n
    ;[14n, 26n, 14n].forEach((weight, flag) => {
      if (!earned[flag] || own[which] & (1 << flag)) return
      own[which] |= 1 << flag
      numerator += this.#chain.baseReward(validator, epoch) * weight
    })
    return numerator
  }

  #headAt(slot: number): string {
    return this.data.roots.findLast((block) => block.slot <= slot)?.root ?? genesisRoot
  }
}
