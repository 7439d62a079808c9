// The subjects of the demo markets, as of the day on which the demo was created. Everything else about them is random
// from the seed. This file is long because it is mostly a table.
import { type DemoDates, dayName } from './dates.ts'

/** `question`: yes or no. `game`: two teams, a score. `range`: a figure between two bounds. */
export type Sort = 'question' | 'game' | 'range'
/** `over`: ended, resolved and paid out. `planned`: not open for trading yet. */
export type EventState = 'open' | 'live' | 'over' | 'planned'

export interface MarketPlan {
  /** In the table, `{ends}` stands for the last day. */
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
  readonly category: string
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

/** The events and their markets, with the dates in their questions. */
export const createEventPlans = (dates: DemoDates): readonly EventPlan[] =>
  eventTable(dates).map((event) => ({
    ...event,
    markets: event.markets.map((market) => ({
      ...market,
      question: market.question.replace('{ends}', dayName(market.ends)),
    })),
  }))

export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

const eventTable = (dates: DemoDates): readonly EventPlan[] => [
  {
    title: 'Harbour bridge opening',
    category: 'Infrastructure',
    subcategory: 'Bridges',
    series: harbours,
    sort: 'question',
    state: 'open',
    tags: ['Infrastructure', 'Transport', 'All'],
    markets: [
      {
        question: sampleQuestion,
        short: 'On time',
        ends: dates.monthEnd(1),
        odds: 0.38,
        relation: 'nested',
      },
      {
        question: 'Will the harbour bridge open before the ferry line closes on {ends}?',
        short: 'Before the ferry closes',
        ends: dates.monthEnd(2),
        odds: 0.57,
        relation: 'nested',
      },
      {
        question: 'Will the harbour bridge charge a toll by {ends}?',
        short: 'Toll',
        ends: dates.monthEnd(7),
        odds: 0.71,
      },
      {
        question: 'Will a ship be delayed by the harbour bridge before {ends}?',
        short: 'Ship delayed',
        ends: dates.monthEnd(1),
        odds: 0.16,
      },
    ],
  },
  {
    title: 'Deep water terminal',
    category: 'Infrastructure',
    subcategory: 'Ports',
    series: harbours,
    sort: 'question',
    state: 'planned',
    tags: ['Infrastructure', 'Energy'],
    markets: [
      {
        question: 'Will the deep water terminal be approved by {ends}?',
        short: 'Approved',
        ends: dates.monthEnd(4),
        odds: 0.5,
      },
      {
        question: 'Will the deep water terminal run on shore power by {ends}?',
        short: 'Shore power',
        ends: dates.monthEnd(13),
        odds: 0.5,
      },
      {
        question: 'Will the deep water terminal receive its first ship by {ends}?',
        short: 'First ship',
        ends: dates.monthEnd(13),
        odds: 0.5,
      },
    ],
  },
  {
    title: 'Night train returns',
    category: 'Infrastructure',
    subcategory: 'Rail',
    series: harbours,
    sort: 'question',
    state: 'over',
    tags: ['Transport'],
    markets: [
      {
        question: 'Will the night train run daily by {ends}?',
        short: 'Daily',
        ends: dates.day(-45),
        odds: 0.64,
        cameTrue: true,
      },
      {
        question: 'Will the night train sell out in the week to {ends}?',
        short: 'Sold out',
        ends: dates.day(-36),
        odds: 0.45,
        cameTrue: true,
      },
      {
        question: 'Will the night train be late on {ends}?',
        short: 'Late',
        ends: dates.day(-43),
        odds: 0.3,
        cameTrue: false,
      },
    ],
  },
  {
    title: 'Gulls vs. Lighthouse',
    category: 'Sports',
    subcategory: 'Football',
    series: league,
    sort: 'game',
    state: 'open',
    tags: ['Football', 'All'],
    starts: `${dates.day(34)}T17:30:00Z`,
    markets: [
      {
        question: 'Will the Gulls beat the Lighthouse on {ends}?',
        short: 'Gulls',
        ends: dates.day(34),
        odds: 0.44,
        relation: 'exclusive',
      },
      {
        question: 'Will Gulls vs. Lighthouse on {ends} end in a draw?',
        short: 'Draw',
        ends: dates.day(34),
        odds: 0.27,
        relation: 'exclusive',
      },
      {
        question: 'Will the Lighthouse beat the Gulls on {ends}?',
        short: 'Lighthouse',
        ends: dates.day(34),
        odds: 0.29,
        relation: 'exclusive',
      },
      {
        question: 'Will Gulls vs. Lighthouse on {ends} have more than 1.5 goals?',
        short: 'Over 1.5',
        ends: dates.day(34),
        odds: 0.76,
        relation: 'nested',
      },
      {
        question: 'Will Gulls vs. Lighthouse on {ends} have more than 2.5 goals?',
        short: 'Over 2.5',
        ends: dates.day(34),
        odds: 0.52,
        relation: 'nested',
      },
      {
        question: 'Which team will score first on {ends}, the Gulls or the Lighthouse?',
        short: 'First goal',
        ends: dates.day(34),
        odds: 0.56,
        outcomes: ['Gulls', 'Lighthouse'],
      },
    ],
  },
  {
    title: 'Anchors vs. Tide',
    category: 'Sports',
    subcategory: 'Football',
    series: league,
    sort: 'game',
    state: 'over',
    tags: ['Football'],
    starts: `${dates.day(-15)}T15:00:00Z`,
    score: '2-1',
    markets: [
      {
        question: 'Will the Anchors beat the Tide on {ends}?',
        short: 'Anchors',
        ends: dates.day(-15),
        odds: 0.41,
        relation: 'exclusive',
        cameTrue: true,
      },
      {
        question: 'Will Anchors vs. Tide on {ends} end in a draw?',
        short: 'Draw',
        ends: dates.day(-15),
        odds: 0.28,
        relation: 'exclusive',
        cameTrue: false,
      },
      {
        question: 'Will the Tide beat the Anchors on {ends}?',
        short: 'Tide',
        ends: dates.day(-15),
        odds: 0.31,
        relation: 'exclusive',
        cameTrue: false,
      },
      {
        question: 'Will Anchors vs. Tide on {ends} have more than 3.5 goals?',
        short: 'Over 3.5',
        ends: dates.day(-15),
        odds: 0.3,
        relation: 'nested',
        cameTrue: false,
      },
    ],
  },
  {
    title: 'Two Islands Regatta',
    category: 'Sports',
    subcategory: 'Sailing',
    series: league,
    sort: 'game',
    state: 'planned',
    tags: ['Sailing'],
    starts: `${dates.day(174)}T09:00:00Z`,
    markets: [
      {
        question: 'Will the record of the Two Islands Regatta fall on {ends}?',
        short: 'Record',
        ends: dates.day(174),
        odds: 0.5,
      },
      {
        question: 'Will the Two Islands Regatta be postponed beyond {ends}?',
        short: 'Postponed',
        ends: dates.day(174),
        odds: 0.5,
      },
      {
        question: 'Will a catamaran win the Two Islands Regatta on {ends}?',
        short: 'Catamaran',
        ends: dates.day(174),
        odds: 0.5,
      },
    ],
  },
  {
    title: 'Consumer prices',
    category: 'Economy',
    subcategory: 'Inflation',
    series: index,
    sort: 'range',
    state: 'open',
    tags: ['Inflation', 'All'],
    unit: 'Change in percent',
    markets: [
      {
        question: `Will consumer prices rise by less than 2.0% in the year to ${dates.monthName(0)}?`,
        short: 'Less than 2.0%',
        ends: dates.monthEnd(1),
        odds: 0.14,
        relation: 'exclusive',
        bounds: { upper: '2.0' },
      },
      {
        question: `Will consumer prices rise by 2.0% to 2.4% in the year to ${dates.monthName(0)}?`,
        short: '2.0% to 2.4%',
        ends: dates.monthEnd(1),
        odds: 0.39,
        relation: 'exclusive',
        bounds: { lower: '2.0', upper: '2.4' },
      },
      {
        question: `Will consumer prices rise by 2.5% to 2.9% in the year to ${dates.monthName(0)}?`,
        short: '2.5% to 2.9%',
        ends: dates.monthEnd(1),
        odds: 0.33,
        relation: 'exclusive',
        bounds: { lower: '2.5', upper: '2.9' },
      },
      {
        question: `Will consumer prices rise by 3.0% or more in the year to ${dates.monthName(0)}?`,
        short: '3.0% or more',
        ends: dates.monthEnd(1),
        odds: 0.14,
        relation: 'exclusive',
        bounds: { lower: '3.0' },
      },
    ],
  },
  {
    title: 'Price of oak timber',
    category: 'Economy',
    subcategory: 'Commodities',
    series: index,
    sort: 'range',
    state: 'open',
    tags: ['Inflation'],
    unit: 'Price of a cubic metre',
    markets: [
      {
        question: 'Will oak timber cost more than 400 a cubic metre on {ends}?',
        short: 'Above 400',
        ends: dates.monthEnd(1),
        odds: 0.83,
        relation: 'nested',
        bounds: { lower: '400' },
      },
      {
        question: 'Will oak timber cost more than 450 a cubic metre on {ends}?',
        short: 'Above 450',
        ends: dates.monthEnd(1),
        odds: 0.54,
        relation: 'nested',
        bounds: { lower: '450' },
      },
      {
        question: 'Will oak timber cost more than 500 a cubic metre on {ends}?',
        short: 'Above 500',
        ends: dates.monthEnd(1),
        odds: 0.19,
        relation: 'nested',
        bounds: { lower: '500' },
      },
    ],
  },
  {
    title: 'Power price at noon',
    category: 'Economy',
    subcategory: 'Energy',
    series: index,
    sort: 'range',
    state: 'over',
    tags: ['Energy'],
    unit: 'Price of a megawatt hour',
    markets: [
      {
        question: 'Will power cost less than 0 at noon on {ends}?',
        short: 'Below 0',
        ends: dates.day(-14),
        odds: 0.12,
        relation: 'exclusive',
        bounds: { upper: '0' },
        cameTrue: false,
      },
      {
        question: 'Will power cost 0 to 60 at noon on {ends}?',
        short: '0 to 60',
        ends: dates.day(-14),
        odds: 0.61,
        relation: 'exclusive',
        bounds: { lower: '0', upper: '60' },
        cameTrue: true,
      },
      {
        question: 'Will power cost more than 60 at noon on {ends}?',
        short: 'Above 60',
        ends: dates.day(-14),
        odds: 0.27,
        relation: 'exclusive',
        bounds: { lower: '60' },
        cameTrue: false,
      },
    ],
  },
  {
    title: 'Comet near the sun',
    category: 'Science',
    subcategory: 'Astronomy',
    series: sky,
    sort: 'question',
    state: 'open',
    tags: ['Space', 'All'],
    markets: [
      {
        question: 'Will the comet be visible to the naked eye by {ends}?',
        short: 'Naked eye',
        ends: dates.monthEnd(1),
        odds: 0.62,
        relation: 'nested',
      },
      {
        question: 'Will the comet break apart before {ends}?',
        short: 'Breaks apart',
        ends: dates.monthEnd(1),
        odds: 0.09,
      },
      {
        question: 'Will the comet be brighter than magnitude 4 on {ends}?',
        short: 'Magnitude 4',
        ends: dates.day(25),
        odds: 0.35,
        relation: 'nested',
      },
    ],
  },
  {
    title: 'Weather at the harbour',
    category: 'Science',
    subcategory: 'Weather',
    series: sky,
    sort: 'question',
    state: 'live',
    tags: ['Weather'],
    markets: [
      {
        question: 'Will the harbour have a storm by {ends}?',
        short: 'Storm',
        ends: dates.day(21),
        odds: 0.88,
      },
      {
        question: 'Will a ship run aground in the harbour before {ends}?',
        short: 'Runs aground',
        ends: dates.monthEnd(3),
        odds: 0.11,
      },
      {
        question: 'Will it rain at the harbour on {ends}?',
        short: 'Rain',
        ends: dates.day(22),
        odds: 0.24,
      },
    ],
  },
  {
    title: 'Short Film Festival',
    category: 'Culture',
    subcategory: 'Film',
    series: sky,
    sort: 'question',
    state: 'planned',
    tags: ['Film', 'Books'],
    markets: [
      {
        question: 'Will an animated film win the Short Film Festival on {ends}?',
        short: 'Animated',
        ends: dates.day(104),
        odds: 0.5,
      },
      {
        question: 'Will the Short Film Festival of {ends} move to the old mill?',
        short: 'Old mill',
        ends: dates.day(104),
        odds: 0.5,
      },
      {
        question: 'Will a film based on a book win the Short Film Festival on {ends}?',
        short: 'From a book',
        ends: dates.day(104),
        odds: 0.5,
      },
      {
        question: 'Will the Short Film Festival sell every ticket by {ends}?',
        short: 'Sold out',
        ends: dates.day(104),
        odds: 0.5,
      },
    ],
  },
]
