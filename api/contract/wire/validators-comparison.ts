// Endpoint of group C beyond the specification: validators compared with all validators of their network
// (behaviour/validators.md#comparison-with-the-network).
import {
  Address,
  boolean,
  Count,
  endpoint,
  every,
  Flag,
  integer,
  many,
  Num,
  nullable,
  oneOf,
  record,
  type Static,
  Text,
  Type,
} from '../kit.ts'
import { network, Pubkey, ValidatorIndex } from './validators.ts'
import { figureDescriptions } from './validators-descriptions.ts'

/** Figures that are compared. Also those that a programme may use. */
export const comparedFigures = ['uptime', 'attesterEffectiveness', 'validatorEffectiveness'] as const
export type ComparedFigure = (typeof comparedFigures)[number]

/** Validators of one request. */
export const comparedMax = 1000
export const comparedDaysMax = 90

const compared = {
  value: { ...nullable(Num), description: 'Figure of the validator over these days; null: no duties.' },
  difference: {
    ...nullable(Num),
    description: 'Figure of the validator minus that of the network, in points of 0 to 100.',
  },
}
const ranked = (description: string) =>
  record(description, {
    ...compared,
    percentile: {
      ...nullable(Num),
      description:
        'Share of the network’s validators that are lower, in percent: mean of the days, interpolated between the percentiles 1, 5, 10, 25, 50, 75, 90, 95 and 99.',
    },
  })

const ProgrammeResult = Type.Object({
  name: { ...Text, description: 'Name of the programme in the settings of the server.' },
  figure: oneOf(comparedFigures, { description: 'Figure that the programme looks at.' }),
  days: { ...Count, description: 'Complete days of the period of the programme.' },
  value: { ...nullable(Num), description: 'Figure of the validator over these days.' },
  threshold: { ...nullable(Num), description: 'Mean of the network minus the points of the programme.' },
  margin: { ...nullable(Num), description: 'Value minus threshold, in points of 0 to 100.' },
  isBelow: { ...nullable(Flag), description: 'Whether the value is not above the threshold; null: there is no value.' },
})

export const ComparedValidator = Type.Object({
  validatorIndex: { ...Count, description: 'Index of the validator.' },
  days: { ...Count, description: 'Complete days in which the validator had duties that are stored.' },
  uptime: record('Uptime, 0 to 1.', compared),
  attesterEffectiveness: ranked('Attester effectiveness, 0 to 100.'),
  validatorEffectiveness: ranked('Validator effectiveness, 0 to 100.'),
  programmes: Type.Array(ProgrammeResult, { description: 'Programmes of the server that apply to the validator.' }),
})
export type ComparedValidator = Static<typeof ComparedValidator>

export const comparison = endpoint('validators.comparison', {
  summary: 'Compare validators with their network, and with the thresholds of programmes.',
  notes:
    'Name the validators in one way: `indices`, `pubkeys`, `pool`, `nodeOperator`, `depositAddress`, `withdrawalAddress` or `watched`, up to 1 000 of them. The network is all its validators, also if the server stores only a watch list. Only chain days count whose summary covers all epochs; the others are in `partialDays`. The uptime of several days is the ratio of their sums, effectiveness is the mean over validators and days.',
  input: Type.Object({
    network,
    indices: Type.Optional(
      many(ValidatorIndex, { minItems: 1, maxItems: comparedMax, description: 'Validators by index.' }),
    ),
    pubkeys: Type.Optional(
      many(Pubkey, { minItems: 1, maxItems: comparedMax, description: 'Validators by public key.' }),
    ),
    pool: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Name of the pool.' })),
    nodeOperator: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Name of a node operator.' })),
    depositAddress: Type.Optional({ ...Address, description: 'Sender of a deposit.' }),
    withdrawalAddress: Type.Optional({ ...Address, description: 'Withdrawal address.' }),
    watched: boolean(false, 'Validators on the watch list of this server.'),
    days: integer(28, 1, comparedDaysMax, 'The last chain days that have a summary.'),
  }),
  reply: Type.Object({
    startDay: { ...nullable(Count), description: 'First chain day; null: no day has a summary yet.' },
    endDay: { ...nullable(Count), description: 'Last chain day.' },
    startDate: { ...nullable(Text), description: 'UTC date at the start of `startDay`.' },
    endDate: { ...nullable(Text), description: 'UTC date at the start of `endDay`.' },
    days: { ...Count, description: 'Complete days, which are compared.' },
    partialDays: Type.Array(Count, {
      description: 'Chain days of the period without a summary of all their epochs. They do not count.',
    }),
    network: record('Figures of all validators.', every(nullable(Num), comparedFigures, figureDescriptions)),
    validators: Type.Array(ComparedValidator, { description: 'In order of indices.' }),
  }),
  faults: ['record.not_found', 'validators.not_read', 'validators.windows_changed'],
  example: {
    input: { indices: [12], days: 28 },
    reply: {
      ...{ startDay: 8, endDay: 35, startDate: '2026-10-19', endDate: '2026-11-15', days: 28, partialDays: [] },
      network: { uptime: 0.9951, attesterEffectiveness: 96.41, validatorEffectiveness: 96.38 },
      validators: [
        {
          validatorIndex: 12,
          days: 28,
          uptime: { value: 0.942, difference: -5.31 },
          attesterEffectiveness: { value: 91.2, difference: -5.21, percentile: 4.2 },
          validatorEffectiveness: { value: 91.2, difference: -5.18, percentile: 4.4 },
          programmes: [
            {
              ...{ name: 'csm', figure: 'uptime', days: 28, value: 0.942, threshold: 0.9451 },
              ...{ margin: -0.31, isBelow: true },
            },
          ],
        },
      ],
    },
  },
})
