// The status of each network's ingest in this process. Commands read it over the control socket. They can also request
// that the server polls its node now or repairs epochs (behaviour/validators.md#commands-and-a-running-server).

import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { WakeSignal } from '#ingest/poll.ts'
import type { ScheduledFork } from '#sources/beacon/next-fork.ts'
import type { ValidatorsContext } from '../../context.ts'
import { readMissingPast } from '../past/fill-past.ts'
import type { ComputingStep } from '../read/computed-states.ts'
import { explainUnrepairable } from '../repair/explain-unrepairable.ts'
import type { Repaired } from '../repair/repair-epochs.ts'
import type { IngestProgress } from './ingest-progress.ts'

/**
 * Why a poll failed: a node contradicts itself, two nodes disagree, the beacon nodes or the execution nodes are on another
 * chain, the chain has a fork that is not supported, or anything else.
 */
export type FailureKind =
  | 'contradiction'
  | 'disagreement'
  | 'otherChain'
  | 'otherExecutionChain'
  | 'unknownFork'
  | 'unreadable'

export interface IngestStatus extends IngestProgress {
  readonly network: Network
  readonly isReading: boolean
  /** Number of finished polls, so that a command can wait for a new one. */
  readonly polls: number
  /** Why the last poll failed; null: it succeeded. */
  readonly lastError: string | null
  readonly failureKind: FailureKind | null
  /** When polls started to fail (monotonic clock), without an epoch stored since; null: the last poll succeeded. */
  readonly failingSinceMs: number | null
  /** What takes long at present, such as the download of the first state. Undefined: nothing. */
  readonly step?: ComputingStep
  /** Missing epochs that are being read or will be read next, and are not stored yet; 0: none. */
  readonly fillingEpochs: number
  /** Epochs that are still to be read for validators that were added to the watch list. */
  readonly missingPastEpochs: number
}

/** Progress of a repair that a command requested. */
export interface RepairProgress extends Repaired {
  readonly id: number
  /** Epochs left to read; null: it has not started. */
  readonly left: number | null
  readonly isDone: boolean
}

export interface RepairRequest {
  readonly id: number
  readonly epochs: Range
}

/** Queued repairs. */
const requestsMax = 16
/** Repairs whose result is kept. */
const repairsMax = 64

export type IngestRun = ReturnType<typeof createIngestRun>

function createIngestRun(network: Network, onStatus: (status: IngestStatus) => void) {
  const requests: RepairRequest[] = []
  const repairs = new Map<number, RepairProgress>()
  let lastRepair = 0
  let status: IngestStatus = {
    network,
    until: 0,
    finalizedEpoch: 0,
    written: 0,
    isReading: false,
    polls: 0,
    lastError: null,
    failureKind: null,
    failingSinceMs: null,
    fillingEpochs: 0,
    missingPastEpochs: 0,
  }

  function setStatus(changed: IngestStatus): void {
    status = changed
    onStatus(changed)
  }

  function recordRepair(id: number, progress: Partial<RepairProgress>): void {
    const before = repairs.get(id) ?? { id, filled: 0, parts: 0, epochs: 0, changed: 0, left: 0, isDone: false }
    repairs.set(id, { ...before, ...progress })
  }

  return {
    wakeUp: new WakeSignal(),
    get status() {
      return status
    },
    recordRepair,
    repair: (id: number) => repairs.get(id),
    takeRequest: () => requests.shift(),

    /** The next poll starts with repairing these epochs. */
    requestRepair(epochs: Range): RepairProgress {
      if (requests.length >= requestsMax) throw new Error(`${requestsMax} repairs are already queued; try again later`)
      lastRepair += 1
      const id = lastRepair
      requests.push({ id, epochs })
      recordRepair(id, { left: null })
      repairs.delete(id - repairsMax)
      return repairs.get(id) as RepairProgress
    },

    begin(): void {
      setStatus({ ...status, isReading: true })
    },

    step({ until, finalizedEpoch, written }: IngestProgress): void {
      setStatus({ ...status, until, finalizedEpoch, written, failingSinceMs: null, failureKind: null })
    },

    recordFork(nextFork: ScheduledFork | undefined): void {
      const { nextFork: before, ...others } = status
      if (before?.epoch === nextFork?.epoch && before?.name === nextFork?.name) return
      setStatus({ ...others, ...(nextFork && { nextFork }) })
    },

    /** Undefined: all nodes schedule the same forks. */
    recordOtherForks(otherForks: string | undefined): void {
      const { otherForks: _, ...others } = status
      setStatus({ ...others, ...(otherForks !== undefined && { otherForks }) })
    },

    /** Returns whether it differs from the last one. */
    recordComputing(step: ComputingStep | undefined): boolean {
      const { step: before, ...others } = status
      if (before?.name === step?.name && before?.slot === step?.slot) return false
      setStatus({ ...others, ...(step && { step }) })
      return true
    },

    /** Call it with the number of epochs that are left, and with 0 at the end. */
    recordFill(left: number): void {
      setStatus({ ...status, fillingEpochs: left })
    },

    /** `atMs`: on the monotonic clock. */
    end(lastError: string | null, atMs: number, kind: FailureKind = 'unreadable'): void {
      const { polls, failingSinceMs: before } = status
      const failure =
        lastError === null
          ? { failingSinceMs: null, failureKind: null }
          : { failingSinceMs: before ?? atMs, failureKind: kind, fillingEpochs: 0 }
      setStatus({ ...status, isReading: false, polls: polls + 1, lastError, ...failure })
    },
  }
}

export function registerRun({ validators }: Pick<ValidatorsContext, 'validators'>, network: Network): IngestRun {
  const run = createIngestRun(network, (status) => {
    if (validators.runs.get(network) === run) validators.ingestStatuses.set(network, status)
  })
  validators.runs.set(network, run)
  validators.ingestStatuses.set(network, run.status)
  return run
}

/** Has no effect if another run of the network was registered since. */
export function unregisterRun(
  { validators }: Pick<ValidatorsContext, 'validators'>,
  network: Network,
  run: IngestRun,
): void {
  if (validators.runs.get(network) !== run) return
  validators.runs.delete(network)
  validators.ingestStatuses.delete(network)
}

/** Undefined: this thread does not ingest the network. */
export const findRun = (
  { validators }: Pick<ValidatorsContext, 'validators'>,
  network: Network,
): IngestRun | undefined => validators.runs.get(network)

/** Control call `ingestStatus` with `{network, pollNow}`. With `pollNow`, the server polls now. */
export async function readIngestStatus(
  context: Pick<ValidatorsContext, 'validators' | 'duties' | 'settings'>,
  input: unknown,
): Promise<IngestStatus> {
  const { network, pollNow } = (input ?? {}) as { network?: unknown; pollNow?: unknown }
  const { known, run } = requireRun(context, network)
  // Taken before waking the loop, so that the caller can tell the next poll from this one.
  const { status } = run
  if (pollNow === true) run.wakeUp.wake()
  const { epochs: missingPastEpochs } = await readMissingPast(context, known)
  return { ...status, missingPastEpochs }
}

/** Control call `repairEpochs`: `{network, epochs}` starts a repair, `{network, id}` returns its progress. */
export async function startOrReadRepair(
  context: Pick<ValidatorsContext, 'validators' | 'duties'>,
  input: unknown,
): Promise<RepairProgress> {
  const { network, epochs, id } = (input ?? {}) as { network?: unknown; epochs?: unknown; id?: unknown }
  const { known, run } = requireRun(context, network)
  if (epochs === undefined) {
    const progress = run.repair(id as number)
    if (!progress) throw new Error(`the running server has no repair ${id} of ${known}`)
    return progress
  }
  const range = parseRange(epochs)
  const reason = await explainUnrepairable(context.duties, known, range)
  if (reason !== undefined) throw new Error(reason)
  const progress = run.requestRepair(range)
  run.wakeUp.wake()
  return progress
}

function requireRun(
  context: Pick<ValidatorsContext, 'validators'>,
  network: unknown,
): { readonly known: Network; readonly run: IngestRun } {
  const known = typeof network === 'string' ? network : undefined
  const run = known === undefined ? undefined : findRun(context, known)
  if (known !== undefined && run) return { known, run }
  const setting = `validators.networks.${known ?? 'NAME'}.beacon.urls`
  const todo = `Set ${setting} and restart it. If several servers share the database, run the command on the one that ingests`
  throw new Error(`the running server does not ingest ${known ?? 'this network'}. ${todo}`)
}

function parseRange(value: unknown): Range {
  const { from, until } = (value ?? {}) as { from?: unknown; until?: unknown }
  const isRange = [from, until].every((epoch) => Number.isSafeInteger(epoch) && (epoch as number) >= 0)
  if (!isRange) throw new Error('epochs must be {from, until} with two whole numbers')
  return { from: from as number, until: until as number }
}
