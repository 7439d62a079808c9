// A simulated network that follows a clock. It simulates epochs on request and keeps few of them
// (behaviour/operations.md#simulated-epochs).
import { type Clock, nextEventLoopTurn } from '#runtime/clock.ts'
import type { NetworkPlan } from './plan.ts'
import type { EpochRecord, SimulatedNetwork } from './records.ts'
import { type NetworkScenario, Simulation } from './simulate.ts'
import { Truth } from './truth.ts'

const keptEpochsMin = 12
/** Saved states to continue from. If there are more, every second one is dropped. */
const checkpointsMax = 64

export class LiveNetwork implements SimulatedNetwork {
  readonly plan: NetworkPlan
  genesisUnix: number
  readonly #scenario: NetworkScenario
  readonly #clock: Pick<Clock, 'now'>
  readonly #cached = new Map<number, EpochRecord>()
  #checkpoints: { readonly epoch: number; readonly data: Buffer }[] = []
  #spacing = 8
  #simulation: Simulation | undefined
  #truth = new Truth()
  #keptEpochsMax = keptEpochsMin
  /** Epochs are simulated one after another. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(scenario: NetworkScenario, genesisUnix: number, clock: Pick<Clock, 'now'>) {
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
    const simulated = this.#queue.then(() => this.#cached.get(epoch) ?? this.#simulateTo(epoch))
    this.#queue = simulated.catch(() => {})
    return simulated
  }

  /** Simulates all epochs up to now and keeps them until `forgetPast`, for a reader that begins with the first one. */
  async simulatePast(): Promise<void> {
    const headEpoch = Math.floor(this.headSlot / this.plan.slotsPerEpoch)
    this.#keptEpochsMax = headEpoch + keptEpochsMin
    await this.epoch(headEpoch)
  }

  /** Keeps only the last few epochs, as before `simulatePast`. */
  forgetPast(): void {
    this.#keptEpochsMax = keptEpochsMin
    this.#trimCache()
  }

  memoryCounts(): { readonly epochs: number; readonly checkpoints: number } {
    return { epochs: this.#cached.size, checkpoints: this.#checkpoints.length }
  }

  async #simulateTo(epoch: number): Promise<EpochRecord> {
    const simulation = this.#simulationBefore(epoch)
    for (;;) {
      this.#addCheckpoint(simulation)
      const record = simulation.simulateEpoch()
      this.#addToCache(record)
      // The expected figures are not used here. Those of the last two epochs are needed until their votes are rewarded.
      this.#truth.forgetBefore(record.epoch - 2)
      if (record.epoch === epoch) return record
      await nextEventLoopTurn()
    }
  }

  /** The existing simulation or the last checkpoint, whichever needs fewer epochs to reach the requested one. */
  #simulationBefore(epoch: number): Simulation {
    const saved = this.#checkpoints.findLast((checkpoint) => checkpoint.epoch <= epoch)
    const isBest = this.#simulation && this.#simulation.epoch <= epoch && this.#simulation.epoch >= (saved?.epoch ?? 0)
    if (!this.#simulation || !isBest) {
      this.#truth = new Truth()
      this.#simulation = new Simulation(this.#scenario, this.#truth, saved?.data)
    }
    return this.#simulation
  }

  #addCheckpoint(simulation: Simulation): void {
    const { epoch } = simulation
    if (epoch % this.#spacing !== 0 || epoch <= (this.#checkpoints.at(-1)?.epoch ?? -1)) return
    this.#checkpoints.push({ epoch, data: simulation.saveData() })
    if (this.#checkpoints.length <= checkpointsMax) return
    this.#spacing *= 2
    this.#checkpoints = this.#checkpoints.filter((checkpoint) => checkpoint.epoch % this.#spacing === 0)
  }

  #addToCache(record: EpochRecord): void {
    this.#cached.set(record.epoch, record)
    this.#trimCache()
  }

  #trimCache(): void {
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= this.#keptEpochsMax) return
      this.#cached.delete(oldest)
    }
  }
}
