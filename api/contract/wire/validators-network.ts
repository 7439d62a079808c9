// Endpoints of group C beyond the specification: the whole network over the last days.
import { Count, endpoint, Num, nullable, type Static, Type, Whole } from '../kit.ts'
import { network } from './validators.ts'
import { averages, timeWindow, validatorCount } from './validators-operators.ts'

export const networkStats = endpoint('validators.networkStats', {
  summary: 'The figures of the whole network on the last day.',
  notes: 'One record about the last chain day that has a summary; an empty list if there is none yet.',
  input: Type.Object({ network }),
  reply: Type.Array(
    Type.Object({ day: { ...Count, description: 'Number of the chain day since genesis.' }, ...averages }),
  ),
  faults: ['validators.windows_changed'],
  example: {
    input: {},
    reply: [
      {
        day: 35,
        avgValidatorEffectiveness: 96.47,
        avgCorrectness: 0.9874,
        avgInclusionDelay: 1.02,
        avgUptime: 0.9912,
      },
    ],
  },
})

const share = (description: string) => ({ ...nullable(Num), description })

export const NetworkOverview = Type.Object({
  timeWindow,
  startDay: { ...Count, description: 'First chain day.' },
  endDay: { ...Count, description: 'Last chain day.' },
  latestEpoch: { ...Count, description: 'Last epoch of `endDay`.' },
  validatorCount,
  ...averages,
  medianValidatorEffectiveness: share('Median of the validators: mean of the days, 0 to 100.'),
  sumMissedSlots: { ...nullable(Whole), description: 'Slots whose proposer proposed no block.' },
  missedSlotsPercentage: share('Share of these slots, in percent.'),
})
export type NetworkOverview = Static<typeof NetworkOverview>

export const networkOverview = endpoint('validators.networkOverview', {
  summary: 'Means and medians of the whole network over the last 1, 7 and 30 days.',
  notes: 'One record for each window; an empty list if no day has a summary yet.',
  input: Type.Object({ network }),
  reply: Type.Array(NetworkOverview),
  faults: ['validators.windows_changed'],
  example: {
    input: {},
    reply: [
      {
        timeWindow: '7d',
        startDay: 29,
        endDay: 35,
        latestEpoch: 8099,
        validatorCount: 100,
        avgValidatorEffectiveness: 96.41,
        avgCorrectness: 0.9874,
        avgInclusionDelay: 1.02,
        avgUptime: 0.9912,
        medianValidatorEffectiveness: 98.2,
        sumMissedSlots: 7,
        missedSlotsPercentage: 1.5625,
      },
    ],
  },
})
