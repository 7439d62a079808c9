// Generates any number of nested market records for benchmarks, with fields and sizes as in the demo.
import { createSeededRandom } from '../seeded-random.ts'
import { eventFields, seriesFields } from './event.ts'
import { EventTrading } from './event-trading.ts'
import { marketFields } from './market.ts'
import { eventPlans, type MarketPlan, seriesTitles, tagLabels } from './plan.ts'
import { imageFields, tagFields } from './related.ts'

export interface ManyOptions {
  readonly seed: string
  readonly count: number
  readonly perEvent: number
}

const eventsPerSeries = 20

export const manySlug = (at: number): string => `market-number-${at}`

/** The same options give the same records. */
export function* manyMarkets({ seed, count, perEvent }: ManyOptions): Generator<Record<string, unknown>> {
  const tags = tagLabels.map((label, at) => ({
    id: String(at + 1),
    ...tagFields(label, createSeededRandom(`${seed}/tag/${label}`)),
  }))
  const seriesOf = (number: number) => {
    const title = `${seriesTitles[number % seriesTitles.length]} ${number}`
    const id = String(number + 1)
    const fields = { ...seriesFields(title, createSeededRandom(`${seed}/series/${number}`)), tags: tags.slice(0, 1) }
    return { id, ...fields, collections: [], categories: [], chats: [] }
  }
  let event: Record<string, unknown> = {}
  let trading: EventTrading | undefined
  for (let at = 0; at < count; at++) {
    const plan = eventPlans[Math.floor(at / perEvent) % eventPlans.length]
    if (!plan) throw new Error('there are no plans')
    const eventId = 10_000 + Math.floor(at / perEvent)
    if (!trading || at % perEvent === 0) {
      trading = new EventTrading(plan, `${seed}/event/${eventId}`)
      const fields = eventFields(plan, eventId, trading, createSeededRandom(`${seed}/event/${eventId}`))
      event = { id: String(eventId), ...fields, slug: `event-${eventId}`, title: `${plan.title} ${eventId}` }
      event.series = [seriesOf(Math.floor(eventId / eventsPerSeries))]
      event.tags = tags.slice(0, 2)
    }
    const id = 1_000_000 + at
    const place = (at % perEvent) % plan.markets.length
    const market = plan.markets[place] as MarketPlan
    yield {
      id: String(id),
      ...marketFields(plan, { id, eventId, at: place, market }, trading, createSeededRandom(`${seed}/market/${id}`)),
      slug: manySlug(at),
      events: [event],
      categories: [],
      tags: tags.slice(at % 8, (at % 8) + 3),
      imageOptimized: {
        id: String(id * 10),
        ...imageFields('markets', id, 'image', createSeededRandom(`${seed}/image/${id}`)),
      },
    }
  }
}
