// Networks that a node can be about. One is acted out from beginning to end and kept whole, with the truth about it, for tests.
// The other lives: it follows a clock, acts out what is asked for when it is asked for, and keeps little (behaviour/operations.md#simulated-epochs).
import { type Clock, nextEventLoopTurn } from '#runtime/clock.ts'
import { createSeededRandom } from '../seeded-random.ts'
import { type DisruptionPlan, drawDisruptionPlan, SeededBehaviour } from './behaviour.ts'
import { drawNetworkPlan, type NetworkPlan } from './plan.ts'
import type { EpochRecord, SimBlock, SimNetwork, Snapshot } from './records.ts'
import { type NetworkScenario, Simulation, type SimulationData } from './simulate.ts'
import { Truth } from './truth.ts'

export interface CompletedNetwork extends SimNetwork {
  readonly plan: NetworkPlan & DisruptionPlan
  readonly truth: Truth
  readonly epochs: readonly EpochRecord[]
  /** How far finality came in the end. */
  readonly finalized: number
  /** By slot. */
  readonly blocks: ReadonlyMap<number, SimBlock>
  readonly snapshots: readonly Snapshot[]
}

export function simulateNetwork(seed: string, changes: Partial<NetworkPlan & DisruptionPlan> = {}): CompletedNetwork {
  const draws = createSeededRandom(`${seed}/plan`)
  const plan = { ...drawNetworkPlan(draws), ...drawDisruptionPlan(draws), ...changes }
  const scenario = { seed, plan, behaviour: new SeededBehaviour(plan) }
  return { ...simulateScenario(scenario, plan.epochs), plan, genesisUnix: 1_700_000_000 + draws.whole(0, 86_400) }
}

/** Whatever the script, its first epochs and the truth about them. */
export function simulateScenario(
  scenario: NetworkScenario,
  until: number,
): Omit<CompletedNetwork, 'plan'> & { readonly plan: NetworkPlan } {
  const truth = new Truth()
  const simulation = new Simulation(scenario, truth)
  const epochs = Array.from({ length: until }, () => simulation.simulateEpoch())
  return {
    ...{ seed: scenario.seed, plan: scenario.plan, genesisUnix: 0, truth, epochs, finalized: simulation.finalized },
    blocks: new Map(epochs.flatMap(({ blocks }) => [...blocks])),
    snapshots: epochs.flatMap(({ states }) => states),
    headSlot: until * scenario.plan.slotsPerEpoch - 1,
    epoch: (epoch) => epochs[epoch],
  }
}

/** Epochs that are at hand without acting. */
const cachedEpochsMax = 12
/** Places to take acting up again from; when there are more, every other one goes. */
const checkpointsMax = 64

export class LiveNetwork implements SimNetwork {
  readonly seed: string
  readonly plan: NetworkPlan
  genesisUnix: number
  readonly #scenario: NetworkScenario
  readonly #clock: Pick<Clock, 'now'>
  readonly #cached = new Map<number, EpochRecord>()
  #checkpoints: { readonly epoch: number; readonly data: SimulationData }[] = []
  #spacing = 8
  #simulation: Simulation | undefined
  #truth = new Truth()
  /** Only one acts at a time. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(scenario: NetworkScenario, genesisUnix: number, clock: Pick<Clock, 'now'>) {
    this.seed = scenario.seed
    this.plan = scenario.plan
    this.genesisUnix = genesisUnix
    this.#scenario = scenario
    this.#clock = clock
  }

  get headSlot(): number {
    return Math.floor((this.#clock.now() / 1000 - this.genesisUnix) / this.plan.slotSeconds)
  }

  epoch(epoch: number): EpochRecord | undefined | Promise<EpochRecord | undefined> {
    if (!(epoch >= 0 && epoch <= this.headSlot / this.plan.slotsPerEpoch)) return undefined
    const known = this.#cached.get(epoch)
    if (known) return known
    const turn = this.#queue.then(() => this.#cached.get(epoch) ?? this.#simulateTo(epoch))
    this.#queue = turn.catch(() => {})
    return turn
  }

  /** How much is in memory. */
  memoryCounts(): { readonly kept: number; readonly marks: number } {
    return { kept: this.#cached.size, marks: this.#checkpoints.length }
  }

  async #simulateTo(epoch: number): Promise<EpochRecord> {
    const stage = this.#simulationBefore(epoch)
    for (;;) {
      this.#addCheckpoint(stage)
      const record = stage.simulateEpoch()
      this.#addToCache(record)
      // Nobody asks for the truth here; a vote is written down until its epoch is paid.
      this.#truth.forgetBefore(record.epoch - 2)
      if (record.epoch === epoch) return record
      // Others have work to do as well.
      await nextEventLoopTurn()
    }
  }

  /** One that has not acted the epoch yet, and as little before it as possible. */
  #simulationBefore(epoch: number): Simulation {
    const mark = this.#checkpoints.findLast((one) => one.epoch <= epoch)
    const isBest = this.#simulation && this.#simulation.epoch <= epoch && this.#simulation.epoch >= (mark?.epoch ?? 0)
    if (!this.#simulation || !isBest) {
      this.#truth = new Truth()
      this.#simulation = new Simulation(this.#scenario, this.#truth, mark && structuredClone(mark.data))
    }
    return this.#simulation
  }

  #addCheckpoint(stage: Simulation): void {
    const { epoch } = stage
    if (epoch % this.#spacing !== 0 || epoch <= (this.#checkpoints.at(-1)?.epoch ?? -1)) return
    this.#checkpoints.push({ epoch, data: stage.saveData() })
    if (this.#checkpoints.length <= checkpointsMax) return
    this.#spacing *= 2
    this.#checkpoints = this.#checkpoints.filter((mark) => mark.epoch % this.#spacing === 0)
  }

  #addToCache(record: EpochRecord): void {
    this.#cached.set(record.epoch, record)
    const [oldest] = this.#cached.keys()
    if (this.#cached.size > cachedEpochsMax && oldest !== undefined) this.#cached.delete(oldest)
  }
}
