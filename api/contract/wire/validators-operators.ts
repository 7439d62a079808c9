// Endpoints of group C beyond the specification: pools and node operators over the last days
// (behaviour/validators.md#operators).
import {
  BigWhole,
  Count,
  choice,
  endpoint,
  every,
  integer,
  Num,
  nullable,
  oneOf,
  type Static,
  Text,
  Type,
  Whole,
} from '../kit.ts'
import { AggregatePage, aggregateEffectiveness, network, Page, pageSizeMax, sums } from './validators.ts'
import { figureDescriptions, sumDescriptions, windowDescriptions } from './validators-descriptions.ts'
import type { EntityKind, Period } from './validators-entities.ts'
import { ListPage } from './validators-list.ts'

export const operatorIdTypes = ['pool', 'nodeOperator'] as const
export type OperatorIdType = (typeof operatorIdTypes)[number]
export const kindOfIdType = { pool: 'pool', nodeOperator: 'operator' } as const satisfies Record<
  OperatorIdType,
  EntityKind
>

export const timeWindows = ['1d', '7d', '30d'] as const
export type TimeWindow = (typeof timeWindows)[number]
export const periodOfWindow = { '1d': 'day', '7d': 'week', '30d': 'month' } as const satisfies Record<
  TimeWindow,
  Period
>

const operator_id = Type.String({ minLength: 1, maxLength: 200, description: 'Name of a pool or node operator.' })
const optionalIdType = Type.Optional(
  oneOf(operatorIdTypes, { description: 'What the name is; default: a pool, or else a node operator.' }),
)
const idType = choice(operatorIdTypes, 'pool', 'Pools or node operators.')
const window = choice(timeWindows, '30d', 'The last 1, 7 or 30 chain days that have a summary.')

const identity = {
  id: { ...Text, description: 'Name of the pool or node operator.' },
  idType: oneOf(operatorIdTypes, { description: 'Pool or node operator.' }),
}
const operatorTags = Type.Array(Text, { description: 'Always empty.' })
const displayName = { ...Text, description: 'The same as `id`.' }
export const timeWindow = oneOf(timeWindows, { description: 'The window of the figures.' })
export const validatorCount = { ...nullable(Count), description: 'Validators with duties on the last day; null: none.' }
const networkPenetration = {
  ...nullable(Num),
  description: "Share of the network's validators on the last day, 0 to 1.",
}
const ratioDescriptions = {
  avgAttesterEffectiveness: figureDescriptions.attesterEffectiveness,
  avgProposerEffectiveness: figureDescriptions.proposerEffectiveness,
  avgValidatorEffectiveness: figureDescriptions.validatorEffectiveness,
  avgCorrectness: figureDescriptions.avgCorrectness,
  avgInclusionDelay: figureDescriptions.avgInclusionDelay,
  avgUptime: figureDescriptions.uptime,
}
export const operatorRatios = Object.keys(ratioDescriptions) as (keyof typeof ratioDescriptions)[]
export const averages = every(
  nullable(Num),
  ['avgValidatorEffectiveness', 'avgCorrectness', 'avgInclusionDelay', 'avgUptime'],
  ratioDescriptions,
)

export const OperatorSummary = Type.Object({
  ...identity,
  displayName,
  timeWindow,
  validatorCount,
  networkPenetration,
  ...averages,
  clientPercentages: Type.Array(Text, { description: 'Always empty: not known.' }),
  relayerPercentages: Type.Array(Text, { description: 'Always empty: not known.' }),
  operatorTags,
})
export type OperatorSummary = Static<typeof OperatorSummary>

const summary: OperatorSummary = {
  id: 'Lantern Pool',
  idType: 'pool',
  displayName: 'Lantern Pool',
  timeWindow: '7d',
  validatorCount: 24,
  networkPenetration: 0.24,
  avgValidatorEffectiveness: 97.02,
  avgCorrectness: 0.9902,
  avgInclusionDelay: 1.01,
  avgUptime: 0.9931,
  clientPercentages: [],
  relayerPercentages: [],
  operatorTags: [],
}

export const operators = endpoint('validators.operators', {
  summary: 'Pools or node operators with their ratings, largest first.',
  notes:
    'Figures are sums of daily summaries, which the server writes when a chain day is over. `validators.entities` has more figures, other orders and a search.',
  input: Type.Object({
    network,
    window,
    idType,
    poolType: choice(['all'], 'all', 'Type of the pools. Types are not known, so only `all` is accepted.'),
    from: integer(0, 0, 1_000_000, 'Operators to skip.'),
    size: integer(100, 1, pageSizeMax, 'Operators per page.'),
  }),
  reply: Type.Object({
    page: { ...ListPage, description: 'The parameters that this page was read with.' },
    total: { ...Count, description: 'Number of operators on all pages.' },
    data: Type.Array(OperatorSummary, { description: 'Largest first, then by name.' }),
    next: { ...nullable(Text), description: 'Path and query of the next page; null on the last page.' },
  }),
  faults: ['validators.windows_changed'],
  example: {
    input: { window: '7d', size: 1 },
    reply: {
      page: { from: 0, size: 1 },
      total: 9,
      data: [summary],
      next: '/v0/eth/operators?window=7d&size=1&from=1',
    },
  },
})

export const operator = endpoint('validators.operator', {
  summary: 'One pool or node operator.',
  notes: 'Whether the imported entities have a pool or node operator of this name. Names match exactly.',
  input: Type.Object({ network, operator_id, idType: optionalIdType }),
  reply: Type.Object({ ...identity, displayName, operatorTags }),
  faults: ['record.not_found'],
  example: {
    input: { operator_id: 'Lantern Pool' },
    reply: { id: 'Lantern Pool', idType: 'pool', displayName: 'Lantern Pool', operatorTags: [] },
  },
})

export const operatorSummary = endpoint('validators.operatorSummary', {
  summary: 'The ratings of one pool or node operator over the last days.',
  notes: 'The record of `validators.operators`.',
  input: Type.Object({ network, operator_id, idType: optionalIdType, window }),
  reply: OperatorSummary,
  faults: ['record.not_found', 'validators.windows_changed'],
  example: { input: { operator_id: 'Lantern Pool', window: '7d' }, reply: summary },
})

/** Sums that have another name in the records of validators. */
export const renamedSums = {
  sumEarnings: 'earnings',
  sumEstimatedRewards: 'estimatedRewards',
  sumEstimatedPenalties: 'estimatedPenalties',
  sumProposedCount: 'proposedCount',
  sumProposerDutiesCount: 'proposerDutiesCount',
  sumExecutionProposedEmptyCount: 'executionProposedEmptyCount',
} as const
const renamed = Object.keys(renamedSums) as (keyof typeof renamedSums)[]

export const operatorSums = ['slashesCollected', 'slashesReceived', 'totalUniqueAttestations', ...sums] as const

/** Unknown values are null. */
export const OperatorRecord = Type.Object({
  ...identity,
  ...every(nullable(Whole), ['day', 'startDay', 'endDay', 'startEpoch', 'endEpoch'], {
    ...windowDescriptions,
    day: 'Number of the chain day since genesis; null unless the granularity is `day`.',
    startDay: 'First day of the window that has a summary.',
    endDay: 'Last day of the window that has a summary.',
    startEpoch: 'First epoch of `startDay`.',
    endEpoch: 'Last epoch of `endDay`.',
  }),
  validatorCount,
  networkPenetration,
  ...every(nullable(Num), operatorRatios, ratioDescriptions),
  ...every(
    nullable(BigWhole),
    renamed,
    Object.fromEntries(renamed.map((name) => [name, sumDescriptions[renamedSums[name]]])),
  ),
  ...every(nullable(BigWhole), operatorSums, sumDescriptions),
})
export type OperatorRecord = Static<typeof OperatorRecord>

// biome-ignore format: figures read better with several per line
const record: OperatorRecord = {
  id: 'Lantern Pool', idType: 'pool',
  day: 35, startDay: 35, endDay: 35, startEpoch: 7875, endEpoch: 8099,
  validatorCount: 24, networkPenetration: 0.24,
  avgAttesterEffectiveness: 97.1, avgProposerEffectiveness: 98.3, avgValidatorEffectiveness: 97.02,
  avgCorrectness: 0.9902, avgInclusionDelay: 1.01, avgUptime: 0.9931,
  sumEarnings: 63_037_144, sumEstimatedRewards: 63_210_000, sumEstimatedPenalties: -172_856,
  sumProposedCount: 15, sumProposerDutiesCount: 15, sumExecutionProposedEmptyCount: 0,
  slashesCollected: 0, slashesReceived: 0, totalUniqueAttestations: 5363, sumAllRewards: null,
  sumAttestationRewards: 58_100_000, sumBaselineMev: null, sumConsensusBlockRewards: 4_110_000,
  sumCorrectHead: 5290, sumCorrectSource: 5360, sumCorrectTarget: 5351,
  sumExternallySourcedExecutionRewards: null, sumInclusionDelay: 5417, sumLateSourcePenalties: 0,
  sumLateSourceVotes: 0, sumLateTargetPenalties: 0, sumLateTargetVotes: 0,
  sumMissedAttestationPenalties: -160_000, sumMissedAttestationRewards: 210_000,
  sumMissedAttestations: 37, sumMissedConsensusBlockRewards: 0, sumMissedExecutionRewards: null,
  sumMissedSyncCommitteeRewards: 0, sumPriorityFees: null, sumSyncCommitteePenalties: 0,
  sumWrongHeadPenalties: 0, sumWrongHeadVotes: 73, sumWrongTargetPenalties: -12_856,
  sumWrongTargetVotes: 12,
}

const { from, to, size } = aggregateEffectiveness.input.properties

export const operatorEffectiveness = endpoint('validators.operatorEffectiveness', {
  summary: 'Effectiveness of one pool or node operator over time, newest window first.',
  notes:
    'From daily summaries: days that are not over, or not summarized yet, are missing. Pages go back in time. `from` and `to` are inclusive and may be given in either order.',
  input: Type.Object({
    network,
    operator_id,
    idType: optionalIdType,
    from,
    to,
    size,
    granularity: choice(['day', 'week', 'month', 'quarter', 'year', 'all'], 'day', 'Window of one record.'),
    filterType: choice(['day', 'datetime'], 'day', 'Type of `from` and `to`.'),
  }),
  reply: Type.Object({
    data: Type.Array(OperatorRecord, { description: 'Newest window first.' }),
    next: AggregatePage.properties.next,
    page: { ...Page, description: 'The parameters that this page was read with.' },
    total: { ...Count, description: 'Number of records from the first one of this page on.' },
  }),
  faults: ['record.not_found', 'validators.windows_changed'],
  example: {
    input: { operator_id: 'Lantern Pool', size: 1 },
    reply: {
      data: [record],
      next: '/v0/eth/operators/Lantern%20Pool/effectiveness?size=1&from=34',
      page: { filterType: 'day', granularity: 'day', size: 1 },
      total: 36,
    },
  },
})
