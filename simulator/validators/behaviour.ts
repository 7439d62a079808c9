// The behaviour of the demo networks (behaviour/operations.md#demo-networks). On mainnet a slot lasts ninety minutes,
// so that five weeks are 140 epochs; a day has four epochs and starts at noon. Some validators have a special role, the
// others make ordinary mistakes. Hoodi is small and has a slot every minute, so that you can watch ingest.

import { eth, least } from '../beacon/amounts.ts'
import { type Behaviour, type MistakeRates, noMistakes, noOperations, type PayloadPlan } from '../beacon/behaviour.ts'
import type { ChainState } from '../beacon/chain.ts'
import { bidMax, isActiveBuilder } from '../beacon/gloas/builders.ts'
import { gloasFrom, type NetworkPlan, presentForks } from '../beacon/plan.ts'
import type { NetworkScenario } from '../beacon/simulate.ts'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'

export const epochsPerDay = 4
/** Complete chain days before the first start. */
export const daysBefore = 35

/** Of the validators and of the explorer's chain 1. */
export const mainnetSlotSeconds = 5400

const mainnetPlan: NetworkPlan = {
  slotsPerEpoch: 4,
  slotSeconds: mainnetSlotSeconds,
  validators: 96,
  committeesPerSlot: 2,
  syncSeats: 8,
  syncPeriod: 16,
  forkEpochs: presentForks,
  hasExecution: true,
  emptyPayloads: 0.015,
}

/** Roles on hoodi, which has its fork to Gloas in its third hour. */
export const hoodiRoles = {
  forkEpoch: 32,
  /** Proposes a block, builds the payload itself and does not publish it. */
  withholder: { validator: 5, slot: 38 * 4 + 2 },
  /** The builder that its block depends on does not publish the payload. */
  letDown: { validator: 9, slot: 39 * 4 + 1 },
} as const

const hoodiPlan: NetworkPlan = {
  ...mainnetPlan,
  forkEpochs: gloasFrom(hoodiRoles.forkEpoch),
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
  /** Its client is behind for a week, until it is updated. */
  late: { validator: 8, fromDay: 16, untilDay: 23 },
  orphan: { validator: 17, slot: firstSlot(22) + 5 },
  /** Proposes the block with the slashing. */
  accuser: 23,
  /** Its node is slow to see new blocks for four days. */
  confused: { validator: 33, fromDay: 8, untilDay: 12 },
  /** All validators of one operator are offline for six hours. */
  outage: { firstValidator: 20, untilValidator: 36, epoch: firstEpoch(24) + 1 },
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

/** The validator whose depositor pays the second deposit of the compounding validator. */
const topUpSender = 95

/** Pools use few deposit addresses, other validators one each. */
function depositorPosition(index: number): number {
  if (index < 20) return 0
  if (index < 36) return 1
  if (index < 60) return 2 + (index % 2)
  return 4 + index - 60
}

/** The depositor of each validator. */
export const depositorsOf =
  (accounts: readonly string[]) =>
  (index: number): string =>
    accounts[depositorPosition(index) % accounts.length] as string

/** How much each depositor needs, by its position among the accounts. */
export function etherOfDepositors(): ReadonlyMap<number, number> {
  const ether = new Map<number, number>()
  const add = (index: number, amount: number) => {
    const position = depositorPosition(index)
    ether.set(position, (ether.get(position) ?? 0) + amount)
  }
  for (let index = 0; index < mainnetPlan.validators; index++) add(index, 32)
  add(roles.newcomer.validator, 32)
  add(roles.halfPaid.validator, 16)
  add(topUpSender, 4)
  return ether
}

/** Mistakes per operator, relative to the average: some have better hardware than others. */
function carelessnessOf(validator: number): number {
  if (validator < 20) return 0.6
  if (validator < 36) return 0.9
  if (validator < 60) return 0.8
  return validator < 76 ? 1.3 : 1.5
}

/** Low enough for ratings of 97 to 99.9, as large pools have. */
const usualRates = (seed: string, validator: number, carelessness: number): MistakeRates => {
  const draws = createSeededRandom(`${seed}/habits ${validator}`)
  const drawRate = (from: number, until: number) => carelessness * (from + (until - from) * draws.next())
  return {
    ...noMistakes,
    noVote: drawRate(0.0005, 0.0035),
    late: drawRate(0.0005, 0.002),
    wrongHead: drawRate(0.002, 0.008),
    wrongTarget: drawRate(0.0005, 0.0015),
    repeated: 0.05,
    doubled: 0,
    orphanHead: 0.6,
    missed: drawRate(0.0005, 0.002),
    orphaned: 0.001,
    unsigned: drawRate(0.005, 0.015),
  }
}

const offlineRates: MistakeRates = { ...noMistakes, noVote: 1, missed: 1, unsigned: 1 }

const createMainnetBehaviour = (seed: string, accounts: readonly string[]): Behaviour => {
  const rates = Array.from({ length: mainnetPlan.validators + 2 }, (_, index) =>
    usualRates(seed, index, carelessnessOf(index)),
  )
  const depositorOf = depositorsOf(accounts)
  return {
    mistakeRates(validator, epoch) {
      const usual = rates[validator] ?? noMistakes
      const day = Math.floor(epoch / epochsPerDay)
      const isWithin = ({ fromDay, untilDay }: { fromDay: number; untilDay: number }) =>
        day >= fromDay && day < untilDay
      const { outage } = roles
      if (epoch === outage.epoch && validator >= outage.firstValidator && validator < outage.untilValidator)
        return offlineRates
      switch (validator) {
        case roles.flawless:
        case roles.accuser:
          return noMistakes
        case roles.late.validator:
          return isWithin(roles.late) ? { ...usual, late: 0.4 } : usual
        case roles.confused.validator:
          return isWithin(roles.confused) ? { ...usual, wrongHead: 0.5, wrongTarget: 0.05 } : usual
        case roles.orphan.validator:
          return Math.floor(roles.orphan.slot / mainnetPlan.slotsPerEpoch) === epoch
            ? { ...noMistakes, orphaned: 1 }
            : usual
        case roles.away.validator:
          return day === roles.away.day ? offlineRates : usual
        case roles.dark.validator:
          return epoch >= roles.dark.from && epoch < roles.dark.until ? offlineRates : usual
        default:
          return usual
      }
    },
    operationsAt({ epoch, isFirst }, _chain, draws) {
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
          ...on(compounding.day, {
            validator: compounding.validator,
            gwei: 4n * eth,
            from: depositorOf(topUpSender),
          }),
        ],
      }
    },
    proposer(slot) {
      if (slot === roles.away.slot) return roles.away.validator
      if (slot === roles.orphan.slot) return roles.orphan.validator
      return slot === firstSlot(roles.slashed.day) ? roles.accuser : undefined
    },
    /** Every seventh validator still has BLS credentials, without an address. */
    newValidator(index, draws) {
      const address = depositorOf(index)
      const kind = index === roles.compounding.validator ? '02' : '01'
      const credentials = index % 7 === 6 ? `0x00${draws.hex(62)}` : `0x${kind}${'0'.repeat(22)}${address.slice(2)}`
      return { pubkey: `0x${draws.hex(96)}`, depositor: address, credentials }
    },
  }
}

/** What builders deposit before the fork. */
const builderGwei = [120n, 90n, 60n].map((amount) => amount * eth)

/** Half of the payloads are built by builders. */
function drawHoodiPayload(slot: number, chain: ChainState, draws: SeededRandom): PayloadPlan {
  const { withholder, letDown } = hoodiRoles
  const isUsual = slot !== withholder.slot && slot !== letDown.slot
  const builders = [...chain.gloas.builders.keys()].filter((index) => isActiveBuilder(chain, index))
  const isBuilt = draws.happens(0.5)
  const [builder, milliEth] = [draws.pick([0, ...builders]), draws.whole(10, 90)]
  const isLost = draws.happens(0.01)
  const delivery = isUsual ? (isLost ? 'late' : 'full') : 'withheld'
  const isByBuilder = builders.length > 0 && (slot === letDown.slot || (isBuilt && slot !== withholder.slot))
  if (!isByBuilder) return { builder: 'self', value: 0n, executionPayment: 0n, delivery }
  return {
    builder,
    value: least((BigInt(milliEth) * eth) / 1000n, bidMax(chain, builder)),
    executionPayment: 0n,
    delivery,
  }
}

/** Only duties; every other hour one validator is offline for a while. */
const createHoodiBehaviour = (seed: string): Behaviour => {
  const rates = Array.from({ length: hoodiPlan.validators }, (_, index) => usualRates(seed, index, 1))
  return {
    mistakeRates(validator, epoch) {
      const isAway = epoch % 30 >= 20 && Math.floor(epoch / 30) % hoodiPlan.validators === validator
      return isAway ? offlineRates : (rates[validator] ?? noMistakes)
    },
    operationsAt: ({ epoch, isFirst }, _chain, draws) => ({
      ...noOperations,
      sweeps: draws.happens(0.2),
      builderDeposits:
        isFirst && epoch === hoodiRoles.forkEpoch - 1 ? builderGwei.map((gwei) => ({ builder: 'new', gwei })) : [],
    }),
    payloadAt: ({ slot }, chain, draws) => drawHoodiPayload(slot, chain, draws),
    proposer: (slot) => [hoodiRoles.withholder, hoodiRoles.letDown].find((role) => role.slot === slot)?.validator,
    newValidator(_index, draws) {
      const depositor = `0x${draws.hex(40)}`
      return { pubkey: `0x${draws.hex(96)}`, depositor, credentials: `0x01${'0'.repeat(22)}${depositor.slice(2)}` }
    },
  }
}

export const mainnetScenario = (seed: string, accounts: readonly string[]): NetworkScenario => ({
  seed: `${seed}/validators/mainnet`,
  plan: mainnetPlan,
  behaviour: createMainnetBehaviour(`${seed}/validators/mainnet`, accounts),
})

export const hoodiScenario = (seed: string): NetworkScenario => ({
  seed: `${seed}/validators/hoodi`,
  plan: hoodiPlan,
  behaviour: createHoodiBehaviour(`${seed}/validators/hoodi`),
})
