// The behaviour of the demo networks (behaviour/operations.md#demo-networks). On mainnet a slot lasts ninety minutes,
// so that five weeks are 140 epochs; a day has four epochs and starts at noon. Some validators have a special role, the
// others make ordinary mistakes. Hoodi is small and has a slot every minute, so that you can watch ingest.

import {
  type Behaviour,
  type BlockOperations,
  type Identity,
  type MistakeRates,
  noMistakes,
  noOperations,
  type SlotContext,
} from '../beacon/behaviour.ts'
import { eth } from '../beacon/chain.ts'
import { type NetworkPlan, presentForks } from '../beacon/plan.ts'
import type { NetworkScenario } from '../beacon/simulate.ts'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'

export const epochsPerDay = 4
/** Complete chain days before the first start. */
export const daysBefore = 35

const mainnetPlan: NetworkPlan = {
  slotsPerEpoch: 4,
  slotSeconds: 5400,
  validators: 96,
  committeesPerSlot: 2,
  syncSeats: 8,
  syncPeriod: 16,
  forkEpochs: presentForks,
  hasExecution: true,
}

const hoodiPlan: NetworkPlan = {
  ...mainnetPlan,
  slotSeconds: 60,
  validators: 16,
  committeesPerSlot: 1,
  hasExecution: false,
}

const firstEpoch = (day: number): number => day * epochsPerDay
const firstSlot = (day: number): number => firstEpoch(day) * mainnetPlan.slotsPerEpoch

/** Validators with a special role. Days and epochs are those of the chain. */
export const roles = {
  flawless: 0,
  late: 8,
  orphan: { validator: 17, slot: firstSlot(22) + 5 },
  /** Proposes the block with the slashing. */
  accuser: 23,
  confused: 33,
  /** Offline for a day on which it has to propose a block. */
  away: { validator: 41, day: 27, slot: firstSlot(27) + 10 },
  slashed: { validator: 58, day: 31 },
  leaver: { validator: 66, day: 29 },
  /** Exits, and its balance is consolidated into the compounding validator. */
  merged: { validator: 70, exitDay: 3, day: 6 },
  /** Gets a deposit from another address. */
  compounding: { validator: 71, day: 15 },
  /** Offline when the demo starts. */
  dark: { validator: 90, from: firstEpoch(daysBefore) - 4, until: firstEpoch(daysBefore + 3) },
  newcomer: { validator: 96, day: 12 },
  /** Its deposit is too small for activation. */
  halfPaid: { validator: 97, day: 20 },
} as const

/** The depositor of each validator: pools use few addresses, other validators one each. */
export const depositorsOf = (accounts: readonly string[]) => {
  const at = (position: number): string => accounts[position % accounts.length] as string
  return (index: number): string => {
    if (index < 20) return at(0)
    if (index < 36) return at(1)
    if (index < 60) return at(2 + (index % 2))
    return at(4 + index - 60)
  }
}

const usualRates = (seed: string, validator: number): MistakeRates => {
  const draws = createSeededRandom(`${seed}/habits ${validator}`)
  return {
    noVote: 0.002 + 0.012 * draws.next(),
    late: 0.005 + 0.02 * draws.next(),
    wrongHead: 0.005 + 0.02 * draws.next(),
    wrongTarget: 0.001 + 0.002 * draws.next(),
    repeated: 0.05,
    doubled: 0,
    orphanHead: 0.6,
    missed: 0.006,
    orphaned: 0.001,
    unsigned: 0.02,
  }
}

const offlineRates: MistakeRates = { ...noMistakes, noVote: 1, missed: 1, unsigned: 1 }

class MainnetBehaviour implements Behaviour {
  readonly #usualRates: readonly MistakeRates[]
  readonly #depositor: (index: number) => string

  constructor(seed: string, accounts: readonly string[]) {
    this.#usualRates = Array.from({ length: mainnetPlan.validators + 2 }, (_, index) => usualRates(seed, index))
    this.#depositor = depositorsOf(accounts)
  }

  mistakeRates(validator: number, epoch: number): MistakeRates {
    const usual = this.#usualRates[validator] ?? noMistakes
    switch (validator) {
      case roles.flawless:
      case roles.accuser:
        return noMistakes
      case roles.late:
        return { ...usual, late: 0.35 }
      case roles.confused:
        return { ...usual, wrongHead: 0.3, wrongTarget: 0.05 }
      case roles.orphan.validator:
        return Math.floor(roles.orphan.slot / mainnetPlan.slotsPerEpoch) === epoch
          ? { ...noMistakes, orphaned: 1 }
          : usual
      case roles.away.validator:
        return Math.floor(epoch / epochsPerDay) === roles.away.day ? offlineRates : usual
      case roles.dark.validator:
        return epoch >= roles.dark.from && epoch < roles.dark.until ? offlineRates : usual
      default:
        return usual
    }
  }

  operationsAt({ epoch, isFirst }: SlotContext, _: unknown, draws: SeededRandom): BlockOperations {
    const sweeps = draws.happens(0.5)
    const day = isFirst && epoch % epochsPerDay === 0 ? epoch / epochsPerDay : -1
    const on = <T>(eventDay: number, ...items: T[]): T[] => (day === eventDay ? items : [])
    const { slashed, leaver, merged, compounding, newcomer, halfPaid } = roles
    return {
      ...noOperations,
      sweeps,
      attesterSlashings: on(slashed.day, slashed.validator),
      exits: [...on(leaver.day, leaver.validator), ...on(merged.exitDay, merged.validator)],
      consolidations: on(merged.day, { from: merged.validator, to: compounding.validator }),
      deposits: [
        ...on(newcomer.day, { validator: 'new' as const, gwei: 32n * eth }),
        ...on(halfPaid.day, { validator: 'new' as const, gwei: 16n * eth }),
        ...on(compounding.day, { validator: compounding.validator, gwei: 4n * eth, from: this.#depositor(95) }),
      ],
    }
  }

  proposer(slot: number): number | undefined {
    if (slot === roles.away.slot) return roles.away.validator
    if (slot === roles.orphan.slot) return roles.orphan.validator
    return slot === firstSlot(roles.slashed.day) ? roles.accuser : undefined
  }

  /** Every seventh validator still has BLS credentials, without an address. */
  newValidator(index: number, draws: SeededRandom): Identity {
    const depositor = this.#depositor(index)
    const kind = index === roles.compounding.validator ? '02' : '01'
    const credentials = index % 7 === 6 ? `0x00${draws.hex(62)}` : `0x${kind}${'0'.repeat(22)}${depositor.slice(2)}`
    return { pubkey: `0x${draws.hex(96)}`, depositor, credentials }
  }
}

/** Only duties; every other hour one validator is offline for a while. */
class HoodiBehaviour implements Behaviour {
  readonly #usualRates: readonly MistakeRates[]

  constructor(seed: string) {
    this.#usualRates = Array.from({ length: hoodiPlan.validators }, (_, index) => usualRates(seed, index))
  }

  mistakeRates(validator: number, epoch: number): MistakeRates {
    const isAway = epoch % 30 >= 20 && Math.floor(epoch / 30) % hoodiPlan.validators === validator
    return isAway ? offlineRates : (this.#usualRates[validator] ?? noMistakes)
  }

  operationsAt(_: SlotContext, __: unknown, draws: SeededRandom): BlockOperations {
    return { ...noOperations, sweeps: draws.happens(0.2) }
  }

  proposer(): undefined {
    return undefined
  }

  newValidator(_: number, draws: SeededRandom): Identity {
    const depositor = `0x${draws.hex(40)}`
    return { pubkey: `0x${draws.hex(96)}`, depositor, credentials: `0x01${'0'.repeat(22)}${depositor.slice(2)}` }
  }
}

export const mainnetScenario = (seed: string, accounts: readonly string[]): NetworkScenario => ({
  seed: `${seed}/validators/mainnet`,
  plan: mainnetPlan,
  behaviour: new MainnetBehaviour(`${seed}/validators/mainnet`, accounts),
})

export const hoodiScenario = (seed: string): NetworkScenario => ({
  seed: `${seed}/validators/hoodi`,
  plan: hoodiPlan,
  behaviour: new HoodiBehaviour(`${seed}/validators/hoodi`),
})
