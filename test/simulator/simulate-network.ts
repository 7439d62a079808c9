// Simulates all epochs of a network at once and keeps them with their expected figures.
//   await using node = await openNode(simulateNetwork('seed'), { profile: profiles.lighthouse })
import { type NetworkPlan, presentForks } from '#simulator/beacon/plan.ts'
import type { EpochRecord, SimulatedBlock, SimulatedNetwork, Snapshot } from '#simulator/beacon/records.ts'
import { type NetworkScenario, Simulation } from '#simulator/beacon/simulate.ts'
import { Truth } from '#simulator/beacon/truth.ts'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import { type DisruptionPlan, drawDisruptionPlan, SeededBehaviour } from './seeded-behaviour.ts'

export interface CompletedNetwork extends SimulatedNetwork {
  readonly seed: string
  readonly plan: NetworkPlan & DisruptionPlan
  readonly scenario: NetworkScenario
  readonly truth: Truth
  readonly epochs: readonly EpochRecord[]
  /** The finalized epoch at the end. */
  readonly finalized: number
  /** By slot. */
  readonly blocks: ReadonlyMap<number, SimulatedBlock>
  readonly snapshots: readonly Snapshot[]
}

export function simulateNetwork(seed: string, changes: Partial<NetworkPlan & DisruptionPlan> = {}): CompletedNetwork {
  const draws = createSeededRandom(`${seed}/plan`)
  const plan = { ...drawNetworkPlan(draws), ...drawDisruptionPlan(draws), ...changes }
  const scenario = { seed, plan, behaviour: new SeededBehaviour(plan) }
  return { ...simulateScenario(scenario, plan.epochs), plan, genesisUnix: 1_700_000_000 + draws.whole(0, 86_400) }
}

/** Simulates the epochs before `until` of a scenario, with their expected figures. */
export function simulateScenario(
  scenario: NetworkScenario,
  until: number,
): Omit<CompletedNetwork, 'plan'> & { readonly plan: NetworkPlan } {
  const truth = new Truth()
  const simulation = new Simulation(scenario, truth)
  const epochs = Array.from({ length: until }, () => simulation.simulateEpoch())
  const blocks = new Map(epochs.flatMap((epoch) => [...epoch.blocks]))
  return {
    seed: scenario.seed,
    plan: scenario.plan,
    scenario,
    genesisUnix: 0,
    truth,
    epochs,
    finalized: simulation.finalized,
    blocks,
    blockByRoot: (root) => blocks.values().find((block) => block.root === root),
    snapshots: epochs.flatMap(({ states }) => states),
    headSlot: until * scenario.plan.slotsPerEpoch - 1,
    epoch: (epoch) => epochs[epoch],
  }
}

const forkPlans: readonly NetworkPlan['forkEpochs'][] = [
  { altair: 0, bellatrix: 0, capella: 0, deneb: 0 },
  presentForks,
  { altair: 0, bellatrix: 0, capella: 0, deneb: 3, electra: 6 },
  { altair: 0, bellatrix: 2, capella: 4 },
  { altair: 0, bellatrix: 0, capella: 0, deneb: 0, electra: 4, fulu: 7 },
]

export const drawNetworkPlan = (draws: SeededRandom): NetworkPlan => ({
  slotsPerEpoch: draws.pick([4, 6, 8]),
  validators: draws.whole(24, 49),
  committeesPerSlot: draws.whole(1, 4),
  syncSeats: draws.pick([8, 16]),
  syncPeriod: draws.whole(2, 5),
  slotSeconds: draws.pick([2, 5, 12]),
  forkEpochs: draws.pick(forkPlans),
  hasExecution: draws.happens(0.5),
})
