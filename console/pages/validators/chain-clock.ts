// Start times of epochs, computed from any record that contains epochs and times: all epochs have the same length.

export interface ChainClock {
  readonly epoch: number
  readonly unix: number
  readonly epochSeconds: number
}

interface EpochTimes {
  readonly startEpoch: number | null
  readonly endEpoch: number | null
  readonly startTimestamp: string | null
  readonly endTimestamp: string | null
}

export function clockOf({ startEpoch, endEpoch, startTimestamp, endTimestamp }: EpochTimes): ChainClock | undefined {
  if (startEpoch === null || endEpoch === null || startTimestamp === null || endTimestamp === null) return undefined
  const [unix, until] = [Date.parse(startTimestamp) / 1000, Date.parse(endTimestamp) / 1000]
  const epochSeconds = (until - unix) / (endEpoch + 1 - startEpoch)
  return Number.isFinite(epochSeconds) && epochSeconds > 0 ? { epoch: startEpoch, unix, epochSeconds } : undefined
}

export const unixOf = (clock: ChainClock, epoch: number): number =>
  clock.unix + (epoch - clock.epoch) * clock.epochSeconds

export interface Epochs {
  readonly activationEligibilityEpoch: number | null
  readonly activationEpoch: number | null
  readonly exitEpoch: number | null
  readonly withdrawableEpoch: number | null
}

export type ValidatorStatus = 'pending' | 'active' | 'exiting' | 'exited' | 'withdrawable'

/** The status of a validator at epoch `now`. */
export function validatorStatus(epochs: Epochs, now: number): ValidatorStatus {
  const { activationEpoch, exitEpoch, withdrawableEpoch } = epochs
  if (withdrawableEpoch !== null && withdrawableEpoch <= now) return 'withdrawable'
  if (exitEpoch !== null) return exitEpoch <= now ? 'exited' : 'exiting'
  return activationEpoch !== null && activationEpoch <= now ? 'active' : 'pending'
}
