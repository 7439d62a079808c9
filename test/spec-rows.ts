// The specification's records and parameters as data, copied by hand from its sections 2 and 4, independently of the
// contract. test/spec-rows.test.ts compares them with the contract.

export interface FieldRow {
  readonly group: 'A' | 'B' | 'C' | 'D'
  readonly record: string
  /** With dots for nested fields. */
  readonly field: string
  /** `string`, `number`, `integer`, `boolean`, `date-time`, `uuid`, `array of …` or a record, possibly `or null`. */
  readonly type: string
}

const rows = (group: FieldRow['group'], record: string, type: string, fields: string): FieldRow[] =>
  fields
    .trim()
    .split(/\s+/)
    .map((field) => ({ group, record, field, type }))

/** Section 2. */
export const fieldRows: readonly FieldRow[] = [
  // 2.1
  rows('A', 'Envelope', 'string', `status message`),
  rows('A', 'Envelope', 'varies', `result`),
  rows('A', 'LabelRecord', 'string', `labelname labelslug shortdescription notes`),
  rows('A', 'LabelRecord', 'integer', `lastupdatedtimestamp`),
  rows('A', 'FundingRecord', 'integer', `block`),
  rows('A', 'FundingRecord', 'string', `timeStamp fundingAddress fundingTxn value`),
  // 2.2
  rows('B', 'Amount', 'string', `currency amount`),
  rows('B', 'Quote', 'uuid', `id`),
  rows('B', 'Quote', 'number', `rate`),
  rows('B', 'Quote', 'Amount', `to from`),
  rows('B', 'Quote', 'date-time', `createdAt expiresAt`),
  rows('B', 'Quote', 'string', `fee collateral`),
  rows('B', 'Quote', 'TypedData', `typedData`),
  rows('B', 'TypedData', 'string', `domain.name domain.verifyingContract primaryType`),
  rows('B', 'TypedData', 'integer', `domain.chainId`),
  rows(
    'B',
    'TypedData',
    'array of {name: string, type: string}',
    `
    types.EIP712Domain types.Consideration types.TakerDetails types.MakerDetails types.TokenPermissions
    types.PermitWitnessTransferFrom
  `,
  ),
  rows(
    'B',
    'TypedData',
    'string',
    `
    message.permitted.token message.spender message.witness.consideration.quoteId message.witness.consideration.base
    message.witness.consideration.quote message.witness.consideration.baseAmount
    message.witness.consideration.quoteAmount message.witness.recipient
  `,
  ),
  rows(
    'B',
    'TypedData',
    'integer',
    `
    message.permitted.amount message.nonce message.deadline message.witness.consideration.maturity
    message.witness.fee
  `,
  ),
  // 2.3
  rows(
    'C',
    'EffectivenessRecord',
    'integer',
    `
    validatorIndex hour day startDay endDay startEpoch endEpoch startSlot endSlot
  `,
  ),
  rows('C', 'EffectivenessRecord', 'string', `startDate endDate date`),
  rows('C', 'EffectivenessRecord', 'date-time', `startTimestamp endTimestamp`),
  rows(
    'C',
    'EffectivenessRecord',
    'number',
    `
    avgCorrectness avgInclusionDelay sumInclusionDelay uptime attesterEffectiveness proposerEffectiveness
    validatorEffectiveness
  `,
  ),
  rows(
    'C',
    'AggregateRecord',
    'number',
    `
    attesterEffectiveness avgCorrectness avgInclusionDelay uptime validatorEffectiveness
  `,
  ),
  rows(
    'C',
    'AggregateRecord',
    'integer',
    `
    day startDay endDay startEpoch endEpoch earnings estimatedPenalties estimatedRewards executionProposedEmptyCount
    proposedCount proposerDutiesCount slashesCollected slashesReceived syncSignatureCount
    totalAttestationAssignments totalAttestations totalUniqueAttestations
  `,
  ),
  rows(
    'C',
    'AggregateRecord',
    'integer',
    `
    sumAllRewards sumAttestationRewards sumBaselineMev sumConsensusBlockRewards sumCorrectHead sumCorrectSource
    sumCorrectTarget sumExternallySourcedExecutionRewards sumInclusionDelay sumLateSourcePenalties
    sumLateSourceVotes sumLateTargetPenalties sumLateTargetVotes sumMissedAttestationPenalties
    sumMissedAttestationRewards sumMissedAttestations sumMissedConsensusBlockRewards sumMissedExecutionRewards
    sumMissedSyncCommitteeRewards sumPriorityFees sumSyncCommitteePenalties sumWrongHeadPenalties sumWrongHeadVotes
    sumWrongTargetPenalties sumWrongTargetVotes
  `,
  ),
  rows('C', 'Page', 'string', `filterType granularity`),
  rows('C', 'Page', 'integer', `size`),
  rows('C', 'ValidatorMetadata', 'integer', `validatorIndex`),
  rows('C', 'ValidatorMetadata', 'string', `validatorPubkey`),
  rows('C', 'ValidatorMetadata', 'string or null', `pool dvtNetwork withdrawalAddress subpool`),
  rows('C', 'ValidatorMetadata', 'array of string or null', `nodeOperators depositAddresses dvtOperators`),
  rows(
    'C',
    'ValidatorMetadata',
    'integer or null',
    `
    activationEpoch activationEligibilityEpoch exitEpoch withdrawableEpoch
  `,
  ),
  // 4.5 and 4.6, responses
  rows('C', 'AggregatePage', 'array of AggregateRecord', `data`),
  rows('C', 'AggregatePage', 'string or null', `next`),
  rows('C', 'AggregatePage', 'Page', `page`),
  rows('C', 'AggregatePage', 'integer', `total`),
  rows('C', 'EffectivenessPage', 'string or null', `previous next`),
  rows('C', 'EffectivenessPage', 'integer', `pages`),
  rows('C', 'EffectivenessPage', 'array of EffectivenessRecord', `results`),
  // 2.4
  rows(
    'D',
    'Market',
    'string',
    `
    id question conditionId slug socialCardImage resolutionSource category ammType liquidity sponsorName
    sponsorImage xAxisValue yAxisValue denominationToken fee image icon lowerBound upperBound description outcomes
    outcomePrices volume marketType formatType lowerBoundDate upperBoundDate marketMakerAddress closedTime mailerTag
    resolvedBy groupItemTitle groupItemThreshold questionID oracleEndDate oracleResolutionStatus endDateIso
    startDateIso oracleEndDateIso gameStartTime clobTokenIds commentThread shortOutcomes teamAID teamBID oracleBond
    oracleReward creator pastSlugs chartColor seriesColor gameId groupItemRange sportsMarketType
    oracleResolutionStatuses
  `,
  ),
  rows(
    'D',
    'Market',
    'date-time',
    `
    endDate startDate createdAt updatedAt readyTimestamp fundedTimestamp acceptingOrdersTimestamp deployingTimestamp
    scheduledDeploymentTimestamp eventStartTime
  `,
  ),
  rows(
    'D',
    'Market',
    'boolean',
    `
    active closed wideFormat new featured archived restricted enableOrderBook hasReviewedDates readyForCron
    commentsEnabled fpmmLive acceptingOrders notificationsEnabled ready funded automaticallyResolved
    automaticallyActive clearBookOnStart showGmpSeries showGmpOutcome manualActivation negRiskOther
    pendingDeployment deploying rfqEnabled feesEnabled
  `,
  ),
  rows(
    'D',
    'Market',
    'number',
    `
    createdBy updatedBy marketGroup orderPriceMinTickSize orderMinSize curationOrder volumeNum liquidityNum
    volume24hr volume1wk volume1mo volume1yr secondsDelay volume24hrAmm volume1wkAmm volume1moAmm volume1yrAmm
    volume24hrClob volume1wkClob volume1moClob volume1yrClob volumeAmm volumeClob liquidityAmm liquidityClob
    makerBaseFee takerBaseFee customLiveness score competitive rewardsMinSize rewardsMaxSpread spread
    oneDayPriceChange oneHourPriceChange oneWeekPriceChange oneMonthPriceChange oneYearPriceChange lastTradePrice
    bestBid bestAsk line
  `,
  ),
  rows('D', 'Market', 'ImageOptimization', `imageOptimized iconOptimized`),
  rows('D', 'Market', 'array of Event', `events`),
  rows('D', 'Market', 'array of Category', `categories`),
  rows('D', 'Market', 'array of Tag', `tags`),
  rows('D', 'Market', 'FeeSchedule', `feeSchedule`),
  rows('D', 'FeeSchedule', 'number', `exponent rate rebateRate`),
  rows('D', 'FeeSchedule', 'boolean', `takerOnly`),
  rows(
    'D',
    'ImageOptimization',
    'string',
    `
    id imageUrlSource imageUrlOptimized imageOptimizedLastUpdated field relname
  `,
  ),
  rows('D', 'ImageOptimization', 'number', `imageSizeKbSource imageSizeKbOptimized relID`),
  rows('D', 'ImageOptimization', 'boolean', `imageOptimizedComplete`),
  rows(
    'D',
    'Event',
    'string',
    `
    id ticker slug title subtitle description resolutionSource image icon sortBy category subcategory
    templateVariables published_at createdBy updatedBy featuredImage commentThread parentEvent negRiskMarketID
    eventDate seriesSlug score elapsed period gmpChartMode estimatedValue carouselMap gameStatus
  `,
  ),
  rows(
    'D',
    'Event',
    'date-time',
    `
    startDate creationDate endDate createdAt updatedAt closedTime startTime finishedTimestamp deployingTimestamp
    scheduledDeploymentTimestamp
  `,
  ),
  rows(
    'D',
    'Event',
    'boolean',
    `
    active closed archived new featured restricted isTemplate commentsEnabled enableOrderBook negRisk cyom
    showAllOutcomes showMarketImages automaticallyResolved enableNegRisk automaticallyActive live ended
    estimateValue cantEstimate pendingDeployment deploying
  `,
  ),
  rows(
    'D',
    'Event',
    'number',
    `
    liquidity volume openInterest competitive volume24hr volume1wk volume1mo volume1yr liquidityAmm liquidityClob
    negRiskFeeBips commentCount eventWeek socialPostCount featuredOrder spreadsMainLine totalsMainLine
  `,
  ),
  rows('D', 'Event', 'ImageOptimization', `imageOptimized iconOptimized featuredImageOptimized`),
  rows('D', 'Event', 'array of string', `subEvents`),
  rows('D', 'Event', 'array', `markets`),
  rows('D', 'Event', 'array of Series', `series`),
  rows('D', 'Event', 'array of Category', `categories`),
  rows('D', 'Event', 'array of Collection', `collections`),
  rows('D', 'Event', 'array of Tag', `tags`),
  rows('D', 'Event', 'array of Chat', `chats`),
  rows('D', 'Event', 'array of EventCreator', `eventCreators`),
  rows('D', 'Event', 'array of Template', `templates`),
  rows(
    'D',
    'Series',
    'string',
    `
    id ticker slug title subtitle seriesType recurrence description image icon layout publishedAt createdBy
    updatedBy competitive priceFeedTokenID priceDataAssetName
  `,
  ),
  rows('D', 'Series', 'date-time', `createdAt updatedAt startDate`),
  rows(
    'D',
    'Series',
    'boolean',
    `
    active closed archived new featured restricted isTemplate templateVariables commentsEnabled
  `,
  ),
  rows('D', 'Series', 'number', `volume24hr volume liquidity score commentCount`),
  rows('D', 'Series', 'array', `events`),
  rows('D', 'Series', 'array of Collection', `collections`),
  rows('D', 'Series', 'array of Category', `categories`),
  rows('D', 'Series', 'array of Tag', `tags`),
  rows('D', 'Series', 'array of Chat', `chats`),
  rows(
    'D',
    'Collection',
    'string',
    `
    id ticker slug title subtitle collectionType description tags image icon headerImage layout templateVariables
    publishedAt createdBy updatedBy
  `,
  ),
  rows('D', 'Collection', 'date-time', `createdAt updatedAt`),
  rows('D', 'Collection', 'boolean', `active closed archived new featured restricted isTemplate commentsEnabled`),
  rows('D', 'Collection', 'ImageOptimization', `imageOptimized iconOptimized headerImageOptimized`),
  rows('D', 'Category', 'string', `id label parentCategory slug publishedAt createdBy updatedBy`),
  rows('D', 'Category', 'date-time', `createdAt updatedAt`),
  rows('D', 'Tag', 'string', `id label slug publishedAt`),
  rows('D', 'Tag', 'number', `createdBy updatedBy`),
  rows('D', 'Tag', 'boolean', `forceShow forceHide isCarousel`),
  rows('D', 'Tag', 'date-time', `createdAt updatedAt`),
  rows('D', 'Chat', 'string', `id channelId channelName channelImage`),
  rows('D', 'Chat', 'boolean', `live`),
  rows('D', 'Chat', 'date-time', `startTime endTime`),
  rows('D', 'EventCreator', 'string', `id creatorName creatorHandle creatorUrl creatorImage`),
  rows('D', 'EventCreator', 'date-time', `createdAt updatedAt`),
  rows(
    'D',
    'Template',
    'string',
    `
    id eventTitle eventSlug eventImage marketTitle description resolutionSource sortBy seriesSlug outcomes
  `,
  ),
  rows('D', 'Template', 'boolean', `negRisk showMarketImages`),
].flat()

export interface ParameterRow {
  /** Section of the specification. */
  readonly spec: string
  readonly name: string
  readonly in: 'query' | 'path' | 'header' | 'body'
  readonly type: string
  /** `maybe`: unspecified, or depends on another parameter. */
  readonly required: 'yes' | 'no' | 'maybe'
  readonly default?: string | number | boolean
  /** Allowed values, if the specification lists them. */
  readonly values?: readonly string[]
}

const parameter = (
  spec: string,
  location: ParameterRow['in'],
  name: string,
  type: string,
  required: ParameterRow['required'],
  more: Pick<ParameterRow, 'default' | 'values'> = {},
): ParameterRow => ({ spec, name, in: location, type, required, ...more })

const network = { default: 'mainnet', values: ['mainnet', 'hoodi', 'holesky'] }

/** Section 4. */
export const parameterRows: readonly ParameterRow[] = [
  parameter('4.1', 'query', 'apikey', 'string', 'yes'),
  parameter('4.1', 'query', 'chainid', 'string', 'yes', { default: '1' }),
  parameter('4.1', 'query', 'module', 'string', 'yes', { default: 'nametag' }),
  parameter('4.1', 'query', 'action', 'string', 'yes', { default: 'getlabelmasterlist' }),

  parameter('4.2', 'query', 'apikey', 'string', 'yes'),
  parameter('4.2', 'query', 'module', 'string', 'yes', { default: 'nametag' }),
  parameter('4.2', 'query', 'action', 'string', 'yes', { default: 'getlabelmasterlist' }),

  parameter('4.3', 'query', 'apikey', 'string', 'yes'),
  parameter('4.3', 'query', 'chainid', 'string', 'yes', { default: '1' }),
  parameter('4.3', 'query', 'module', 'string', 'yes', { default: 'account' }),
  parameter('4.3', 'query', 'action', 'string', 'yes', { default: 'fundedby' }),
  parameter('4.3', 'query', 'address', 'string', 'yes'),

  parameter('4.4', 'header', 'authorization', 'string', 'yes'),
  parameter('4.4', 'body', 'from', 'AmountInput', 'yes'),
  parameter('4.4', 'body', 'to', 'AmountInput', 'yes'),
  parameter('4.4', 'body', 'tenor', 'string', 'yes', { values: ['instant', 'hourly', 'daily'] }),
  parameter('4.4', 'body', 'type', 'string', 'no', { default: 'tradable', values: ['reference', 'tradable'] }),
  parameter('4.4', 'body', 'recipientAddress', 'string', 'maybe'),

  parameter('4.5', 'header', 'authorization', 'string', 'yes'),
  parameter('4.5', 'header', 'x-validator-network', 'string', 'no', network),
  parameter('4.5', 'query', 'pubkeys', 'array of string', 'maybe'),
  parameter('4.5', 'query', 'indices', 'array of integer', 'maybe'),
  parameter('4.5', 'query', 'from', 'integer or time', 'no'),
  parameter('4.5', 'query', 'to', 'integer or time', 'no'),
  parameter('4.5', 'query', 'filterType', 'string', 'no', { default: 'day', values: ['hour', 'day', 'datetime'] }),
  parameter('4.5', 'query', 'size', 'integer', 'no', { default: 10 }),
  parameter('4.5', 'query', 'granularity', 'string', 'no', {
    values: ['day', 'week', 'month', 'quarter', 'year', 'all'],
  }),
  parameter('4.5', 'query', 'groupBy', 'string', 'no', { default: 'validator', values: ['timeWindow', 'validator'] }),
  parameter('4.5', 'query', 'include', 'array of string', 'no'),

  parameter('4.6', 'header', 'authorization', 'string', 'yes'),
  parameter('4.6', 'header', 'x-validator-network', 'string', 'no', network),
  parameter('4.6', 'path', 'validator_index_or_pubkey', 'string', 'yes'),
  parameter('4.6', 'query', 'limit', 'integer', 'no', { default: 10 }),
  parameter('4.6', 'query', 'offset', 'integer', 'no', { default: 0 }),
  parameter('4.6', 'query', 'fromDate', 'date', 'no'),
  parameter('4.6', 'query', 'toDate', 'date', 'no'),
  parameter('4.6', 'query', 'fromDay', 'integer', 'no'),
  parameter('4.6', 'query', 'toDay', 'integer', 'no'),
  parameter('4.6', 'query', 'utc', 'boolean', 'no', { default: false }),
  parameter('4.6', 'query', 'sortBy', 'string', 'no'),
  parameter('4.6', 'query', 'sortOrder', 'string', 'no', { default: 'asc', values: ['asc', 'desc'] }),
  parameter('4.6', 'query', 'granularity', 'string', 'no', {
    default: 'day',
    values: ['hour', 'day', 'week', 'month', 'quarter', 'year', 'all'],
  }),

  parameter('4.7', 'header', 'authorization', 'string', 'yes'),
  parameter('4.7', 'header', 'x-validator-network', 'string', 'no', network),
  parameter('4.7', 'path', 'validator_index_or_pubkey', 'string', 'yes'),

  parameter('4.8', 'path', 'slug', 'string', 'yes'),
]

/** Sections 4 and 8: method, path, plan and rate limit. */
export const routeRows = [
  { spec: '4.1', method: 'GET', path: '/v2/api', plan: 'enterprise' },
  { spec: '4.2', method: 'GET', path: '/v1/api.ashx', plan: 'enterprise' },
  { spec: '4.3', method: 'GET', path: '/v2/api', plan: 'standard', perSecond: 2 },
  { spec: '4.4', method: 'POST', path: '/v1/exchange/fx/quotes' },
  { spec: '4.5', method: 'GET', path: '/v0/eth/validators/effectiveness' },
  { spec: '4.6', method: 'GET', path: '/v1/eth/validators/{validator_index_or_pubkey}/effectiveness' },
  { spec: '4.7', method: 'GET', path: '/v0/eth/validators/{validator_index_or_pubkey}' },
  { spec: '4.8', method: 'GET', path: '/markets/slug/{slug}' },
] as const

/** Fields and parameters beyond the specification, with the section that defines them. */
export const additions: Readonly<Record<string, string>> = {
  'AggregateRecord.validatorIndex': 'behaviour/validators.md#paging-of-the-aggregate',
  'MarketReference.id': 'behaviour/markets.md#references',
  'MarketReference.slug': 'behaviour/markets.md#references',
  'MarketReference.question': 'behaviour/markets.md#references',
  '4.1 format': 'behaviour/explorer.md#label-lists',
  '4.4 idempotency-key': 'behaviour/fx.md#idempotency-keys',
  '4.5 after': 'behaviour/validators.md#paging-of-the-aggregate',
  '4.8 asOf': 'behaviour/markets.md#history',
  '4.8 include_tag': 'behaviour/markets.md#tags',
}

/** Records whose fields may be null although not specified, with the section that defines it. */
export const nullableFields: Readonly<Record<string, string>> = {
  EffectivenessRecord: 'behaviour/validators.md#time-fields',
}
