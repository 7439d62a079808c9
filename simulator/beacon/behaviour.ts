// How the validators of a network behave, and what happens to them. One conduct is drawn from a seed, for tests; the demo
// world brings its own, which tells a story.
import type { SeededRandom } from '../seeded-random.ts'
import type { ChainState } from './chain.ts'
import { eth, far } from './chain.ts'
import type { Identity } from './records.ts'

export type { Identity }

/** Chances, for each duty. */
export interface MistakeRates {
  /** Casts no vote. */
  readonly noVote: number
  /** The vote comes into a block later than it could. */
  readonly late: number
  readonly wrongHead: number
  readonly wrongTarget: number
  /** The same vote comes in twice. */
  readonly repeated: number
  /** Casts two votes. */
  readonly doubled: number
  /** Votes for a block that is orphaned, where there is one. */
  readonly orphanHead: number
  /** Proposes no block. */
  readonly missed: number
  /** Proposes one that the others do not build on. */
  readonly orphaned: number
  /** Leaves out a signature in the sync committee. */
  readonly unsigned: number
}

export const noMistakes: MistakeRates = {
  noVote: 0,
  late: 0,
  wrongHead: 0,
  wrongTarget: 0,
  repeated: 0,
  doubled: 0,
  orphanHead: 0,
  missed: 0,
  orphaned: 0,
  unsigned: 0,
}

/** What a block brings beside votes. */
export interface BlockOperations {
  readonly proposerSlashings: readonly number[]
  /** All of them by one proof. */
  readonly attesterSlashings: readonly number[]
  readonly exits: readonly number[]
  readonly consolidations: readonly { readonly from: number; readonly to: number }[]
  /** `from`: somebody else than who paid first. */
  readonly deposits: readonly { readonly validator: number | 'new'; readonly gwei: bigint; readonly from?: string }[]
  /** Balances above the need are swept. */
  readonly sweeps: boolean
}

export const noOperations: BlockOperations = {
  proposerSlashings: [],
  attesterSlashings: [],
  exits: [],
  consolidations: [],
  deposits: [],
  sweeps: false,
}

export interface SlotContext {
  readonly slot: number
  readonly epoch: number
  readonly proposer: number
  /** No block of this epoch came before. */
  readonly isFirst: boolean
  /** Everyone who has a seat in a sync committee that is known. */
  readonly seated: ReadonlySet<number>
}

export interface Behaviour {
  mistakeRates(validator: number, epoch: number): MistakeRates
  operationsAt(at: SlotContext, chain: ChainState, draws: SeededRandom): BlockOperations
  /** Undefined: chance decides who proposes. */
  proposer(slot: number): number | undefined
  newValidator(index: number, draws: SeededRandom): Identity
}

export interface DisruptionPlan {
  /** Acted out; the last ones are calm, so that what came before becomes final. */
  readonly epochs: number
  readonly calmEpochs: number
  /** Epochs in which most are silent and finality fails, until the leak sets in. */
  readonly outage: { readonly from: number; readonly until: number }
  readonly missed: number
  readonly orphaned: number
  readonly slashing: number
  readonly balanceChanges: number
}

export function drawDisruptionPlan(draws: SeededRandom): DisruptionPlan {
  const from = draws.whole(1, 4)
  const outage = draws.happens(0.35) ? { from, until: from + draws.whole(5, 8) } : { from: 0, until: 0 }
  return {
    epochs: draws.whole(5, 9) + (outage.until - outage.from),
    calmEpochs: 4,
    outage,
    missed: draws.pick([0, 0.08, 0.25]),
    orphaned: draws.pick([0, 0.05, 0.1]),
    slashing: draws.pick([0, 0.03, 0.1]),
    balanceChanges: draws.pick([0, 0.15, 0.4]),
  }
}

/** Fewer than this many should not leave. */
const leaversMin = 20

export class SeededBehaviour implements Behaviour {
  readonly #plan: DisruptionPlan
  readonly #usualRates: MistakeRates

  constructor(plan: DisruptionPlan) {
    this.#plan = plan
    const { missed, orphaned } = plan
    this.#usualRates = {
      ...{ noVote: 0.08, late: 0.2, wrongHead: 0.12, wrongTarget: 0.04, repeated: 0.1, doubled: 0.02 },
      ...{ orphanHead: 0.6, missed, orphaned, unsigned: 0.2 },
    }
  }

  mistakeRates(validator: number, epoch: number): MistakeRates {
    if (this.#isCalm(epoch)) return noMistakes
    const { outage } = this.#plan
    const isOutage = epoch >= outage.from && epoch < outage.until
    return isOutage ? { ...this.#usualRates, noVote: validator % 5 < 2 ? 0 : 1 } : this.#usualRates
  }

  operationsAt({ epoch, proposer, seated }: SlotContext, chain: ChainState, draws: SeededRandom): BlockOperations {
    const { slashing, balanceChanges: moving } = this.#plan
    if (this.#isCalm(epoch)) return { ...noOperations, sweeps: draws.happens(moving) }
    const usable = chain.active(epoch).filter((index) => !chain.validators[index]?.slashed)
    const guilty = (count: number) => draws.shuffled(usable.filter((index) => index !== proposer)).slice(0, count)
    const isMoving = () => draws.happens(moving)
    return {
      proposerSlashings: draws.happens(slashing) ? guilty(1) : [],
      attesterSlashings: draws.happens(slashing) ? guilty(draws.whole(1, 3)) : [],
      exits: isMoving() && usable.length > leaversMin ? [draws.pick(usable)] : [],
      consolidations: isMoving() ? consolidationsAt(epoch, chain, seated, () => draws.pick(usable)) : [],
      deposits: isMoving() ? [depositFrom(draws, usable)] : [],
      sweeps: isMoving(),
    }
  }

  proposer(): undefined {
    return undefined
  }

  newValidator(_: number, draws: SeededRandom): Identity {
    const kind = draws.pick(['00', '01', '02'])
    return {
      pubkey: `0x${draws.hex(96)}`,
      depositor: `0x${draws.hex(40)}`,
      credentials: kind === '00' ? `0x00${draws.hex(62)}` : `0x${kind}${'0'.repeat(22)}${draws.hex(40)}`,
    }
  }

  #isCalm(epoch: number): boolean {
    return epoch >= this.#plan.epochs - this.#plan.calmEpochs
  }
}

function depositFrom(draws: SeededRandom, usable: readonly number[]): BlockOperations['deposits'][number] {
  return draws.happens(0.4)
    ? { validator: 'new', gwei: 32n * eth }
    : { validator: draws.pick(usable), gwei: BigInt(draws.whole(1, 4)) * eth }
}

/** One with a seat could be fined after its balance has gone: nobody could tell the two apart. */
function consolidationsAt(
  epoch: number,
  chain: ChainState,
  seated: ReadonlySet<number>,
  someone: () => number,
): BlockOperations['consolidations'] {
  const gone = chain.validators.findIndex(
    (one, index) =>
      one.withdrawable <= epoch && one.withdrawable !== far && !one.slashed && one.balance > 0n && !seated.has(index),
  )
  return gone >= 0 ? [{ from: gone, to: someone() }] : []
}
