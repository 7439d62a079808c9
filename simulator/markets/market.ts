// Field values of a simulated market.
import type { SeededRandom } from '../seeded-random.ts'
import { type DemoDates, dayAfter, isoOf } from './dates.ts'
import type { EventTrading } from './event-trading.ts'
import { type EventPlan, type MarketPlan, samplePastSlug, sampleQuestion, slugOf } from './plan.ts'

interface MarketPosition {
  readonly id: number
  readonly eventId: number
  /** Position among the markets of its event. */
  readonly at: number
  readonly market: MarketPlan
}

/** As of the day on which the demo was created. */
export function marketFields(
  dates: DemoDates,
  plan: EventPlan,
  position: MarketPosition,
  trading: EventTrading,
  draws: SeededRandom,
): Record<string, unknown> {
  return {
    ...identity(plan, position, draws),
    ...times(dates, plan, position, trading),
    ...flags(plan, position, draws),
    ...outcomes(position, draws),
    ...trading.marketFields(position.at, dates.startMs),
    ...fees(position, draws),
    ...oracle(plan, draws),
    ...(plan.sort === 'game' && game(plan, position)),
    ...(plan.sort === 'range' && range(plan, position)),
    ...(plan.state === 'over' && over(position, draws)),
  }
}

function identity(plan: EventPlan, { id, eventId, at, market }: MarketPosition, draws: SeededRandom) {
  const { question, short } = market
  const slug = slugOf(question)
  return {
    question,
    conditionId: `0x${draws.hex(64)}`,
    slug,
    questionID: `0x${draws.hex(64)}`,
    description: `This market resolves to the outcome that the source named below confirms by the end date. If the source is silent for seven days, two independent newspapers decide.`,
    resolutionSource: `https://sources.example/${slug}`,
    category: plan.category,
    image: `https://img.example/markets/${slug}.png`,
    icon: `https://img.example/markets/${slug}-icon.png`,
    socialCardImage: `https://img.example/cards/${slug}.png`,
    marketType: plan.sort === 'range' ? 'scalar' : 'normal',
    formatType: plan.sort === 'range' ? 'number' : 'binary',
    ammType: 'fpmm',
    denominationToken: '0x2791bca1f2de4661ed88a30c99a7a9449aa84174',
    marketMakerAddress: `0x${draws.hex(40)}`,
    creator: `0x${draws.hex(40)}`,
    commentThread: `thread-${id}`,
    mailerTag: `market-${id}`,
    marketGroup: eventId,
    groupItemTitle: short,
    groupItemThreshold: String(at),
    chartColor: draws.pick(['#1b6ca8', '#c0392b', '#2e8b57']),
    seriesColor: draws.pick(['#355070', '#6d597a', '#b56576']),
    createdBy: draws.whole(1, 40),
    updatedBy: draws.whole(1, 40),
    curationOrder: at + 1,
    ...(question === sampleQuestion && {
      pastSlugs: JSON.stringify([samplePastSlug, `${samplePastSlug}-draft`]),
      sponsorName: 'Harbour Gazette',
      sponsorImage: 'https://img.example/sponsors/gazette.png',
    }),
  }
}

function times(dates: DemoDates, plan: EventPlan, { market }: MarketPosition, { createdMs, opensMs }: EventTrading) {
  const hours = (count: number) => isoOf(createdMs + count * 3_600_000)
  const opens = isoOf(opensMs)
  const oracleEnd = isoOf(Date.parse(market.ends) + 2 * 86_400_000)
  return {
    createdAt: hours(0),
    updatedAt: dates.isoAt(-1 / 24),
    startDate: opens,
    startDateIso: opens.slice(0, 10),
    endDate: `${market.ends}T00:00:00Z`,
    endDateIso: market.ends,
    scheduledDeploymentTimestamp: hours(1),
    deployingTimestamp: hours(2),
    readyTimestamp: hours(6),
    ...(plan.state !== 'planned' && { fundedTimestamp: hours(12) }),
    acceptingOrdersTimestamp: opens,
    oracleEndDate: oracleEnd,
    oracleEndDateIso: oracleEnd.slice(0, 10),
  }
}

function flags(plan: EventPlan, { at }: MarketPosition, draws: SeededRandom) {
  const over = plan.state === 'over'
  return {
    active: plan.state !== 'planned',
    closed: over,
    archived: false,
    new: plan.state === 'planned',
    featured: at === 0,
    restricted: false,
    wideFormat: plan.sort === 'range',
    enableOrderBook: true,
    hasReviewedDates: true,
    readyForCron: true,
    commentsEnabled: true,
    notificationsEnabled: draws.happens(0.8),
    fpmmLive: false,
    acceptingOrders: !over && plan.state !== 'planned',
    ready: true,
    funded: plan.state !== 'planned',
    automaticallyResolved: over && draws.happens(0.5),
    automaticallyActive: true,
    clearBookOnStart: plan.sort === 'game',
    showGmpSeries: false,
    showGmpOutcome: false,
    manualActivation: false,
    negRiskOther: false,
    pendingDeployment: plan.state === 'planned',
    deploying: false,
    rfqEnabled: draws.happens(0.3),
    feesEnabled: true,
  }
}

function outcomes({ market }: MarketPosition, draws: SeededRandom) {
  const names = market.outcomes ?? ['Yes', 'No']
  return {
    outcomes: JSON.stringify(names),
    shortOutcomes: JSON.stringify(names.map((name) => name.slice(0, 3).toUpperCase())),
    clobTokenIds: JSON.stringify([tokenId(draws), tokenId(draws)]),
    score: draws.whole(1, 1000),
  }
}

function fees({ at }: MarketPosition, draws: SeededRandom) {
  return {
    fee: '20000000000000000',
    makerBaseFee: 0,
    takerBaseFee: draws.pick([0, 1000, 1000]),
    feeSchedule: { exponent: 1, rate: 0.02, takerOnly: true, rebateRate: draws.pick([0.1, 0.25]) },
    orderPriceMinTickSize: draws.pick([0.01, 0.001]),
    orderMinSize: 5,
    rewardsMinSize: draws.pick([20, 50, 100]),
    rewardsMaxSpread: 3.5,
    secondsDelay: at % 2 === 0 ? 0 : 3,
  }
}

function oracle(plan: EventPlan, draws: SeededRandom) {
  const statuses = plan.state === 'over' ? ['proposed', 'disputed', 'resolved'] : ['initialized']
  return {
    oracleBond: '500',
    oracleReward: draws.pick(['2', '5']),
    oracleResolutionStatus: statuses.at(-1),
    oracleResolutionStatuses: JSON.stringify(statuses),
    customLiveness: draws.pick([0, 3600, 7200]),
  }
}

function game({ starts = '' }: EventPlan, { eventId, market }: MarketPosition) {
  const { relation, short, outcomes } = market
  return {
    gameId: String(90_000 + eventId),
    gameStartTime: starts.replace('T', ' ').replace('Z', '+00'),
    eventStartTime: starts,
    sportsMarketType: relation === 'nested' ? 'totals' : outcomes ? 'first_to_score' : 'moneyline',
    ...(relation === 'nested' && { line: Number(short.split(' ').at(-1)) }),
    teamAID: String(2 * eventId),
    teamBID: String(2 * eventId + 1),
  }
}

const range = ({ unit }: EventPlan, { market }: MarketPosition) => ({
  ...(market.bounds?.lower && { lowerBound: market.bounds.lower }),
  ...(market.bounds?.upper && { upperBound: market.bounds.upper }),
  lowerBoundDate: market.ends,
  upperBoundDate: market.ends,
  groupItemRange: market.short,
  xAxisValue: 'Date',
  yAxisValue: unit,
})

/** Resolved on the day after its last. */
const over = ({ market }: MarketPosition, draws: SeededRandom) => ({
  closedTime: `${dayAfter(market.ends)} 09:30:00+00`,
  resolvedBy: `0x${draws.hex(40)}`,
})

/** A decimal of 77 digits, which only a string can represent. */
const tokenId = (draws: SeededRandom): string =>
  `${draws.whole(1, 9)}${Array.from({ length: 76 }, () => draws.whole(0, 10)).join('')}`
