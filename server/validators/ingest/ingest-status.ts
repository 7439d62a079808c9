// How the ingest of each network stands in this process, for the commands that ask beside it, and a bell for them to have it
// look at its node at once (behaviour/validators.md#commands-and-a-running-server), fill in epochs that were left out (behaviour/validators.md#fill-gaps) and read stored epochs again.

import { type Network, networks } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { WakeSignal } from '#ingest/poll.ts'
import type { ValidatorsContext } from '../context.ts'
import type { IngestProgress } from './follow.ts'
import { countEpochs, explainUnfillable, explainUnrepairable, missingEpochs } from './gaps.ts'
import type { Repaired } from './repair.ts'

export interface IngestStatus extends IngestProgress {
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

export interface RangeRequest {
  readonly epochs: Range
  /** Of the repair; undefined: the epochs are filled in. */
  readonly repairId: number | undefined
}

/** Ranges that wait to be filled in or repaired. */
const requestsMax = 16
/** Repairs whose outcome can still be asked for. */
const repairsMax = 64

export class IngestRun {
  readonly wakeUp = new WakeSignal()
  readonly #requests: RangeRequest[] = []
  readonly #repairs = new Map<number, RepairProgress>()
  #lastRepair = 0
  #status: IngestStatus

  constructor(network: Network) {
    this.#status = {
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

  get status(): IngestStatus {
    return this.#status
  }

  /** The next look fills these epochs in first. */
  requestFill(epochs: Range): void {
    this.#enqueue({ epochs, repairId: undefined })
  }

  /** The next look repairs these epochs first. */
  requestRepair(epochs: Range): RepairProgress {
    const id = this.#lastRepair + 1
    this.#enqueue({ epochs, repairId: id })
    this.#lastRepair = id
    this.noteRepair(id, { left: null })
    this.#repairs.delete(id - repairsMax)
    return this.#repairs.get(id) as RepairProgress
  }

  #enqueue(request: RangeRequest): void {
    if (this.#requests.length >= requestsMax)
      throw new Error(`${requestsMax} ranges wait to be filled in or repaired already; ask later`)
    this.#requests.push(request)
  }

  takeRequest(): RangeRequest | undefined {
    return this.#requests.shift()
  }

  noteRepair(id: number, progress: Partial<RepairProgress>): void {
    const before = this.#repairs.get(id) ?? { id, parts: 0, epochs: 0, changed: 0, left: 0, isDone: false }
    this.#repairs.set(id, { ...before, ...progress })
  }

  repair(id: number): RepairProgress | undefined {
    return this.#repairs.get(id)
  }

  begin(): void {
    this.#status = { ...this.#status, isBusy: true }
  }

  step({ until, finalizedEpoch, written }: IngestProgress): void {
    const fine = { failingSinceMs: null, isContradicted: false }
    this.#status = { ...this.#status, until, finalizedEpoch, written, ...fine }
  }

  end(trouble: string | null, nowMs: number, isContradicted = false): void {
    const { rounds, failingSinceMs: before } = this.#status
    const failingSinceMs = trouble === null ? null : (before ?? nowMs)
    const ended = { isBusy: false, rounds: rounds + 1, trouble, failingSinceMs, isContradicted }
    this.#status = { ...this.#status, ...ended }
  }
}

/** A network is followed from now on. */
export function registerRun({ validators }: Pick<ValidatorsContext, 'validators'>, network: Network): IngestRun {
  const run = new IngestRun(network)
  validators.runs.set(network, run)
  return run
}

/** It is followed no longer, unless another run has begun meanwhile. */
export function unregisterRun(
  { validators }: Pick<ValidatorsContext, 'validators'>,
  network: Network,
  run: IngestRun,
): void {
  if (validators.runs.get(network) === run) validators.runs.delete(network)
}

/** Undefined: this process does not follow the network. */
export const findRun = (
  { validators }: Pick<ValidatorsContext, 'validators'>,
  network: Network,
): IngestRun | undefined => validators.runs.get(network)

/** For the control socket: `{network, look, epochs}`; with `look` the node is asked at once, and for those epochs first. */
export async function readIngestStatus(
  context: Pick<ValidatorsContext, 'validators' | 'duties'>,
  input: unknown,
): Promise<IngestStatus> {
  const { network, look, epochs } = (input ?? {}) as { network?: unknown; look?: unknown; epochs?: unknown }
  const { known, run } = requireRun(context, network)
  const range = epochs === undefined ? undefined : parseRange(epochs)
  const missing = range ? countEpochs(await missingEpochs(context.duties, known, range)) : 0
  // As it was before the bell: whoever waits for the next look must be able to tell it from this one.
  const { status } = run
  if (look === true) {
    const why = range && (await explainUnfillable(context.duties, known, range))
    if (why !== undefined) throw new Error(why)
    if (range) run.requestFill(range)
    run.wakeUp.wake()
  }
  return { ...status, missing }
}

/** For the control socket: `{network, epochs}` begins a repair, `{network, id}` asks how far it is. */
export async function startOrReadRepair(
  context: Pick<ValidatorsContext, 'validators' | 'duties'>,
  input: unknown,
): Promise<RepairProgress> {
  const { network, epochs, id } = (input ?? {}) as { network?: unknown; epochs?: unknown; id?: unknown }
  const { known, run } = requireRun(context, network)
  if (epochs === undefined) {
    const progress = run.repair(id as number)
    if (!progress) throw new Error(`the running server knows of no repair ${id} of ${known}`)
    return progress
  }
  const range = parseRange(epochs)
  const why = await explainUnrepairable(context.duties, known, range)
  if (why !== undefined) throw new Error(why)
  const progress = run.requestRepair(range)
  run.wakeUp.wake()
  return progress
}

function requireRun(
  context: Pick<ValidatorsContext, 'validators'>,
  network: unknown,
): { readonly known: Network; readonly run: IngestRun } {
  const known = networks.find((one) => one === network)
  const run = known && findRun(context, known)
  if (run) return { known, run }
  const setting = `validators.networks.${known ?? 'NAME'}.beacon.urls`
  const todo = `set ${setting} and restart it, or ask the server that ingests where there are several`
  throw new Error(`the running server does not follow ${known ?? 'such a network'}: ${todo}`)
}

function parseRange(given: unknown): Range {
  const { from, until } = (given ?? {}) as { from?: unknown; until?: unknown }
  const isOne = [from, until].every((one) => Number.isSafeInteger(one) && (one as number) >= 0)
  if (!isOne) throw new Error('epochs are {from, until}, two whole numbers')
  return { from: from as number, until: until as number }
}
