// The records of the demo markets: about forty markets of twelve events, with all related records. Every field has a value
// in some record.
import type { KindName } from '#markets/records/kinds.ts'
import { demoAccounts } from '../explorer/chains.ts'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'
import type { DemoDates } from './dates.ts'
import { eventFields, type NumberedEvent, seriesFields } from './event.ts'
import { EventTrading } from './event-trading.ts'
import { marketFields } from './market.ts'
import type { FlatRecord } from './nested-records.ts'
import { categories, createEventPlans, type MarketPlan, seriesTitles, tagLabels } from './plan.ts'
import {
  categoryFields,
  chatFields,
  collectionFields,
  creatorFields,
  imageFields,
  tagFields,
  templateFields,
} from './related.ts'
import { createTradingListing } from './trading.ts'

const collectionTitles = ['Around the harbour', 'This season'] as const
const creatorNames = ['Ida Marlow', 'Tomas Reef', 'The Gazette'] as const

/** As of the day on which the demo was created. */
export function createMarketRecords(seed: string, dates: DemoDates): FlatRecord[] {
  const builder = new RecordBuilder(createSeededRandom(seed).fork('markets'), dates)
  const events = numberEvents(seed, dates)
  const accounts = demoAccounts(seed)
  for (const [at, label] of categories.entries())
    builder.add('category', 1 + at, (draws) => categoryFields(dates, label, draws))
  for (const [at, label] of tagLabels.entries()) builder.add('tag', 1 + at, (draws) => tagFields(dates, label, draws))
  for (const [at, name] of creatorNames.entries()) builder.add('creator', 1 + at, () => creatorFields(dates, name))
  for (const [at, title] of collectionTitles.entries()) addCollection(builder, title, 1 + at)
  for (const [at, title] of seriesTitles.entries()) addSeries(builder, title, 1 + at)
  for (const numbered of events) {
    addEvent(builder, numbered, events)
    for (const [at, market] of numbered.plan.markets.entries())
      addMarket(builder, numbered, { id: numbered.marketIds[at] as number, at, market }, accounts)
  }
  return builder.records
}

function numberEvents(seed: string, dates: DemoDates): NumberedEvent[] {
  let marketId = 501
  return createEventPlans(dates).map((plan, at) => {
    const id = 101 + at
    const trading = new EventTrading(plan, dates, `${seed}/markets/${id}`)
    return { plan, id, trading, marketIds: plan.markets.map(() => marketId++) }
  })
}

/** The markets with the prices and volumes of the current time. */
export function createDemoListing(seed: string, dates: DemoDates, nowMs: () => number) {
  const events = numberEvents(seed, dates).map(({ trading, marketIds }) => ({
    trading,
    marketIds: marketIds.map(String),
  }))
  return createTradingListing(createMarketRecords(seed, dates), events, nowMs)
}

/** Each record has its own random stream, so adding a record does not change others. */
class RecordBuilder {
  readonly records: FlatRecord[] = []
  readonly dates: DemoDates
  readonly #draws: SeededRandom

  constructor(draws: SeededRandom, dates: DemoDates) {
    this.#draws = draws
    this.dates = dates
  }

  add(kind: KindName, id: number, fields: (draws: SeededRandom) => object, links: Record<string, string[]> = {}): void {
    this.records.push({ kind, id: String(id), fields: { ...fields(this.#draws.fork(`${kind}/${id}`)) }, links })
  }

  /** Adds an image for a field of another record. Each kind has its own range of image ids. */
  image(id: number, relname: string, relID: number, field: string): string[] {
    this.add('image', id, (draws) => imageFields(this.dates, relname, relID, field, draws))
    return [String(id)]
  }
}

function addCollection(builder: RecordBuilder, title: string, id: number): void {
  const fields = (draws: SeededRandom) => collectionFields(builder.dates, title, tagLabels.slice(0, 3), draws)
  builder.add('collection', id, fields, {
    imageOptimized: builder.image(1000 + id * 10, 'collections', id, 'image'),
    iconOptimized: builder.image(1001 + id * 10, 'collections', id, 'icon'),
    headerImageOptimized: builder.image(1002 + id * 10, 'collections', id, 'headerImage'),
  })
}

function addSeries(builder: RecordBuilder, title: string, id: number): void {
  builder.add('chat', 50 + id, (draws) => chatFields(builder.dates, title, 50 + id, draws))
  builder.add('series', id, (draws) => seriesFields(builder.dates, title, draws), {
    collections: [String(1 + (id % collectionTitles.length))],
    categories: [String(1 + (id % categories.length))],
    tags: [String(1 + (id % tagLabels.length))],
    chats: [String(50 + id)],
  })
}

function addEvent(builder: RecordBuilder, event: NumberedEvent, events: readonly NumberedEvent[]): void {
  const { plan, id } = event
  builder.add('chat', id, (draws) => chatFields(builder.dates, plan.title, id, draws))
  builder.add('template', id, () => templateFields(plan))
  builder.add('event', id, (draws) => eventFields(builder.dates, event, events, draws), {
    imageOptimized: builder.image(id * 100, 'events', id, 'image'),
    iconOptimized: builder.image(id * 100 + 1, 'events', id, 'icon'),
    featuredImageOptimized: builder.image(id * 100 + 2, 'events', id, 'featuredImage'),
    series: [numberOf(seriesTitles, plan.series)],
    categories: [numberOf(categories, plan.category)],
    collections: [String(1 + (id % collectionTitles.length))],
    tags: plan.tags.map((label) => numberOf(tagLabels, label)),
    chats: [String(id)],
    eventCreators: [String(1 + (id % creatorNames.length))],
    templates: [String(id)],
  })
}

function addMarket(
  builder: RecordBuilder,
  { plan, id: eventId, trading }: NumberedEvent,
  { id, at, market }: { id: number; at: number; market: MarketPlan },
  accounts: readonly string[],
): void {
  const fields = (draws: SeededRandom) => ({
    ...marketFields(builder.dates, plan, { id, eventId, at, market }, trading, draws),
    ...marketAddresses(id, accounts),
  })
  builder.add('market', id, fields, {
    imageOptimized: builder.image(id * 100, 'markets', id, 'image'),
    iconOptimized: builder.image(id * 100 + 1, 'markets', id, 'icon'),
    events: [String(eventId)],
    categories: [numberOf(categories, plan.category)],
    tags: plan.tags.map((label) => numberOf(tagLabels, label)),
  })
}

/** Addresses of the demo chain, so that the explorer can trace their funding. */
const marketAddresses = (id: number, accounts: readonly string[]) => ({
  creator: accounts[(id * 3) % accounts.length],
  marketMakerAddress: accounts[(id * 3 + 1) % accounts.length],
})

/** Categories, tags and series are numbered from 1 in the order of the plan. */
function numberOf(list: readonly string[], label: string): string {
  const at = list.indexOf(label)
  if (at < 0) throw new Error(`unknown label in the plan: ${label}`)
  return String(at + 1)
}
