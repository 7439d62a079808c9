// The length of a slot, and the time in it at which duties are due: basis points of the slot, which change with forks.
import { recordFrom } from '#core/record-from.ts'

/** Returns a constant of the node's list, or the value of mainnet if the node omits it. Throws if it is not valid. */
type ReadConstant = (name: string, mainnet: number) => number

const timedDuties = ['attestation', 'payloadAttestation'] as const
type TimedDuty = (typeof timedDuties)[number]

interface DueTime {
  readonly fromEpoch: number
  readonly bps: number
}

/** By duty, in order of the forks. */
export type DueTimes = Readonly<Record<TimedDuty, readonly DueTime[]>>

const bpsMax = 10_000

/** Constant, its value on mainnet, and the fork with which it begins to apply. */
const dueConstants: Readonly<Record<TimedDuty, readonly (readonly [name: string, mainnet: number, fork: string])[]>> = {
  attestation: [
    ['ATTESTATION_DUE_BPS', 3333, 'phase0'],
    ['ATTESTATION_DUE_BPS_GLOAS', 2500, 'gloas'],
  ],
  payloadAttestation: [['PAYLOAD_ATTESTATION_DUE_BPS', 7500, 'gloas']],
}

/** `forkEpoch`: the first epoch of a fork; Infinity if it is not scheduled. */
export const readDueTimes = (read: ReadConstant, forkEpoch: (fork: string) => number): DueTimes =>
  recordFrom(timedDuties, (duty) =>
    dueConstants[duty].map(([name, mainnet, fork]) => {
      const bps = read(name, mainnet)
      if (bps > bpsMax) throw new Error(`${name} is ${bps}; a slot has ${bpsMax} basis points`)
      return { bps, fromEpoch: fork === 'phase0' ? 0 : forkEpoch(fork) }
    }),
  )

/** Milliseconds from the start of a slot until a duty is due. Undefined: there is no such duty in this epoch. */
export function dueMs(
  { dueTimes, slotSeconds }: { readonly dueTimes: DueTimes; readonly slotSeconds: number },
  duty: TimedDuty,
  epoch: number,
): number | undefined {
  const due = dueTimes[duty].findLast(({ fromEpoch }) => epoch >= fromEpoch)
  return due && Math.floor((slotSeconds * 1000 * due.bps) / bpsMax)
}

/**
 * `SLOT_DURATION_MS` replaces `SECONDS_PER_SLOT`. If they differ, it is right: a client that lists it uses it, and may
 * list the value of mainnet for the other one (docs/beacon-nodes.md).
 */
export function slotSecondsOf(durationMs: number | undefined, seconds: number | undefined): number {
  if (durationMs === undefined) return seconds ?? 12
  if (durationMs % 1000 !== 0) throw new Error(`SLOT_DURATION_MS is ${durationMs}; slots must be whole seconds`)
  return durationMs / 1000
}

const figurePattern = /^\d{1,20}$/

/**
 * Throws if a list `SLOT_DURATION_SCHEDULE` (EIP-8198) changes the length of slots. Chain time has one length for all
 * epochs (core/chain-time.ts), so every date from such an epoch on would be wrong.
 */
export function refuseSlotSchedule(schedule: unknown, slotSeconds: number): void {
  if (schedule == null) return
  if (!Array.isArray(schedule)) throw new Error('SLOT_DURATION_SCHEDULE is not a list')
  for (const entry of schedule as readonly unknown[]) {
    const { EPOCH: epoch, SLOT_DURATION_MS: durationMs } = (entry ?? {}) as Readonly<Record<string, unknown>>
    if (![epoch, durationMs].every((value) => typeof value === 'string' && figurePattern.test(value)))
      throw new Error(
        `SLOT_DURATION_SCHEDULE has the entry ${JSON.stringify(entry)}, without EPOCH or SLOT_DURATION_MS`,
      )
    // FAR_FUTURE_EPOCH means that it is not scheduled.
    if (Number(epoch) > Number.MAX_SAFE_INTEGER || Number(durationMs) === slotSeconds * 1000) continue
    throw new Error(
      `SLOT_DURATION_SCHEDULE changes slots to ${durationMs} ms at epoch ${epoch}. This version of Tetrad does not ` +
        'support slots that change their length; update Tetrad',
    )
  }
}
