// Validators of a simulated network that make mistakes, are slashed, exit, deposit and go offline, as drawn from a seed.

import { eth, far } from '#simulator/beacon/amounts.ts'
import {
  type Behaviour,
  type BlockOperations,
  type MistakeRates,
  noMistakes,
  noOperations,
  type PayloadPlan,
  type SlotContext,
} from '#simulator/beacon/behaviour.ts'
import type { ChainState } from '#simulator/beacon/chain.ts'
import type { Identity } from '#simulator/beacon/records.ts'
import type { SeededRandom } from '#simulator/seeded-random.ts'
import { depositsBeforeFork, drawGloasOperations, drawPayloadPlan } from './seeded-payloads.ts'

export interface DisruptionPlan {
  /** Epochs to simulate. The last `calmEpochs` have no mistakes, so that the earlier ones become final. */
  readonly epochs: number
  readonly calmEpochs: number
  /** Epochs in which most validators do not vote, long enough for an inactivity leak. */
  readonly outage: { readonly from: number; readonly until: number }
  readonly missed: number
  readonly orphaned: number
  readonly slashing: number
  readonly balanceChanges: number
  /** Slots without a block. */
  readonly emptySlots?: readonly number[]
  /** Since Gloas, by slot: changes of the drawn payload. */
  readonly payloads?: Readonly<Record<number, Partial<PayloadPlan>>>
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

/** There are no exits with fewer validators than this. */
const exitValidatorsMin = 20

export class SeededBehaviour implements Behaviour {
  readonly #plan: DisruptionPlan
  readonly #usualRates: MistakeRates

  constructor(plan: DisruptionPlan) {
    this.#plan = plan
    const { missed, orphaned } = plan
    this.#usualRates = {
      ...noMistakes,
      noVote: 0.08,
      late: 0.2,
      wrongHead: 0.12,
      wrongTarget: 0.04,
      repeated: 0.1,
      doubled: 0.02,
      orphanHead: 0.6,
      missed,
      orphaned,
      unsigned: 0.2,
      oldHead: 0.05,
      wrongPayload: 0.12,
      noPayloadVote: 0.15,
      wrongPayloadVote: 0.05,
    }
  }

  mistakeRates(validator: number, epoch: number): MistakeRates {
    if (this.#isCalm(epoch)) return noMistakes
    const { outage } = this.#plan
    const isOutage = epoch >= outage.from && epoch < outage.until
    return isOutage ? { ...this.#usualRates, noVote: validator % 5 < 2 ? 0 : 1 } : this.#usualRates
  }

  operationsAt(at: SlotContext, chain: ChainState, draws: SeededRandom): BlockOperations {
    const { epoch, proposer, seated } = at
    const { slashing, balanceChanges } = this.#plan
    if (this.#isCalm(epoch)) return { ...noOperations, sweeps: draws.happens(balanceChanges) }
    const usable = chain.active(epoch).filter((index) => !chain.validators[index]?.slashed)
    const drawSlashed = (count: number) => draws.shuffled(usable.filter((index) => index !== proposer)).slice(0, count)
    const changesBalances = () => draws.happens(balanceChanges)
    if (chain.data.gloas) return drawGloasOperations(at, chain, usable, this.#plan, draws)
    return {
      ...depositsBeforeFork(at, chain),
      proposerSlashings: draws.happens(slashing) ? drawSlashed(1) : [],
      attesterSlashings: draws.happens(slashing) ? drawSlashed(draws.whole(1, 3)) : [],
      exits: changesBalances() && usable.length > exitValidatorsMin ? [draws.pick(usable)] : [],
      consolidations: changesBalances() ? consolidationsAt(epoch, chain, seated, () => draws.pick(usable)) : [],
      deposits: changesBalances() ? [depositFrom(draws, usable)] : [],
      sweeps: changesBalances(),
    }
  }

  payloadAt({ slot }: SlotContext, chain: ChainState, draws: SeededRandom): PayloadPlan {
    return { ...drawPayloadPlan(chain, draws), ...this.#plan.payloads?.[slot] }
  }

  isEmpty(slot: number): boolean {
    return this.#plan.emptySlots?.includes(slot) === true
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

/**
 * A validator can be the source of one consolidation only. Excludes sync committee members: a penalty after the
 * consolidation could not be told apart from it.
 */
function consolidationsAt(
  epoch: number,
  chain: ChainState,
  seated: ReadonlySet<number>,
  drawTarget: () => number,
): BlockOperations['consolidations'] {
  const earlier = new Set(chain.data.consolidated)
  const source = chain.validators.findIndex(
    ({ withdrawable, slashed, balance }, index) =>
      withdrawable <= epoch &&
      withdrawable !== far &&
      !slashed &&
      balance > 0n &&
      !seated.has(index) &&
      !earlier.has(index),
  )
  return source >= 0 ? [{ from: source, to: drawTarget() }] : []
}
