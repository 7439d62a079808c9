// The subjects of the demo markets, as of the day on which the demo was created. Everything else about them is random
// from the seed. This file is long because it is mostly a table.
import { type DemoDates, dayName } from './dates.ts'

/** `question`: yes or no. `game`: two teams, a score. `range`: a figure between two bounds. */
export type Sort = 'question' | 'game' | 'range'
/** `over`: ended, resolved and paid out. `planned`: not open for trading yet. */
export type EventState = 'open' | 'live' | 'over' | 'planned'

export interface MarketPlan {
  readonly question: string
  /** Its name among the markets of the event. */
  readonly short: string
  /** The last day, as 2026-12-31. The question names no other day. */
  readonly ends: string
  /** Usual price of the first outcome. */
  readonly odds: number
  /**
   * `exclusive`: exactly one of these markets of the event resolves to the first outcome, so their prices add up to about 1.
   * `nested`: one implies the other, as thresholds and deadlines do. The prices always have the order of `odds`.
   */
  readonly relation?: 'exclusive' | 'nested'
  /** Default: Yes and No. */
  readonly outcomes?: readonly [string, string]
  /** Of a figure. */
  readonly bounds?: { readonly lower?: string; readonly upper?: string }
  /** The first outcome came true. Only if the event is over. */
  readonly cameTrue?: boolean
}

export interface EventPlan {
  readonly title: string
  readonly category: Category
  readonly subcategory: string
  readonly series: string
  readonly sort: Sort
  readonly state: EventState
  readonly tags: readonly string[]
  /** When a game starts. */
  readonly starts?: string
  /** The final score of a game. */
  readonly score?: string
  /** The unit of a figure. */
  readonly unit?: string
  readonly markets: readonly MarketPlan[]
}

export const categories = ['Infrastructure', 'Sports', 'Economy', 'Science', 'Culture'] as const
type Category = (typeof categories)[number]
export const seriesTitles = ['Northern Harbours', 'Coastal League', 'Monthly Price Index', 'Sky Watch'] as const
export const tagLabels = [
  'Infrastructure',
  'Transport',
  'Football',
  'Sailing',
  'Inflation',
  'Energy',
  'Space',
  'Weather',
  'Film',
  'Books',
  'All',
] as const

/** The first question is the sample market of the start-up output and of the contract's example. */
export const sampleQuestion = 'Will the harbour bridge open on time?'
export const samplePastSlug = 'harbour-bridge-opening-day'

const [harbours, league, index, sky] = seriesTitles

/** What all events of a category share. */
const eventsOfCategory: Readonly<Record<Category, Pick<EventPlan, 'series' | 'sort'>>> = {
  Infrastructure: { series: harbours, sort: 'question' },
  Sports: { series: league, sort: 'game' },
  Economy: { series: index, sort: 'range' },
  Science: { series: sky, sort: 'question' },
  Culture: { series: sky, sort: 'question' },
}

/** The events and their markets, with the dates in their questions. */
export const createEventPlans = (dates: DemoDates): readonly EventPlan[] =>
  eventTable(dates).map(({ ends: lastDay, markets, ...event }) => ({
    ...event,
    ...eventsOfCategory[event.category],
    markets: markets.map(({ ends = lastDay, ...market }) => ({
      ...market,
      ends,
      question: market.question.replace('{ends}', dayName(ends)),
    })),
  }))

export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

/** In questions, `{ends}` stands for the last day, which is that of the event unless the market has its own. */
type MarketRow = Omit<MarketPlan, 'ends'> & { readonly ends?: string }
interface EventRow extends Omit<EventPlan, 'series' | 'sort' | 'markets'> {
  readonly ends: string
  readonly markets: readonly MarketRow[]
}

const market = (question: string, short: string, odds: number, more: Partial<MarketPlan> = {}): MarketRow => ({
  question,
  short,
  odds,
  ...more,
})
const exclusive: typeof market = (question, short, odds, more) =>
  market(question, short, odds, { relation: 'exclusive', ...more })
const nested: typeof market = (question, short, odds, more) =>
  market(question, short, odds, { relation: 'nested', ...more })

const eventTable = (dates: DemoDates): readonly EventRow[] => [
  {
    title: 'Harbour bridge opening',
    category: 'Infrastructure',
    subcategory: 'Bridges',
    state: 'open',
    tags: ['Infrastructure', 'Transport', 'All'],
    ends: dates.monthEnd(1),
    markets: [
      nested(sampleQuestion, 'On time', 0.38),
      nested('Will the harbour bridge open before the ferry line closes on {ends}?', 'Before the ferry closes', 0.57, {
        ends: dates.monthEnd(2),
      }),
      market('Will the harbour bridge charge a toll by {ends}?', 'Toll', 0.71, { ends: dates.monthEnd(7) }),
      market('Will a ship be delayed by the harbour bridge before {ends}?', 'Ship delayed', 0.16),
    ],
  },
  {
    title: 'Deep water terminal',
    category: 'Infrastructure',
    subcategory: 'Ports',
    state: 'planned',
    tags: ['Infrastructure', 'Energy'],
    ends: dates.monthEnd(13),
    markets: [
      market('Will the deep water terminal be approved by {ends}?', 'Approved', 0.5, { ends: dates.monthEnd(4) }),
      market('Will the deep water terminal run on shore power by {ends}?', 'Shore power', 0.5),
      market('Will the deep water terminal receive its first ship by {ends}?', 'First ship', 0.5),
    ],
  },
  {
    title: 'Night train returns',
    category: 'Infrastructure',
    subcategory: 'Rail',
    state: 'over',
    tags: ['Transport'],
    ends: dates.day(-45),
    markets: [
      market('Will the night train run daily by {ends}?', 'Daily', 0.64, { cameTrue: true }),
      market('Will the night train sell out in the week to {ends}?', 'Sold out', 0.45, {
        ends: dates.day(-36),
        cameTrue: true,
      }),
      market('Will the night train be late on {ends}?', 'Late', 0.3, { ends: dates.day(-43), cameTrue: false }),
    ],
  },
  {
    title: 'Gulls vs. Lighthouse',
    category: 'Sports',
    subcategory: 'Football',
    state: 'open',
    tags: ['Football', 'All'],
    starts: `${dates.day(34)}T17:30:00Z`,
    ends: dates.day(34),
    markets: [
      exclusive('Will the Gulls beat the Lighthouse on {ends}?', 'Gulls', 0.44),
      exclusive('Will Gulls vs. Lighthouse on {ends} end in a draw?', 'Draw', 0.27),
      exclusive('Will the Lighthouse beat the Gulls on {ends}?', 'Lighthouse', 0.29),
      nested('Will Gulls vs. Lighthouse on {ends} have more than 1.5 goals?', 'Over 1.5', 0.76),
      nested('Will Gulls vs. Lighthouse on {ends} have more than 2.5 goals?', 'Over 2.5', 0.52),
      market('Which team will score first on {ends}, the Gulls or the Lighthouse?', 'First goal', 0.56, {
        outcomes: ['Gulls', 'Lighthouse'],
      }),
    ],
  },
  {
    title: 'Anchors vs. Tide',
    category: 'Sports',
    subcategory: 'Football',
    state: 'over',
    tags: ['Football'],
    starts: `${dates.day(-15)}T15:00:00Z`,
    score: '2-1',
    ends: dates.day(-15),
    markets: [
      exclusive('Will the Anchors beat the Tide on {ends}?', 'Anchors', 0.41, { cameTrue: true }),
      exclusive('Will Anchors vs. Tide on {ends} end in a draw?', 'Draw', 0.28, { cameTrue: false }),
      exclusive('Will the Tide beat the Anchors on {ends}?', 'Tide', 0.31, { cameTrue: false }),
      nested('Will Anchors vs. Tide on {ends} have more than 3.5 goals?', 'Over 3.5', 0.3, { cameTrue: false }),
    ],
  },
  {
    title: 'Two Islands Regatta',
    category: 'Sports',
    subcategory: 'Sailing',
    state: 'planned',
    tags: ['Sailing'],
    starts: `${dates.day(174)}T09:00:00Z`,
    ends: dates.day(174),
    markets: [
      market('Will the record of the Two Islands Regatta fall on {ends}?', 'Record', 0.5),
      market('Will the Two Islands Regatta be postponed beyond {ends}?', 'Postponed', 0.5),
      market('Will a catamaran win the Two Islands Regatta on {ends}?', 'Catamaran', 0.5),
    ],
  },
  {
    title: 'Consumer prices',
    category: 'Economy',
    subcategory: 'Inflation',
    state: 'open',
    tags: ['Inflation', 'All'],
    unit: 'Change in percent',
    ends: dates.monthEnd(1),
    markets: [
      exclusive(consumerPrices(dates, 'rise by less than 2.0%'), 'Less than 2.0%', 0.14, { bounds: { upper: '2.0' } }),
      exclusive(consumerPrices(dates, 'rise by 2.0% to 2.4%'), '2.0% to 2.4%', 0.39, {
        bounds: { lower: '2.0', upper: '2.4' },
      }),
      exclusive(consumerPrices(dates, 'rise by 2.5% to 2.9%'), '2.5% to 2.9%', 0.33, {
        bounds: { lower: '2.5', upper: '2.9' },
      }),
      exclusive(consumerPrices(dates, 'rise by 3.0% or more'), '3.0% or more', 0.14, { bounds: { lower: '3.0' } }),
    ],
  },
  {
    title: 'Price of oak timber',
    category: 'Economy',
    subcategory: 'Commodities',
    state: 'open',
    tags: ['Inflation'],
    unit: 'Price of a cubic metre',
    ends: dates.monthEnd(1),
    markets: [
      nested('Will oak timber cost more than 400 a cubic metre on {ends}?', 'Above 400', 0.83, {
        bounds: { lower: '400' },
      }),
      nested('Will oak timber cost more than 450 a cubic metre on {ends}?', 'Above 450', 0.54, {
        bounds: { lower: '450' },
      }),
      nested('Will oak timber cost more than 500 a cubic metre on {ends}?', 'Above 500', 0.19, {
        bounds: { lower: '500' },
      }),
    ],
  },
  {
    title: 'Power price at noon',
    category: 'Economy',
    subcategory: 'Energy',
    state: 'over',
    tags: ['Energy'],
    unit: 'Price of a megawatt hour',
    ends: dates.day(-14),
    markets: [
      exclusive('Will power cost less than 0 at noon on {ends}?', 'Below 0', 0.12, {
        bounds: { upper: '0' },
        cameTrue: false,
      }),
      exclusive('Will power cost 0 to 60 at noon on {ends}?', '0 to 60', 0.61, {
        bounds: { lower: '0', upper: '60' },
        cameTrue: true,
      }),
      exclusive('Will power cost more than 60 at noon on {ends}?', 'Above 60', 0.27, {
        bounds: { lower: '60' },
        cameTrue: false,
      }),
    ],
  },
  {
    title: 'Comet near the sun',
    category: 'Science',
    subcategory: 'Astronomy',
    state: 'open',
    tags: ['Space', 'All'],
    ends: dates.monthEnd(1),
    markets: [
      nested('Will the comet be visible to the naked eye by {ends}?', 'Naked eye', 0.62),
      market('Will the comet break apart before {ends}?', 'Breaks apart', 0.09),
      nested('Will the comet be brighter than magnitude 4 on {ends}?', 'Magnitude 4', 0.35, { ends: dates.day(25) }),
    ],
  },
  {
    title: 'Weather at the harbour',
    category: 'Science',
    subcategory: 'Weather',
    state: 'live',
    tags: ['Weather'],
    ends: dates.day(21),
    markets: [
      market('Will the harbour have a storm by {ends}?', 'Storm', 0.88),
      market('Will a ship run aground in the harbour before {ends}?', 'Runs aground', 0.11, {
        ends: dates.monthEnd(3),
      }),
      market('Will it rain at the harbour on {ends}?', 'Rain', 0.24, { ends: dates.day(22) }),
    ],
  },
  {
    title: 'Short Film Festival',
    category: 'Culture',
    subcategory: 'Film',
    state: 'planned',
    tags: ['Film', 'Books'],
    ends: dates.day(104),
    markets: [
      market('Will an animated film win the Short Film Festival on {ends}?', 'Animated', 0.5),
      market('Will the Short Film Festival of {ends} move to the old mill?', 'Old mill', 0.5),
      market('Will a film based on a book win the Short Film Festival on {ends}?', 'From a book', 0.5),
      market('Will the Short Film Festival sell every ticket by {ends}?', 'Sold out', 0.5),
    ],
  },
]

const consumerPrices = (dates: DemoDates, change: string): string =>
  `Will consumer prices ${change} in the year to ${dates.monthName(0)}?`
