// Field values of simulated events and series.
import type { SeededRandom } from '../seeded-random.ts'
import { type DemoDates, dayAfter, isoOf } from './dates.ts'
import type { EventTrading } from './event-trading.ts'
import { type EventPlan, slugOf } from './plan.ts'

export interface NumberedEvent {
  readonly plan: EventPlan
  readonly id: number
  readonly marketIds: readonly number[]
  readonly trading: EventTrading
}

/** As of the day on which the demo was created. */
export function eventFields(
  dates: DemoDates,
  { plan, id, trading }: NumberedEvent,
  events: readonly NumberedEvent[],
  draws: SeededRandom,
): Record<string, unknown> {
  const slug = slugOf(plan.title)
  const over = plan.state === 'over'
  const ends =
    plan.markets
      .map((market) => market.ends)
      .sort()
      .at(-1) ?? ''
  const hours = (count: number) => isoOf(trading.createdMs + count * 3_600_000)
  return {
    ticker: slug,
    slug,
    title: plan.title,
    subtitle: plan.subcategory,
    description: `Everything about "${plan.title}": ${plan.markets.length} markets that resolve from the same source.`,
    resolutionSource: `https://sources.example/${slug}`,
    image: `https://img.example/events/${slug}.png`,
    icon: `https://img.example/events/${slug}-icon.png`,
    featuredImage: `https://img.example/events/${slug}-wide.png`,
    sortBy: draws.pick(['price', 'volume', 'manual']),
    category: plan.category,
    subcategory: plan.subcategory,
    templateVariables: JSON.stringify({ title: plan.title }),
    published_at: hours(12).replace('T', ' ').replace('Z', '+00'),
    createdBy: String(draws.whole(1, 40)),
    updatedBy: String(draws.whole(1, 40)),
    commentThread: `event-thread-${id}`,
    ...relatives(plan, id, events),
    negRiskMarketID: `0x${draws.hex(64)}`,
    eventDate: plan.starts?.slice(0, 10) ?? ends,
    seriesSlug: slugOf(plan.series),
    gmpChartMode: 'line',
    estimatedValue: String(draws.whole(10, 90) / 100),
    carouselMap: JSON.stringify({ order: id }),
    startDate: isoOf(trading.opensMs),
    creationDate: hours(0),
    createdAt: hours(0),
    updatedAt: dates.isoAt(-1 / 24),
    endDate: `${ends}T00:00:00Z`,
    scheduledDeploymentTimestamp: hours(1),
    deployingTimestamp: hours(2),
    ...(over && { closedTime: `${dayAfter(ends)}T09:30:00Z`, finishedTimestamp: `${ends}T20:00:00Z` }),
    ...(plan.sort === 'game' && gameFields(plan, draws)),
    active: plan.state !== 'planned',
    closed: over,
    archived: false,
    new: plan.state === 'planned',
    featured: draws.happens(0.3),
    restricted: false,
    isTemplate: false,
    commentsEnabled: true,
    enableOrderBook: true,
    negRisk: isExclusive(plan),
    enableNegRisk: isExclusive(plan),
    cyom: false,
    showAllOutcomes: true,
    showMarketImages: plan.sort !== 'range',
    automaticallyResolved: over,
    automaticallyActive: true,
    live: plan.state === 'live',
    ended: over,
    estimateValue: plan.sort === 'range',
    cantEstimate: plan.sort !== 'range',
    pendingDeployment: plan.state === 'planned',
    deploying: false,
    ...trading.eventFields(dates.startMs),
    competitive: draws.whole(50, 100) / 100,
    negRiskFeeBips: isExclusive(plan) ? 10 : 0,
    commentCount: draws.whole(0, 400),
    socialPostCount: draws.whole(0, 90),
    featuredOrder: draws.whole(1, 13),
  }
}

const isExclusive = ({ markets }: EventPlan): boolean => markets.every(({ relation }) => relation === 'exclusive')

/** The first event of a series is the parent of the others. */
function relatives(
  { series }: EventPlan,
  id: number,
  events: readonly NumberedEvent[],
): { parentEvent?: string; subEvents?: string[] } {
  const ids = events.filter(({ plan }) => plan.series === series).map((event) => String(event.id))
  const [parent, ...others] = ids
  return parent === String(id) ? { subEvents: others } : { ...(parent && { parentEvent: parent }) }
}

const gameFields = ({ state, starts, score }: EventPlan, draws: SeededRandom) => ({
  startTime: starts,
  eventWeek: draws.whole(1, 30),
  spreadsMainLine: -1.5,
  totalsMainLine: 2.5,
  gameStatus: state === 'over' ? 'Final' : 'Scheduled',
  ...(score && { score, elapsed: '90:00', period: 'FT' }),
})

export function seriesFields(dates: DemoDates, title: string, draws: SeededRandom): Record<string, unknown> {
  const slug = slugOf(title)
  return {
    ticker: slug,
    slug,
    title,
    subtitle: 'A running series',
    seriesType: draws.pick(['single', 'recurring']),
    recurrence: draws.pick(['daily', 'weekly', 'monthly']),
    description: `Events of "${title}", one after another.`,
    image: `https://img.example/series/${slug}.png`,
    icon: `https://img.example/series/${slug}-icon.png`,
    layout: 'default',
    publishedAt: dates.isoAt(-400).replace('T', ' ').replace('Z', '+00'),
    createdBy: String(draws.whole(1, 40)),
    updatedBy: String(draws.whole(1, 40)),
    competitive: String(draws.whole(50, 100) / 100),
    priceFeedTokenID: String(draws.whole(1, 9000)),
    priceDataAssetName: slug.split('-')[0],
    createdAt: dates.isoAt(-401),
    updatedAt: dates.isoAt(-1),
    startDate: dates.isoAt(-399),
    active: true,
    closed: false,
    archived: false,
    new: false,
    featured: draws.happens(0.5),
    restricted: false,
    isTemplate: false,
    templateVariables: true,
    commentsEnabled: true,
    // More than its events of today.
    volume24hr: draws.whole(20_000_000, 40_000_000) / 100,
    volume: draws.whole(2_000_000_000, 9_000_000_000) / 100,
    liquidity: draws.whole(100_000_000, 200_000_000) / 100,
    score: draws.whole(1, 100),
    commentCount: draws.whole(0, 4000),
  }
}
