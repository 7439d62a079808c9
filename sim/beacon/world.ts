// Networks that a node can be about. One is acted out from beginning to end and kept whole, with the truth about it, for tests.
// The other lives: it follows a clock, acts out what is asked for when it is asked for, and keeps little (decision 0117).
import { type Clock, nextTurn } from '#io/clock.ts'
import { chance } from '../chance.ts'
import { SeedConduct, type Temper, temperOf } from './conduct.ts'
import { Ledger } from './ledger.ts'
import { type Plan, planOf } from './plan.ts'
import type { EpochRecord, SimBlock, Snapshot, World } from './records.ts'
import { type Script, Stage, type StageData } from './stage.ts'

export interface ActedWorld extends World {
  readonly plan: Plan & Temper
  readonly ledger: Ledger
  readonly epochs: readonly EpochRecord[]
  /** How far finality came in the end. */
  readonly finalized: number
  /** By slot. */
  readonly blocks: ReadonlyMap<number, SimBlock>
  readonly snapshots: readonly Snapshot[]
}

export function actWorld(seed: string, changes: Partial<Plan & Temper> = {}): ActedWorld {
  const draws = chance(`${seed}/plan`)
  const plan = { ...planOf(draws), ...temperOf(draws), ...changes }
  const script = { seed, plan, conduct: new SeedConduct(plan) }
  return { ...actScript(script, plan.epochs), plan, genesisUnix: 1_700_000_000 + draws.whole(0, 86_400) }
}

/** Whatever the script, its first epochs and the truth about them. */
export function actScript(script: Script, until: number): Omit<ActedWorld, 'plan'> & { readonly plan: Plan } {
  const ledger = new Ledger()
  const stage = new Stage(script, ledger)
  const epochs = Array.from({ length: until }, () => stage.actEpoch())
  return {
    ...{ seed: script.seed, plan: script.plan, genesisUnix: 0, ledger, epochs, finalized: stage.finalized },
    blocks: new Map(epochs.flatMap(({ blocks }) => [...blocks])),
    snapshots: epochs.flatMap(({ states }) => states),
    headSlot: until * script.plan.slotsPerEpoch - 1,
    epoch: (epoch) => epochs[epoch],
  }
}

/** Epochs that are at hand without acting. */
const epochsKept = 12
/** Places to take acting up again from; when there are more, every other one goes. */
const marksMax = 64

export class LivingWorld implements World {
  readonly seed: string
  readonly plan: Plan
  genesisUnix: number
  readonly #script: Script
  readonly #clock: Pick<Clock, 'now'>
  readonly #kept = new Map<number, EpochRecord>()
  #marks: { readonly epoch: number; readonly data: StageData }[] = []
  #spacing = 8
  #stage: Stage | undefined
  #ledger = new Ledger()
  /** Only one acts at a time. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(script: Script, genesisUnix: number, clock: Pick<Clock, 'now'>) {
    this.seed = script.seed
    this.plan = script.plan
    this.genesisUnix = genesisUnix
    this.#script = script
    this.#clock = clock
  }

  get headSlot(): number {
    return Math.floor((this.#clock.now() / 1000 - this.genesisUnix) / this.plan.slotSeconds)
  }

  epoch(epoch: number): EpochRecord | undefined | Promise<EpochRecord | undefined> {
    if (!(epoch >= 0 && epoch <= this.headSlot / this.plan.slotsPerEpoch)) return undefined
    const known = this.#kept.get(epoch)
    if (known) return known
    const turn = this.#turn.then(() => this.#kept.get(epoch) ?? this.#actTo(epoch))
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** How much is in memory. */
  held(): { readonly kept: number; readonly marks: number } {
    return { kept: this.#kept.size, marks: this.#marks.length }
  }

  async #actTo(epoch: number): Promise<EpochRecord> {
    const stage = this.#stageBefore(epoch)
    for (;;) {
      this.#mark(stage)
      const record = stage.actEpoch()
      this.#keep(record)
      // Nobody asks for the truth here; a vote is written down until its epoch is paid.
      this.#ledger.forgetBefore(record.epoch - 2)
      if (record.epoch === epoch) return record
      // Others have work to do as well.
      await nextTurn()
    }
  }

  /** One that has not acted the epoch yet, and as little before it as possible. */
  #stageBefore(epoch: number): Stage {
    const mark = this.#marks.findLast((one) => one.epoch <= epoch)
    const isBest = this.#stage && this.#stage.epoch <= epoch && this.#stage.epoch >= (mark?.epoch ?? 0)
    if (!this.#stage || !isBest) {
      this.#ledger = new Ledger()
      this.#stage = new Stage(this.#script, this.#ledger, mark && structuredClone(mark.data))
    }
    return this.#stage
  }

  #mark(stage: Stage): void {
    const { epoch } = stage
    if (epoch % this.#spacing !== 0 || epoch <= (this.#marks.at(-1)?.epoch ?? -1)) return
    this.#marks.push({ epoch, data: stage.put() })
    if (this.#marks.length <= marksMax) return
    this.#spacing *= 2
    this.#marks = this.#marks.filter((mark) => mark.epoch % this.#spacing === 0)
  }

  #keep(record: EpochRecord): void {
    this.#kept.set(record.epoch, record)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > epochsKept && oldest !== undefined) this.#kept.delete(oldest)
  }
}
