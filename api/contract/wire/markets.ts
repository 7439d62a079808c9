// Group D of the specification: a market and its related records. Every field may be absent; null is never sent
// (behaviour/markets.md#fields-without-a-value).
import { boolean, DateTime, each as eachOf, endpoint, Flag, Num, PatternText, type Static, Text, Type } from '../kit.ts'
import { marketDescriptions } from './market-descriptions.ts'

const each: typeof eachOf = (schema, names) => eachOf(schema, names, marketDescriptions)

const list = <S extends Parameters<typeof Type.Array>[0]>(name: string, schema: S) =>
  Type.Optional(Type.Array(schema, { description: marketDescriptions[name] as string }))

export const ImageOptimization = Type.Object({
  ...each(Text, ['id', 'imageUrlSource', 'imageUrlOptimized', 'imageOptimizedLastUpdated', 'field', 'relname']),
  ...each(Num, ['imageSizeKbSource', 'imageSizeKbOptimized', 'relID']),
  ...each(Flag, ['imageOptimizedComplete']),
})

export const Category = Type.Object({
  ...each(Text, ['id', 'label', 'parentCategory', 'slug', 'publishedAt', 'createdBy', 'updatedBy']),
  ...each(DateTime, ['createdAt', 'updatedAt']),
})

export const Tag = Type.Object({
  ...each(Text, ['id', 'label', 'slug', 'publishedAt']),
  ...each(Num, ['createdBy', 'updatedBy']),
  ...each(Flag, ['forceShow', 'forceHide', 'isCarousel']),
  ...each(DateTime, ['createdAt', 'updatedAt']),
})

export const Chat = Type.Object({
  ...each(Text, ['id', 'channelId', 'channelName', 'channelImage']),
  ...each(Flag, ['live']),
  ...each(DateTime, ['startTime', 'endTime']),
})

export const EventCreator = Type.Object({
  ...each(Text, ['id', 'creatorName', 'creatorHandle', 'creatorUrl', 'creatorImage']),
  ...each(DateTime, ['createdAt', 'updatedAt']),
})

// biome-ignore format: lists of names read better with several names per line
export const Template = Type.Object({
  ...each(Text, [
    'id', 'eventTitle', 'eventSlug', 'eventImage', 'marketTitle', 'description', 'resolutionSource', 'sortBy',
    'seriesSlug', 'outcomes',
  ]),
  ...each(Flag, ['negRisk', 'showMarketImages']),
})

// biome-ignore format: lists of names read better with several names per line
export const Collection = Type.Object({
  ...each(Text, [
    'id', 'ticker', 'slug', 'title', 'subtitle', 'collectionType', 'description', 'tags', 'image', 'icon',
    'headerImage', 'layout', 'templateVariables', 'publishedAt', 'createdBy', 'updatedBy',
  ]),
  ...each(DateTime, ['createdAt', 'updatedAt']),
  ...each(Flag, ['active', 'closed', 'archived', 'new', 'featured', 'restricted', 'isTemplate', 'commentsEnabled']),
  ...each(ImageOptimization, ['imageOptimized', 'iconOptimized', 'headerImageOptimized']),
})

/** Nested records end in references, so that there are no cycles (behaviour/markets.md#references). */
export const MarketReference = Type.Object(each(Text, ['id', 'slug', 'question']))

// biome-ignore format: lists of names read better with several names per line
const seriesMembers = {
  ...each(Text, [
    'id', 'ticker', 'slug', 'title', 'subtitle', 'seriesType', 'recurrence', 'description', 'image', 'icon', 'layout',
    'publishedAt', 'createdBy', 'updatedBy', 'competitive', 'priceFeedTokenID', 'priceDataAssetName',
  ]),
  ...each(DateTime, ['createdAt', 'updatedAt', 'startDate']),
  ...each(Flag, [
    'active', 'closed', 'archived', 'new', 'featured', 'restricted', 'isTemplate', 'templateVariables',
    'commentsEnabled',
  ]),
  ...each(Num, ['volume24hr', 'volume', 'liquidity', 'score', 'commentCount']),
  collections: list('collections', Collection),
  categories: list('categories', Category),
  tags: list('tags', Tag),
  chats: list('chats', Chat),
}

/** A series inside an event. */
export const SeriesOfEvent = Type.Object(seriesMembers)

// biome-ignore format: lists of names read better with several names per line
export const Event = Type.Object({
  ...each(Text, [
    'id', 'ticker', 'slug', 'title', 'subtitle', 'description', 'resolutionSource', 'image', 'icon', 'sortBy',
    'category', 'subcategory', 'templateVariables', 'published_at', 'createdBy', 'updatedBy', 'featuredImage',
    'commentThread', 'parentEvent', 'negRiskMarketID', 'eventDate', 'seriesSlug', 'score', 'elapsed', 'period',
    'gmpChartMode', 'estimatedValue', 'carouselMap', 'gameStatus',
  ]),
  ...each(DateTime, [
    'startDate', 'creationDate', 'endDate', 'createdAt', 'updatedAt', 'closedTime', 'startTime', 'finishedTimestamp',
    'deployingTimestamp', 'scheduledDeploymentTimestamp',
  ]),
  ...each(Flag, [
    'active', 'closed', 'archived', 'new', 'featured', 'restricted', 'isTemplate', 'commentsEnabled', 'enableOrderBook',
    'negRisk', 'cyom', 'showAllOutcomes', 'showMarketImages', 'automaticallyResolved', 'enableNegRisk',
    'automaticallyActive', 'live', 'ended', 'estimateValue', 'cantEstimate', 'pendingDeployment', 'deploying',
  ]),
  ...each(Num, [
    'liquidity', 'volume', 'openInterest', 'competitive', 'volume24hr', 'volume1wk', 'volume1mo', 'volume1yr',
    'liquidityAmm', 'liquidityClob', 'negRiskFeeBips', 'commentCount', 'eventWeek', 'socialPostCount', 'featuredOrder',
    'spreadsMainLine', 'totalsMainLine',
  ]),
  ...each(ImageOptimization, ['imageOptimized', 'iconOptimized', 'featuredImageOptimized']),
  subEvents: list('subEvents', Text),
  markets: list('markets', MarketReference),
  series: list('series', SeriesOfEvent),
  categories: list('categories', Category),
  collections: list('collections', Collection),
  tags: list('tags', Tag),
  chats: list('chats', Chat),
  eventCreators: list('eventCreators', EventCreator),
  templates: list('templates', Template),
})

const { markets: _markets, ...eventMembers } = Event.properties

/** An event inside its series. */
export const EventOfSeries = Type.Object(eventMembers)

/** A series of its own. */
export const Series = Type.Object({ ...seriesMembers, events: list('events', EventOfSeries) })

export const FeeSchedule = Type.Object({
  ...each(Num, ['exponent', 'rate', 'rebateRate']),
  ...each(Flag, ['takerOnly']),
})

// biome-ignore format: lists of names read better with several names per line
export const Market = Type.Object({
  ...each(Text, [
    'id', 'question', 'conditionId', 'slug', 'socialCardImage', 'resolutionSource', 'category', 'ammType', 'liquidity',
    'sponsorName', 'sponsorImage', 'xAxisValue', 'yAxisValue', 'denominationToken', 'fee', 'image', 'icon',
    'lowerBound', 'upperBound', 'description', 'outcomes', 'outcomePrices', 'volume', 'marketType', 'formatType',
    'lowerBoundDate', 'upperBoundDate', 'marketMakerAddress', 'closedTime', 'mailerTag', 'resolvedBy', 'groupItemTitle',
    'groupItemThreshold', 'questionID', 'oracleEndDate', 'oracleResolutionStatus', 'endDateIso', 'startDateIso',
    'oracleEndDateIso', 'gameStartTime', 'clobTokenIds', 'commentThread', 'shortOutcomes', 'teamAID', 'teamBID',
    'oracleBond', 'oracleReward', 'creator', 'pastSlugs', 'chartColor', 'seriesColor', 'gameId', 'groupItemRange',
    'sportsMarketType', 'oracleResolutionStatuses',
  ]),
  ...each(DateTime, [
    'endDate', 'startDate', 'createdAt', 'updatedAt', 'readyTimestamp', 'fundedTimestamp', 'acceptingOrdersTimestamp',
    'deployingTimestamp', 'scheduledDeploymentTimestamp', 'eventStartTime',
  ]),
  ...each(Flag, [
    'active', 'closed', 'wideFormat', 'new', 'featured', 'archived', 'restricted', 'enableOrderBook',
    'hasReviewedDates', 'readyForCron', 'commentsEnabled', 'fpmmLive', 'acceptingOrders', 'notificationsEnabled',
    'ready', 'funded', 'automaticallyResolved', 'automaticallyActive', 'clearBookOnStart', 'showGmpSeries',
    'showGmpOutcome', 'manualActivation', 'negRiskOther', 'pendingDeployment', 'deploying', 'rfqEnabled', 'feesEnabled',
  ]),
  ...each(Num, [
    'createdBy', 'updatedBy', 'marketGroup', 'orderPriceMinTickSize', 'orderMinSize', 'curationOrder', 'volumeNum',
    'liquidityNum', 'volume24hr', 'volume1wk', 'volume1mo', 'volume1yr', 'secondsDelay', 'volume24hrAmm',
    'volume1wkAmm', 'volume1moAmm', 'volume1yrAmm', 'volume24hrClob', 'volume1wkClob', 'volume1moClob', 'volume1yrClob',
    'volumeAmm', 'volumeClob', 'liquidityAmm', 'liquidityClob', 'makerBaseFee', 'takerBaseFee', 'customLiveness',
    'score', 'competitive', 'rewardsMinSize', 'rewardsMaxSpread', 'spread', 'oneDayPriceChange', 'oneHourPriceChange',
    'oneWeekPriceChange', 'oneMonthPriceChange', 'oneYearPriceChange', 'lastTradePrice', 'bestBid', 'bestAsk', 'line',
  ]),
  ...each(ImageOptimization, ['imageOptimized', 'iconOptimized']),
  events: list('events', Event),
  categories: list('categories', Category),
  tags: list('tags', Tag),
  ...each(FeeSchedule, ['feeSchedule']),
})
export type Market = Static<typeof Market>
export type Event = Static<typeof Event>
export type Series = Static<typeof Series>
export type Tag = Static<typeof Tag>

export const MarketsFailure = Type.Object({
  type: { ...Text, description: 'Kind of the error.' },
  error: { ...Text, description: 'What went wrong.' },
})
export type MarketsFailure = Static<typeof MarketsFailure>

/** Ids have the same form. */
export const slug = PatternText('^[A-Za-z0-9._~-]{1,256}$', 'be 1 to 256 letters, digits, points, hyphens, _ and ~', {
  description: 'Exact and case-sensitive.',
})

/** What both lookups of a market take besides its slug or id. */
const lookupInput = {
  include_tag: boolean(true, '`false` omits the tags.'),
  asOf: Type.Optional(
    PatternText('^\\d{4}-\\d\\d-\\d\\d[Tt ]', 'be a time such as 2026-11-14T09:00:00Z', {
      format: 'date-time',
      description:
        'Return the market as of this time, in ISO 8601; UTC without a time zone. The time must not be in the future.',
    }),
  ),
}

export const bySlug = endpoint('markets.bySlug', {
  summary: 'One prediction market by its slug, with its related records.',
  notes:
    'A past slug also returns the market; `content-location` is then its current path. Until all feeds have been read once, a market that is not found gets 503 instead of 404.',
  input: Type.Object({ slug, ...lookupInput }),
  reply: Market,
  etag: true,
  faults: [
    'record.not_found',
    'markets.not_covered',
    'markets.history_expired',
    'markets.too_many_changes',
    'markets.history_busy',
  ],
  example: {
    input: { slug: 'will-the-harbour-bridge-open-on-time' },
    reply: {
      id: '501',
      question: 'Will the harbour bridge open on time?',
      slug: 'will-the-harbour-bridge-open-on-time',
      outcomes: '["Yes","No"]',
      outcomePrices: '["0.62","0.38"]',
      active: true,
      closed: false,
      volumeNum: 182_450.25,
      endDate: '2026-12-31T00:00:00Z',
      tags: [{ id: '7', label: 'Infrastructure', slug: 'infrastructure' }],
    },
  },
})

export const byId = endpoint('markets.byId', {
  summary: 'One prediction market by its id, with its related records.',
  notes:
    'The same document as `markets.bySlug`. While a feed is read for the first time, a market that is not found is a 503 and not a 404. A market with the id `search`, `changes` or `keyset` is only found by its slug.',
  input: Type.Object({ id: slug, ...lookupInput }),
  reply: Market,
  etag: true,
  faults: bySlug.faults,
  example: { input: { id: '501' }, reply: bySlug.example.reply },
})
