// Endpoint of group C beyond the specification: the ratings of pools and node operators
// (behaviour/validators.md#pools-and-operators).
import {
  Count,
  choice,
  endpoint,
  every,
  integer,
  Num,
  nullable,
  record,
  type Static,
  Text,
  Type,
  Whole,
} from '../kit.ts'
import { network, pageSizeMax } from './validators.ts'
import { figureDescriptions, sumDescriptions } from './validators-descriptions.ts'

export const entityKinds = ['pool', 'operator'] as const
export type EntityKind = (typeof entityKinds)[number]

/** Days of each period. A few fixed periods, so that the server can cache all of them. */
export const periodDays = { day: 1, week: 7, month: 30, quarter: 90 } as const
export type Period = keyof typeof periodDays
const periods = ['day', 'week', 'month', 'quarter'] as const satisfies readonly Period[]

export const entityRatios = [
  'validatorEffectiveness',
  'attesterEffectiveness',
  'proposerEffectiveness',
  'uptime',
  'avgCorrectness',
  'avgInclusionDelay',
] as const

export const entitySums = [
  'earnings',
  'sumAllRewards',
  'estimatedPenalties',
  'sumMissedAttestations',
  'proposerDutiesCount',
  'proposedCount',
  'slashesReceived',
] as const

const figures = {
  validators: { ...nullable(Count), description: 'Validators with duties on the last day; null: none.' },
  ...every(nullable(Num), entityRatios, figureDescriptions),
  ...every(nullable(Whole), entitySums, sumDescriptions),
  earningsPerDay: { ...nullable(Num), description: 'Earnings per validator and day, in gwei.' },
  history: Type.Array(nullable(Num), {
    description: 'Validator effectiveness of each day from `startDay` to `endDay`; null: not known.',
  }),
}

export const RatedEntity = Type.Object({
  name: { ...Text, description: 'Name of the pool or operator.' },
  ...figures,
  networkPercentile: {
    ...nullable(Num),
    description:
      'Share of the network’s validators that have a lower effectiveness, in percent: mean of its validators and of the days, interpolated. The network itself has 50.',
  },
})
export type RatedEntity = Static<typeof RatedEntity>

export const entitySorts = ['name', 'validators', 'validatorEffectiveness', 'uptime', 'earningsPerDay'] as const

export const entities = endpoint('validators.entities', {
  summary: 'List pools or node operators with their ratings, worst first.',
  notes:
    'Figures are sums of daily summaries, which the server writes when a chain day is over. Read further pages with `offset`. Entities without a value are last in either order.',
  input: Type.Object({
    network,
    kind: choice(entityKinds, 'pool', 'Pools or node operators.'),
    q: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'Part of the name; case does not matter.' }),
    ),
    period: choice(periods, 'month', 'The last 1, 7, 30 or 90 chain days that have a summary.'),
    sort: choice(entitySorts, 'validatorEffectiveness', 'Field to sort by.'),
    sortOrder: choice(['asc', 'desc'], 'asc', 'Ascending or descending.'),
    limit: integer(100, 1, pageSizeMax, 'Entities per page.'),
    offset: integer(0, 0, 1_000_000, 'Entities to skip.'),
  }),
  reply: Type.Object({
    startDay: { ...nullable(Count), description: 'First chain day; null: no day has a summary yet.' },
    endDay: { ...nullable(Count), description: 'Last chain day.' },
    startDate: { ...nullable(Text), description: 'UTC date at the start of `startDay`.' },
    endDate: { ...nullable(Text), description: 'UTC date at the start of `endDay`.' },
    network: record('All validators of the network.', {
      ...figures,
      percentiles: Type.Array(Num, { description: 'Which percentiles `distribution` has.' }),
      distribution: Type.Array(nullable(Type.Array(Num)), {
        description:
          'By day: for each of `percentiles`, the validator effectiveness that this share of the validators does not exceed; null: not known.',
      }),
    }),
    entities: Type.Array(RatedEntity, { description: 'In the requested order.' }),
    total: { ...Count, description: 'Number of entities on all pages.' },
  }),
  faults: ['validators.windows_changed'],
  example: {
    input: { q: 'lantern', period: 'week', limit: 1 },
    reply: {
      startDay: 29,
      endDay: 35,
      startDate: '2026-11-09',
      endDate: '2026-11-15',
      network: {
        validators: 100,
        validatorEffectiveness: 96.41,
        attesterEffectiveness: 96.5,
        proposerEffectiveness: 97.1,
        uptime: 0.9912,
        avgCorrectness: 0.9874,
        avgInclusionDelay: 1.02,
        earnings: 1834050112,
        sumAllRewards: 1903344870,
        estimatedPenalties: -8123400,
        sumMissedAttestations: 74,
        proposerDutiesCount: 448,
        proposedCount: 441,
        slashesReceived: 0,
        earningsPerDay: 2620071.59,
        history: [96.2, 96.9, 96.4, 95.8, 96.6, 96.5, 96.47],
        percentiles: [10, 50, 90],
        distribution: [
          [93.1, 98.2, 99.9],
          [94, 98.4, 100],
          [93.8, 98.1, 99.9],
          [92.9, 97.9, 99.8],
          [93.3, 98.2, 99.9],
          [93.5, 98.3, 100],
          [93.2, 98.2, 99.9],
        ],
      },
      entities: [
        {
          name: 'Lantern Pool',
          validators: 24,
          validatorEffectiveness: 97.02,
          attesterEffectiveness: 97.1,
          proposerEffectiveness: 98.3,
          uptime: 0.9931,
          avgCorrectness: 0.9902,
          avgInclusionDelay: 1.01,
          earnings: 441260012,
          sumAllRewards: 458000210,
          estimatedPenalties: -1210000,
          sumMissedAttestations: 12,
          proposerDutiesCount: 108,
          proposedCount: 107,
          slashesReceived: 0,
          earningsPerDay: 2626547.69,
          history: [97.2, 97.4, 96.9, 96.6, 97.0, 97.1, 96.94],
          networkPercentile: 41.7,
        },
      ],
      total: 1,
    },
  },
})
