// The subjects of the demo markets. Everything else about them is random from the seed.

/** `question`: yes or no. `game`: two teams, a score. `range`: a figure between two bounds. */
export type Sort = 'question' | 'game' | 'range'
/** `over`: ended, resolved and paid out. */
export type EventState = 'open' | 'live' | 'over' | 'planned'

export interface EventPlan {
  readonly title: string
  readonly category: string
  readonly subcategory: string
  readonly series: string
  readonly sort: Sort
  readonly state: EventState
  readonly tags: readonly string[]
  readonly questions: readonly string[]
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
    questions: [
      sampleQuestion,
      'Will the harbour bridge open before the ferry line closes?',
      'Will the harbour bridge charge a toll in its first year?',
      'Will a ship be delayed by the harbour bridge in 2026?',
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
    questions: [
      'Will the deep water terminal be approved by March?',
      'Will the deep water terminal be powered from shore?',
      'Will the deep water terminal take its first ship in 2027?',
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
    questions: [
      'Will the night train run daily by October?',
      'Will the night train sell out in its first week?',
      'Will the night train be late on its first run?',
    ],
  },
  {
    title: 'Gulls vs. Lighthouse',
    category: 'Sports',
    subcategory: 'Football',
    series: league,
    sort: 'game',
    state: 'live',
    tags: ['Football', 'All'],
    questions: [
      'Gulls vs. Lighthouse: who wins?',
      'Gulls vs. Lighthouse: over 2.5 goals?',
      'Gulls vs. Lighthouse: both teams to score?',
      'Gulls vs. Lighthouse: Gulls by more than 1.5?',
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
    questions: [
      'Anchors vs. Tide: who wins?',
      'Anchors vs. Tide: over 3.5 goals?',
      'Anchors vs. Tide: a goal in the first half?',
    ],
  },
  {
    title: 'Two islands regatta',
    category: 'Sports',
    subcategory: 'Sailing',
    series: league,
    sort: 'game',
    state: 'planned',
    tags: ['Sailing'],
    questions: [
      'Two islands regatta: will the record fall?',
      'Two islands regatta: will it be postponed?',
      'Two islands regatta: who crosses first?',
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
    questions: [
      'Consumer prices up less than 2.0% in November?',
      'Consumer prices up 2.0% to 2.4% in November?',
      'Consumer prices up 2.5% to 2.9% in November?',
      'Consumer prices up 3.0% or more in November?',
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
    questions: [
      'Oak timber above 400 at year end?',
      'Oak timber above 450 at year end?',
      'Oak timber above 500 at year end?',
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
    questions: [
      'Power below zero at noon on Sunday?',
      'Power above 100 at noon on Sunday?',
      'Power between 20 and 60 at noon on Sunday?',
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
    questions: [
      'Will the December comet be seen with the naked eye?',
      'Will the December comet break apart?',
      'Will the December comet be brighter than magnitude 4?',
    ],
  },
  {
    title: 'First frost',
    category: 'Science',
    subcategory: 'Weather',
    series: sky,
    sort: 'question',
    state: 'live',
    tags: ['Weather'],
    questions: [
      'Will the first frost come before 20 November?',
      'Will the harbour freeze this winter?',
      'Will snow fall on midwinter day?',
    ],
  },
  {
    title: 'Festival of short films',
    category: 'Culture',
    subcategory: 'Film',
    series: sky,
    sort: 'question',
    state: 'planned',
    tags: ['Film', 'Books'],
    questions: [
      'Will an animated film win the short film festival?',
      'Will the short film festival move to the old mill?',
      'Will the winning short film be based on a book?',
      'Will the short film festival sell every ticket?',
    ],
  },
]

export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

/** A time relative to the fixed start of the demo, in days. */
export const isoAt = (days: number): string =>
  new Date(Date.UTC(2026, 10, 15) + days * 86_400_000).toISOString().replace('.000Z', 'Z')
export const dayAt = (days: number): string => isoAt(days).slice(0, 10)
