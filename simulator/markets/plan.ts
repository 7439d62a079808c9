// The subjects of the demo markets. Their dates fit 15 November 2026, the date of the demo. Everything else about them is
// random from the seed.

/** `question`: yes or no. `game`: two teams, a score. `range`: a figure between two bounds. */
export type Sort = 'question' | 'game' | 'range'
/** `over`: ended, resolved and paid out. `planned`: not open for trading yet. */
export type EventState = 'open' | 'live' | 'over' | 'planned'

export interface MarketPlan {
  readonly question: string
  /** Its name among the markets of the event. */
  readonly short: string
  /** The last day, which the question names if it names a day. */
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
export const seriesTitles = ['Northern Harbours', 'Coastal League 2026', 'Monthly Price Index', 'Sky Watch'] as const
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
export const sampleQuestion = 'Will the harbour bridge open in 2026?'
export const samplePastSlug = 'harbour-bridge-opening-2026'

const [harbours, league, index, sky] = seriesTitles

export const eventPlans: readonly EventPlan[] = [
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
        short: 'Opens in 2026',
        ends: '2026-12-31',
        odds: 0.38,
        relation: 'nested',
      },
      {
        question: 'Will the harbour bridge open before the ferry line closes on 31 January 2027?',
        short: 'Before the ferry closes',
        ends: '2027-01-31',
        odds: 0.57,
        relation: 'nested',
      },
      {
        question: 'Will the harbour bridge charge a toll by 30 June 2027?',
        short: 'Toll',
        ends: '2027-06-30',
        odds: 0.71,
      },
      {
        question: 'Will a ship be delayed by the harbour bridge before 31 December 2026?',
        short: 'Ship delayed',
        ends: '2026-12-31',
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
        question: 'Will the deep water terminal be approved by 31 March 2027?',
        short: 'Approved',
        ends: '2027-03-31',
        odds: 0.5,
      },
      {
        question: 'Will the deep water terminal run on shore power by 31 December 2027?',
        short: 'Shore power',
        ends: '2027-12-31',
        odds: 0.5,
      },
      {
        question: 'Will the deep water terminal receive its first ship by 31 December 2027?',
        short: 'First ship',
        ends: '2027-12-31',
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
        question: 'Will the night train run daily by 1 October 2026?',
        short: 'Daily',
        ends: '2026-10-01',
        odds: 0.64,
        cameTrue: true,
      },
      {
        question: 'Will the night train sell out in the week to 10 October 2026?',
        short: 'Sold out',
        ends: '2026-10-10',
        odds: 0.45,
        cameTrue: true,
      },
      {
        question: 'Will the night train be late on 3 October 2026?',
        short: 'Late',
        ends: '2026-10-03',
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
    starts: '2026-12-19T17:30:00Z',
    markets: [
      {
        question: 'Will the Gulls beat the Lighthouse on 19 December 2026?',
        short: 'Gulls',
        ends: '2026-12-19',
        odds: 0.44,
        relation: 'exclusive',
      },
      {
        question: 'Will Gulls vs. Lighthouse on 19 December 2026 end in a draw?',
        short: 'Draw',
        ends: '2026-12-19',
        odds: 0.27,
        relation: 'exclusive',
      },
      {
        question: 'Will the Lighthouse beat the Gulls on 19 December 2026?',
        short: 'Lighthouse',
        ends: '2026-12-19',
        odds: 0.29,
        relation: 'exclusive',
      },
      {
        question: 'Will Gulls vs. Lighthouse on 19 December 2026 have more than 1.5 goals?',
        short: 'Over 1.5',
        ends: '2026-12-19',
        odds: 0.76,
        relation: 'nested',
      },
      {
        question: 'Will Gulls vs. Lighthouse on 19 December 2026 have more than 2.5 goals?',
        short: 'Over 2.5',
        ends: '2026-12-19',
        odds: 0.52,
        relation: 'nested',
      },
      {
        question: 'Which team will score first on 19 December 2026, the Gulls or the Lighthouse?',
        short: 'First goal',
        ends: '2026-12-19',
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
    starts: '2026-10-31T15:00:00Z',
    score: '2-1',
    markets: [
      {
        question: 'Will the Anchors beat the Tide on 31 October 2026?',
        short: 'Anchors',
        ends: '2026-10-31',
        odds: 0.41,
        relation: 'exclusive',
        cameTrue: true,
      },
      {
        question: 'Will Anchors vs. Tide on 31 October 2026 end in a draw?',
        short: 'Draw',
        ends: '2026-10-31',
        odds: 0.28,
        relation: 'exclusive',
        cameTrue: false,
      },
      {
        question: 'Will the Tide beat the Anchors on 31 October 2026?',
        short: 'Tide',
        ends: '2026-10-31',
        odds: 0.31,
        relation: 'exclusive',
        cameTrue: false,
      },
      {
        question: 'Will Anchors vs. Tide on 31 October 2026 have more than 3.5 goals?',
        short: 'Over 3.5',
        ends: '2026-10-31',
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
    starts: '2027-05-08T09:00:00Z',
    markets: [
      {
        question: 'Will the record of the Two Islands Regatta fall on 8 May 2027?',
        short: 'Record',
        ends: '2027-05-08',
        odds: 0.5,
      },
      {
        question: 'Will the Two Islands Regatta be postponed beyond 8 May 2027?',
        short: 'Postponed',
        ends: '2027-05-08',
        odds: 0.5,
      },
      {
        question: 'Will a catamaran win the Two Islands Regatta on 8 May 2027?',
        short: 'Catamaran',
        ends: '2027-05-08',
        odds: 0.5,
      },
    ],
  },
  {
    title: 'Consumer prices in November',
    category: 'Economy',
    subcategory: 'Inflation',
    series: index,
    sort: 'range',
    state: 'open',
    tags: ['Inflation', 'All'],
    unit: 'Change in percent',
    markets: [
      {
        question: 'Will consumer prices rise by less than 2.0% in the year to November 2026?',
        short: 'Less than 2.0%',
        ends: '2026-12-31',
        odds: 0.14,
        relation: 'exclusive',
        bounds: { upper: '2.0' },
      },
      {
        question: 'Will consumer prices rise by 2.0% to 2.4% in the year to November 2026?',
        short: '2.0% to 2.4%',
        ends: '2026-12-31',
        odds: 0.39,
        relation: 'exclusive',
        bounds: { lower: '2.0', upper: '2.4' },
      },
      {
        question: 'Will consumer prices rise by 2.5% to 2.9% in the year to November 2026?',
        short: '2.5% to 2.9%',
        ends: '2026-12-31',
        odds: 0.33,
        relation: 'exclusive',
        bounds: { lower: '2.5', upper: '2.9' },
      },
      {
        question: 'Will consumer prices rise by 3.0% or more in the year to November 2026?',
        short: '3.0% or more',
        ends: '2026-12-31',
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
        question: 'Will oak timber cost more than 400 a cubic metre on 31 December 2026?',
        short: 'Above 400',
        ends: '2026-12-31',
        odds: 0.83,
        relation: 'nested',
        bounds: { lower: '400' },
      },
      {
        question: 'Will oak timber cost more than 450 a cubic metre on 31 December 2026?',
        short: 'Above 450',
        ends: '2026-12-31',
        odds: 0.54,
        relation: 'nested',
        bounds: { lower: '450' },
      },
      {
        question: 'Will oak timber cost more than 500 a cubic metre on 31 December 2026?',
        short: 'Above 500',
        ends: '2026-12-31',
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
        question: 'Will power cost less than 0 at noon on Sunday, 1 November 2026?',
        short: 'Below 0',
        ends: '2026-11-01',
        odds: 0.12,
        relation: 'exclusive',
        bounds: { upper: '0' },
        cameTrue: false,
      },
      {
        question: 'Will power cost 0 to 60 at noon on Sunday, 1 November 2026?',
        short: '0 to 60',
        ends: '2026-11-01',
        odds: 0.61,
        relation: 'exclusive',
        bounds: { lower: '0', upper: '60' },
        cameTrue: true,
      },
      {
        question: 'Will power cost more than 60 at noon on Sunday, 1 November 2026?',
        short: 'Above 60',
        ends: '2026-11-01',
        odds: 0.27,
        relation: 'exclusive',
        bounds: { lower: '60' },
        cameTrue: false,
      },
    ],
  },
  {
    title: 'Comet in December',
    category: 'Science',
    subcategory: 'Astronomy',
    series: sky,
    sort: 'question',
    state: 'open',
    tags: ['Space', 'All'],
    markets: [
      {
        question: 'Will the comet be visible to the naked eye by 31 December 2026?',
        short: 'Naked eye',
        ends: '2026-12-31',
        odds: 0.62,
        relation: 'nested',
      },
      {
        question: 'Will the comet break apart before 31 December 2026?',
        short: 'Breaks apart',
        ends: '2026-12-31',
        odds: 0.09,
      },
      {
        question: 'Will the comet be brighter than magnitude 4 on 24 December 2026?',
        short: 'Magnitude 4',
        ends: '2026-12-24',
        odds: 0.35,
        relation: 'nested',
      },
    ],
  },
  {
    title: 'Winter at the harbour',
    category: 'Science',
    subcategory: 'Weather',
    series: sky,
    sort: 'question',
    state: 'live',
    tags: ['Weather'],
    markets: [
      {
        question: 'Will the harbour have its first frost by 20 December 2026?',
        short: 'First frost',
        ends: '2026-12-20',
        odds: 0.88,
      },
      {
        question: 'Will the harbour freeze before 28 February 2027?',
        short: 'Freezes',
        ends: '2027-02-28',
        odds: 0.11,
      },
      {
        question: 'Will snow fall at the harbour on 21 December 2026?',
        short: 'Snow',
        ends: '2026-12-21',
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
        question: 'Will an animated film win the Short Film Festival on 27 February 2027?',
        short: 'Animated',
        ends: '2027-02-27',
        odds: 0.5,
      },
      {
        question: 'Will the Short Film Festival of 27 February 2027 move to the old mill?',
        short: 'Old mill',
        ends: '2027-02-27',
        odds: 0.5,
      },
      {
        question: 'Will a film based on a book win the Short Film Festival on 27 February 2027?',
        short: 'From a book',
        ends: '2027-02-27',
        odds: 0.5,
      },
      {
        question: 'Will the Short Film Festival sell every ticket by 27 February 2027?',
        short: 'Sold out',
        ends: '2027-02-27',
        odds: 0.5,
      },
    ],
  },
]

export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

const dayMs = 86_400_000
/** The date that the questions fit. */
export const demoDateMs = Date.UTC(2026, 10, 15)
export const isoOf = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')
/** A time relative to the date of the demo, in days. */
export const isoAt = (days: number): string => isoOf(demoDateMs + days * dayMs)
export const dayAfter = (day: string): string => isoOf(Date.parse(day) + dayMs).slice(0, 10)
