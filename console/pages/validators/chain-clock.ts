// Start times of epochs, computed from any record that contains epochs and times: all epochs have the same length.
import type { EffectivenessRecord } from '#api/contract/wire/validators.ts'

export interface ChainClock {
  readonly epoch: number
  readonly unix: number
  readonly epochSeconds: number
}

type EpochTimes = Pick<EffectivenessRecord, 'startEpoch' | 'endEpoch' | 'startTimestamp' | 'endTimestamp'>

export function clockOf({ startEpoch, endEpoch, startTimestamp, endTimestamp }: EpochTimes): ChainClock | undefined {
  if (startEpoch === null || endEpoch === null || startTimestamp === null || endTimestamp === null) return undefined
  const [unix, until] = [Date.parse(startTimestamp) / 1000, Date.parse(endTimestamp) / 1000]
  const epochSeconds = (until - unix) / (endEpoch + 1 - startEpoch)
  return Number.isFinite(epochSeconds) && epochSeconds > 0 ? { epoch: startEpoch, unix, epochSeconds } : undefined
}

export const unixOf = (clock: ChainClock, epoch: number): number =>
  clock.unix + (epoch - clock.epoch) * clock.epochSeconds
