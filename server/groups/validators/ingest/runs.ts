// How the ingest of each network stands in this process, for the commands that ask beside it, and a bell for them to have it
// look at its node at once (decision 0078), fill in epochs that were left out (decision 0156) and read stored epochs again.

import { type Network, networks } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { Bell } from '#ingest/poll.ts'
import type { ValidatorsContext } from '../context.ts'
import type { Progress } from './follow.ts'
import { countOf, missingEpochs, outOfReach, unrepairable } from './gaps.ts'
import type { Repaired } from './repair.ts'

export interface Standing extends Progress {
  readonly network: Network
  /** Reading at this moment. */
  readonly isBusy: boolean
  /** Looks at the node that have ended, so that whoever asks can tell a new one from an old one. */
  readonly rounds: number
  /** Why the last look failed; null: it did not. */
  readonly trouble: string | null
  /** It failed because the node's answers contradict each other. */
  readonly isContradicted: boolean
  /** Since when looks have failed without anything read between them; null: the last one did not. */
  readonly failingSinceMs: number | null
  /** Of the epochs that were asked about, how many nobody has read. */
  readonly missing: number
}

/** How far a repair is that a command asked for. */
export interface RepairProgress extends Repaired {
  readonly id: number
  /** Epochs that are still to be read; null: it has not begun. */
  readonly left: number | null
  readonly isDone: boolean
}

export interface Wanted {
  readonly epochs: Range
  /** Of the repair; undefined: the epochs are filled in. */
  readonly repair: number | undefined
}

/** Ranges that wait to be filled in or repaired. */
const wantedMax = 16
/** Repairs whose outcome can still be asked for. */
const repairsMax = 64

export class Run {
  readonly bell = new Bell()
  readonly #wanted: Wanted[] = []
  readonly #repairs = new Map<number, RepairProgress>()
  #lastRepair = 0
  #standing: Standing

  constructor(network: Network) {
    this.#standing = {
      network,
      until: 0,
      finalizedEpoch: 0,
      written: 0,
      isBusy: false,
      rounds: 0,
      trouble: null,
      isContradicted: false,
      failingSinceMs: null,
      missing: 0,
    }
  }

  get standing(): Standing {
    return this.#standing
  }

  /** The next look fills these epochs in first. */
  want(epochs: Range): void {
    this.#queue({ epochs, repair: undefined })
  }

  /** The next look repairs these epochs first. */
  wantRepair(epochs: Range): RepairProgress {
    const id = this.#lastRepair + 1
    this.#queue({ epochs, repair: id })
    this.#lastRepair = id
    this.noteRepair(id, { left: null })
    this.#repairs.delete(id - repairsMax)
    return this.#repairs.get(id) as RepairProgress
  }

  #queue(wanted: Wanted): void {
    if (this.#wanted.length >= wantedMax)
      throw new Error(`${wantedMax} ranges wait to be filled in or repaired already; ask later`)
    this.#wanted.push(wanted)
  }

  takeWanted(): Wanted | undefined {
    return this.#wanted.shift()
  }

  noteRepair(id: number, progress: Partial<RepairProgress>): void {
    const before = this.#repairs.get(id) ?? { id, parts: 0, epochs: 0, changed: 0, left: 0, isDone: false }
    this.#repairs.set(id, { ...before, ...progress })
  }

  repair(id: number): RepairProgress | undefined {
    return this.#repairs.get(id)
  }

  begin(): void {
    this.#standing = { ...this.#standing, isBusy: true }
  }

  step({ until, finalizedEpoch, written }: Progress): void {
    const fine = { failingSinceMs: null, isContradicted: false }
    this.#standing = { ...this.#standing, until, finalizedEpoch, written, ...fine }
  }

  end(trouble: string | null, nowMs: number, isContradicted = false): void {
    const { rounds, failingSinceMs: before } = this.#standing
    const failingSinceMs = trouble === null ? null : (before ?? nowMs)
    const ended = { isBusy: false, rounds: rounds + 1, trouble, failingSinceMs, isContradicted }
    this.#standing = { ...this.#standing, ...ended }
  }
}

/** A network is followed from now on. */
export function noteRun({ validators }: Pick<ValidatorsContext, 'validators'>, network: Network): Run {
  const run = new Run(network)
  validators.runs.set(network, run)
  return run
}

/** It is followed no longer, unless another run has begun meanwhile. */
export function forgetRun({ validators }: Pick<ValidatorsContext, 'validators'>, network: Network, run: Run): void {
  if (validators.runs.get(network) === run) validators.runs.delete(network)
}

/** Undefined: this process does not follow the network. */
export const runOf = ({ validators }: Pick<ValidatorsContext, 'validators'>, network: Network): Run | undefined =>
  validators.runs.get(network)

/** For the control socket: `{network, look, epochs}`; with `look` the node is asked at once, and for those epochs first. */
export async function ingestStanding(
  context: Pick<ValidatorsContext, 'validators' | 'duties'>,
  input: unknown,
): Promise<Standing> {
  const { network, look, epochs } = (input ?? {}) as { network?: unknown; look?: unknown; epochs?: unknown }
  const { known, run } = runNamed(context, network)
  const range = epochs === undefined ? undefined : rangeOf(epochs)
  const missing = range ? countOf(await missingEpochs(context.duties, known, range)) : 0
  // As it was before the bell: whoever waits for the next look must be able to tell it from this one.
  const { standing } = run
  if (look === true) {
    const why = range && (await outOfReach(context.duties, known, range))
    if (why !== undefined) throw new Error(why)
    if (range) run.want(range)
    run.bell.ring()
  }
  return { ...standing, missing }
}

/** For the control socket: `{network, epochs}` begins a repair, `{network, id}` asks how far it is. */
export async function repairProgress(
  context: Pick<ValidatorsContext, 'validators' | 'duties'>,
  input: unknown,
): Promise<RepairProgress> {
  const { network, epochs, id } = (input ?? {}) as { network?: unknown; epochs?: unknown; id?: unknown }
  const { known, run } = runNamed(context, network)
  if (epochs === undefined) {
    const progress = run.repair(id as number)
    if (!progress) throw new Error(`the running server knows of no repair ${id} of ${known}`)
    return progress
  }
  const range = rangeOf(epochs)
  const why = await unrepairable(context.duties, known, range)
  if (why !== undefined) throw new Error(why)
  const progress = run.wantRepair(range)
  run.bell.ring()
  return progress
}

function runNamed(
  context: Pick<ValidatorsContext, 'validators'>,
  network: unknown,
): { readonly known: Network; readonly run: Run } {
  const known = networks.find((one) => one === network)
  const run = known && runOf(context, known)
  if (run) return { known, run }
  const setting = `validators.networks.${known ?? 'NAME'}.beacon.urls`
  const todo = `set ${setting} and restart it, or ask the server that ingests where there are several`
  throw new Error(`the running server does not follow ${known ?? 'such a network'}: ${todo}`)
}

function rangeOf(given: unknown): Range {
  const { from, until } = (given ?? {}) as { from?: unknown; until?: unknown }
  const isOne = [from, until].every((one) => Number.isSafeInteger(one) && (one as number) >= 0)
  if (!isOne) throw new Error('epochs are {from, until}, two whole numbers')
  return { from: from as number, until: until as number }
}
