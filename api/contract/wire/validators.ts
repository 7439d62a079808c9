// Group C of the specification: effectiveness, aggregated and per validator (validators-metadata.ts: metadata).
import {
  BigWhole,
  boolean,
  Count,
  choice,
  DateTime,
  each,
  endpoint,
  every,
  integer,
  many,
  Num,
  nullable,
  oneOf,
  PatternText,
  type Static,
  Text,
  Type,
  Whole,
  withDefault,
} from '../kit.ts'
import { type Network, networkNamePattern, networks } from './networks.ts'
import {
  figureDescriptions,
  metadataDescriptions,
  sumDescriptions,
  windowDescriptions,
} from './validators-descriptions.ts'

export { type Network, networks }

/** The specification shows no maxima (behaviour/validators.md#page-limits). */
export const pageSizeMax = 1000
export const namedMax = 10_000

export const ValidatorIndex = Type.Integer({ minimum: 0, maximum: 2 ** 40 - 1 })
export const Pubkey = PatternText(
  '^(0x)?[0-9a-fA-F]{96}$',
  'be a public key: 96 hexadecimal digits, with or without 0x',
)
export const IndexOrPubkey = PatternText(
  '^(\\d{1,12}|(0x)?[0-9a-fA-F]{96})$',
  'be a validator index, or a public key of 96 hexadecimal digits with or without 0x',
  { description: 'Validator index, or public key with or without 0x.' },
)
/** A server accepts the names that it has (`withNetworks`). */
export const network = withDefault(
  Type.Unsafe<Network>({
    type: 'string',
    pattern: networkNamePattern,
    'x-must': 'be mainnet, hoodi, holesky or another network of the server',
    examples: networks,
    description:
      'The beacon chain network: mainnet, hoodi, holesky, or another one that the server has. ' +
      'Its `/openapi.json` lists them.',
  }),
  'mainnet',
)
const moment = (what: string) =>
  Type.String({
    minLength: 1,
    maxLength: 40,
    description: `${what}: day number, hour number, or ISO 8601 date or time, depending on \`filterType\`.`,
  })

export const ratios = [
  'attesterEffectiveness',
  'avgCorrectness',
  'avgInclusionDelay',
  'uptime',
  'validatorEffectiveness',
] as const

// biome-ignore format: lists of names read better with several names per line
export const counts = [
  'day', 'startDay', 'endDay', 'startEpoch', 'endEpoch', 'earnings', 'estimatedPenalties', 'estimatedRewards',
  'executionProposedEmptyCount', 'proposedCount', 'proposerDutiesCount', 'slashesCollected', 'slashesReceived',
  'syncSignatureCount', 'totalAttestationAssignments', 'totalAttestations', 'totalUniqueAttestations',
] as const

// biome-ignore format: lists of names read better with several names per line
export const sums = [
  'sumAllRewards', 'sumAttestationRewards', 'sumBaselineMev', 'sumConsensusBlockRewards', 'sumCorrectHead',
  'sumCorrectSource', 'sumCorrectTarget', 'sumExternallySourcedExecutionRewards', 'sumInclusionDelay',
  'sumLateSourcePenalties', 'sumLateSourceVotes', 'sumLateTargetPenalties', 'sumLateTargetVotes',
  'sumMissedAttestationPenalties', 'sumMissedAttestationRewards', 'sumMissedAttestations',
  'sumMissedConsensusBlockRewards', 'sumMissedExecutionRewards', 'sumMissedSyncCommitteeRewards', 'sumPriorityFees',
  'sumSyncCommitteePenalties', 'sumWrongHeadPenalties', 'sumWrongHeadVotes', 'sumWrongTargetPenalties',
  'sumWrongTargetVotes',
] as const

export const aggregateFields = [...ratios, ...counts, ...sums] as const
export type AggregateField = (typeof aggregateFields)[number]
const includable = ['validatorIndex', ...aggregateFields] as const

/** Fields that are unknown or do not apply to the window are absent (behaviour/validators.md#unknown-values). */
export const AggregateRecord = Type.Object({
  validatorIndex: Type.Optional({ ...Count, description: 'Index of the validator; only with `groupBy=validator`.' }),
  ...each(Num, ratios, figureDescriptions),
  ...each(BigWhole, [...counts, ...sums], {
    ...windowDescriptions,
    ...sumDescriptions,
    day: 'Number of the day since genesis; only if the granularity is `day`.',
  }),
})
export type AggregateRecord = Static<typeof AggregateRecord>

export const Page = Type.Object({
  filterType: { ...Text, description: 'As in the request.' },
  granularity: { ...Text, description: 'As in the request; default `day`.' },
  size: { ...Count, description: 'As in the request.' },
})

export const AggregatePage = Type.Object({
  data: Type.Array(AggregateRecord, { description: 'Newest window first, then by index.' }),
  next: { ...nullable(Text), description: 'Path and query of the next page; null on the last page.' },
  page: { ...Page, description: 'The parameters that this page was read with.' },
  total: {
    ...Count,
    description:
      'Number of records from the start of this page on. On the first page: of all records that match the filters.',
  },
})

// biome-ignore format: lists of names read better with several names per line
export const effectivenessIntegers = [
  'validatorIndex', 'hour', 'day', 'startDay', 'endDay', 'startEpoch', 'endEpoch', 'startSlot', 'endSlot',
] as const
export const effectivenessNumbers = [
  'avgCorrectness',
  'avgInclusionDelay',
  'sumInclusionDelay',
  'uptime',
  'attesterEffectiveness',
  'proposerEffectiveness',
  'validatorEffectiveness',
] as const

/** Fields that do not apply to the granularity are null (behaviour/validators.md#time-fields). */
export const EffectivenessRecord = Type.Object({
  ...every(nullable(Whole), effectivenessIntegers, {
    ...windowDescriptions,
    validatorIndex: metadataDescriptions.validatorIndex,
  }),
  ...every(nullable(Text), ['startDate', 'endDate', 'date'], windowDescriptions),
  ...every(nullable(DateTime), ['startTimestamp', 'endTimestamp'], windowDescriptions),
  ...every(nullable(Num), effectivenessNumbers, figureDescriptions),
})
export type EffectivenessRecord = Static<typeof EffectivenessRecord>

/** Links to the other pages, in every response about one validator. */
export const pageLinks = {
  previous: { ...nullable(Text), description: 'URL of the previous page; null on the first page.' },
  next: { ...nullable(Text), description: 'URL of the next page; null on the last page.' },
  pages: { ...Count, description: 'Number of pages of this size.' },
}

export const EffectivenessPage = Type.Object({
  ...pageLinks,
  results: Type.Array(EffectivenessRecord, { description: 'In the requested order.' }),
})

/** One text, or one entry per parameter problem. */
export const ValidatorsFailure = Type.Object({
  detail: Type.Union(
    [
      Text,
      Type.Array(
        Type.Object({
          loc: Type.Array(Text, {
            description: 'Where the problem is, such as `query` and the name of the parameter.',
          }),
          msg: { ...Text, description: 'What is wrong.' },
          type: { ...Text, description: 'Kind of the problem.' },
        }),
      ),
    ],
    { description: 'What went wrong: a text, or a list of problems with parameters.' },
  ),
})
export type ValidatorsFailure = Static<typeof ValidatorsFailure>

export const aggregateEffectiveness = endpoint('validators.aggregateEffectiveness', {
  summary: 'Effectiveness over many validators or windows of time, newest window first.',
  notes:
    'Give either `pubkeys` or `indices`, 1 to 10 000 of them. **Pages go back in time: a lone `from` means from there back, not from there on.** The last 30 days: `groupBy=timeWindow&size=30`, without bounds. Days 5 to 9: `from=9&to=5`. From day 5 on: `to=5`. Both bounds are inclusive and may be given in either order. Without the newer one, the first page starts with the newest epoch that has been read; without the older one, pages go back to the first. `next` has your parameters as you wrote them, with the `from` of the next page. Amounts are in gwei. `x-tetrad-method` is the version of the method.',
  input: Type.Object({
    network,
    pubkeys: Type.Optional(many(Pubkey, { minItems: 1, maxItems: namedMax, description: 'Validators by public key.' })),
    indices: Type.Optional(
      many(ValidatorIndex, { minItems: 1, maxItems: namedMax, description: 'Validators by index.' }),
    ),
    from: Type.Optional(moment('Newest window of the page')),
    to: Type.Optional(moment('Oldest window of the last page')),
    filterType: choice(['hour', 'day', 'datetime'], 'day', 'Type of `from` and `to`.'),
    size: integer(10, 0, pageSizeMax, 'Records per page; 0 returns only the total.'),
    granularity: Type.Optional(
      oneOf(['day', 'week', 'month', 'quarter', 'year', 'all'], { description: 'Window of one record; default: day.' }),
    ),
    groupBy: choice(
      ['timeWindow', 'validator'],
      'validator',
      'One record per window over all validators, or one per validator and window.',
    ),
    include: Type.Optional(
      many(oneOf(includable), {
        maxItems: includable.length,
        description: 'Fields to include in each record; default: all. Records of one validator always have its index.',
      }),
    ),
    after: Type.Optional({
      ...ValidatorIndex,
      description: 'Set by `next` if a page ends inside a window: last validator index of the previous page.',
    }),
  }),
  reply: AggregatePage,
  faults: ['validators.not_read', 'validators.windows_changed'],
  example: {
    input: { indices: [12, 34], size: 1, groupBy: 'timeWindow' },
    reply: {
      data: [
        {
          day: 2174,
          startDay: 2174,
          endDay: 2174,
          startEpoch: 489150,
          endEpoch: 489374,
          attesterEffectiveness: 98.712,
          validatorEffectiveness: 98.712,
          avgCorrectness: 0.9941,
          avgInclusionDelay: 1.0044,
          uptime: 0.9978,
          earnings: 5012345,
          estimatedPenalties: -10412,
        },
      ],
      next: '/v0/eth/validators/effectiveness?indices=12,34&size=1&groupBy=timeWindow&from=2173',
      page: { filterType: 'day', granularity: 'day', size: 1 },
      total: 60,
    },
  },
})

/** Inputs of endpoints that return pages of days of one validator. */
export const daysOfOne = (what: string, limitMax: number) => ({
  validator_index_or_pubkey: IndexOrPubkey,
  limit: integer(10, 1, limitMax, `${what} per page.`),
  offset: integer(0, 0, 2 ** 31, `${what} to skip.`),
  fromDate: Type.Optional(Type.String({ format: 'date', description: 'First date, included.' })),
  toDate: Type.Optional(Type.String({ format: 'date', description: 'Last date, included.' })),
  fromDay: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31, description: 'First day number, included.' })),
  toDay: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31, description: 'Last day number, included.' })),
  utc: boolean(false, 'UTC days instead of chain days.'),
})

/** Errors about one validator, whose identity and duties may not have been read. */
export const oneValidatorFaults = [
  'record.not_found',
  'validators.not_covered',
  'validators.not_read',
  'validators.not_watched',
] as const

/** Errors of endpoints that return pages of days of one validator. */
export const daysOfOneFaults = [...oneValidatorFaults, 'validators.windows_changed'] as const

export const effectiveness = endpoint('validators.effectiveness', {
  summary: 'Effectiveness of one validator over time.',
  notes:
    'In ascending order by day, unless `sortBy` or `sortOrder` is given. `utc=true` uses UTC days instead of chain days of 225 epochs. `x-tetrad-method` is the version of the method.',
  input: Type.Object({
    network,
    ...daysOfOne('Records', pageSizeMax),
    sortBy: Type.Optional(
      oneOf([...effectivenessIntegers, ...effectivenessNumbers], {
        description: 'Numeric field to sort by; default: the window.',
      }),
    ),
    sortOrder: choice(['asc', 'desc'], 'asc', 'Sort order.'),
    granularity: choice(['hour', 'day', 'week', 'month', 'quarter', 'year', 'all'], 'day', 'Window of one record.'),
  }),
  reply: EffectivenessPage,
  faults: daysOfOneFaults,
  example: {
    input: { validator_index_or_pubkey: '12', limit: 1 },
    reply: {
      previous: null,
      next: 'http://127.0.0.1:8080/v1/eth/validators/12/effectiveness?limit=1&offset=1',
      pages: 60,
      results: [
        {
          validatorIndex: 12,
          hour: null,
          day: 2115,
          startDay: 2115,
          endDay: 2115,
          startEpoch: 475875,
          endEpoch: 476099,
          startSlot: 15228000,
          endSlot: 15235199,
          startDate: '2026-09-16',
          endDate: '2026-09-17',
          date: '2026-09-16',
          startTimestamp: '2026-09-16T12:00:23.000Z',
          endTimestamp: '2026-09-17T12:00:23.000Z',
          avgCorrectness: 0.9941,
          avgInclusionDelay: 1.0044,
          sumInclusionDelay: 226,
          uptime: 1,
          attesterEffectiveness: 98.97,
          proposerEffectiveness: null,
          validatorEffectiveness: 98.97,
        },
      ],
    },
  },
})
