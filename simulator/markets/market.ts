// Field values of a simulated market. They are consistent: prices add up to one, and parts of the volume to the total.
import type { SeededRandom } from '../seeded-random.ts'
import { dayAt, type EventPlan, isoAt, samplePastSlug, sampleQuestion, slugOf } from './plan.ts'

interface MarketPosition {
  readonly id: number
  readonly eventId: number
  /** Position among the markets of its event. */
  readonly at: number
  readonly question: string
}

export function marketFields(plan: EventPlan, position: MarketPosition, draws: SeededRandom): Record<string, unknown> {
  return {
    ...identity(plan, position, draws),
    ...times(plan, draws),
    ...flags(plan, position, draws),
    ...volumes(draws),
    ...prices(plan, draws),
    ...trading(position, draws),
    ...oracle(plan, draws),
    ...(plan.sort === 'game' && game(position, draws)),
    ...(plan.sort === 'range' && range(position)),
    ...(plan.state === 'over' && over(draws)),
  }
}

function identity(plan: EventPlan, { id, at, question }: MarketPosition, draws: SeededRandom) {
  const slug = slugOf(question)
  return {
    question,
    conditionId: `0x${draws.hex(64)}`,
    slug,
    questionID: `0x${draws.hex(64)}`,
    description: `This market resolves to "Yes" if the answer to "${question}" is confirmed by the source named below before the end date, and to "No" otherwise. If the source is silent for seven days, two independent newspapers decide.`,
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
    marketGroup: 100 + id,
    groupItemTitle: question.split(/[:?]/)[0]?.slice(-24).trim(),
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

function times(plan: EventPlan, draws: SeededRandom) {
  const born = -draws.whole(30, 200)
  const end = plan.state === 'over' ? -draws.whole(1, 20) : draws.whole(5, 50)
  return {
    createdAt: isoAt(born),
    updatedAt: isoAt(-1 / 24),
    startDate: isoAt(born + 1),
    startDateIso: dayAt(born + 1),
    endDate: isoAt(end),
    endDateIso: dayAt(end),
    readyTimestamp: isoAt(born + 0.25),
    fundedTimestamp: isoAt(born + 0.5),
    acceptingOrdersTimestamp: isoAt(born + 1),
    deployingTimestamp: isoAt(born + 0.1),
    scheduledDeploymentTimestamp: isoAt(born + 0.05),
    oracleEndDate: isoAt(end + 2),
    oracleEndDateIso: dayAt(end + 2),
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

/** Every figure is the sum of two venues, order book and pool. */
function volumes(draws: SeededRandom) {
  const clob = draws.whole(100_000, 90_000_000)
  const amm = draws.whole(1000, 900_000)
  const part = (share: number) => ({ clob: Math.round(clob * share), amm: Math.round(amm * share) })
  const [day, week, month, year] = [part(0.02), part(0.11), part(0.4), part(0.98)]
  const liquidity = { clob: draws.whole(50_000, 4_000_000), amm: draws.whole(1000, 90_000) }
  const both = (of: { clob: number; amm: number }) => money(of.clob + of.amm)
  return {
    volume: String(money(clob + amm)),
    volumeNum: money(clob + amm),
    volumeClob: money(clob),
    volumeAmm: money(amm),
    volume24hr: both(day),
    volume24hrClob: money(day.clob),
    volume24hrAmm: money(day.amm),
    volume1wk: both(week),
    volume1wkClob: money(week.clob),
    volume1wkAmm: money(week.amm),
    volume1mo: both(month),
    volume1moClob: money(month.clob),
    volume1moAmm: money(month.amm),
    volume1yr: both(year),
    volume1yrClob: money(year.clob),
    volume1yrAmm: money(year.amm),
    liquidity: String(both(liquidity)),
    liquidityNum: both(liquidity),
    liquidityClob: money(liquidity.clob),
    liquidityAmm: money(liquidity.amm),
  }
}

function prices(plan: EventPlan, draws: SeededRandom) {
  const yes = plan.state === 'over' ? draws.pick([0, 100]) : draws.whole(5, 96)
  const names = plan.sort === 'game' ? plan.title.split(' vs. ') : ['Yes', 'No']
  const outcomes = names.length === 2 ? names : ['Yes', 'No']
  const change = () => draws.whole(-12, 13) / 100
  return {
    outcomes: JSON.stringify(outcomes),
    shortOutcomes: JSON.stringify(outcomes.map((name) => name.slice(0, 3).toUpperCase())),
    outcomePrices: JSON.stringify([String(yes / 100), String((100 - yes) / 100)]),
    clobTokenIds: JSON.stringify([tokenId(draws), tokenId(draws)]),
    lastTradePrice: yes / 100,
    bestBid: Math.max(0, yes - 1) / 100,
    bestAsk: Math.min(100, yes + 1) / 100,
    spread: (Math.min(100, yes + 1) - Math.max(0, yes - 1)) / 100,
    oneHourPriceChange: change() / 10,
    oneDayPriceChange: change(),
    oneWeekPriceChange: change(),
    oneMonthPriceChange: change(),
    oneYearPriceChange: change(),
    competitive: (100 - Math.abs(50 - yes)) / 100,
    score: draws.whole(1, 1000),
  }
}

function trading({ at }: MarketPosition, draws: SeededRandom) {
  return {
    fee: '20000000000000000',
    makerBaseFee: 0,
    takerBaseFee: draws.pick([0, 10, 20]),
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

function game({ id, eventId, at }: MarketPosition, draws: SeededRandom) {
  const days = draws.whole(-2, 3)
  return {
    gameId: String(90_000 + eventId),
    gameStartTime: isoAt(days + 0.75)
      .replace('T', ' ')
      .replace('Z', '+00'),
    eventStartTime: isoAt(days + 0.75),
    sportsMarketType: (['moneyline', 'totals', 'both_teams_to_score', 'spreads'] as const)[at] ?? 'moneyline',
    line: at % 2 === 0 ? 2.5 : -1.5,
    teamAID: String(200 + id),
    teamBID: String(300 + id),
  }
}

const range = ({ at }: MarketPosition) => ({
  lowerBound: String(1.5 + at / 2),
  upperBound: String(2 + at / 2),
  lowerBoundDate: dayAt(10),
  upperBoundDate: dayAt(40),
  groupItemRange: `${1.5 + at / 2}–${2 + at / 2}`,
  xAxisValue: 'Month',
  yAxisValue: 'Change in percent',
})

const over = (draws: SeededRandom) => ({
  closedTime: isoAt(-draws.whole(1, 20)).replace('T', ' ').replace('Z', '+00'),
  resolvedBy: `0x${draws.hex(40)}`,
})

const money = (cents: number): number => cents / 100

/** A decimal of 77 digits, which only a string can represent. */
const tokenId = (draws: SeededRandom): string =>
  `${draws.whole(1, 9)}${Array.from({ length: 76 }, () => draws.whole(0, 10)).join('')}`
