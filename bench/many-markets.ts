// Generates any number of nested market records, with fields and sizes as in the demo.

import { DemoDates } from '#simulator/markets/dates.ts'
import { eventFields, seriesFields } from '#simulator/markets/event.ts'
import { EventTrading } from '#simulator/markets/event-trading.ts'
import { marketFields } from '#simulator/markets/market.ts'
import { createEventPlans, type MarketPlan, seriesTitles, tagLabels } from '#simulator/markets/plan.ts'
import { imageFields, tagFields } from '#simulator/markets/related.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'

export interface ManyOptions {
  readonly seed: string
  readonly count: number
  readonly perEvent: number
}

const eventsPerSeries = 20
const dates = new DemoDates(Date.UTC(2026, 10, 15))

export const manySlug = (at: number): string => `market-number-${at}`

/** The same options give the same records. */
export function* manyMarkets({ seed, count, perEvent }: ManyOptions): Generator<Record<string, unknown>> {
  const plans = createEventPlans(dates)
  const drawsOf = (name: string) => createSeededRandom(`${seed}/${name}`)
  const tags = tagLabels.map((label, at) => ({
    id: String(at + 1),
    ...tagFields(dates, label, drawsOf(`tag/${label}`)),
  }))
  const seriesOf = (number: number) => {
    const title = `${seriesTitles[number % seriesTitles.length]} ${number}`
    const id = String(number + 1)
    const fields = seriesFields(dates, title, drawsOf(`series/${number}`))
    return { id, ...fields, tags: tags.slice(0, 1), collections: [], categories: [], chats: [] }
  }
  let event: Record<string, unknown> = {}
  let trading: EventTrading | undefined
  for (let at = 0; at < count; at++) {
    const plan = plans[Math.floor(at / perEvent) % plans.length]
    if (!plan) throw new Error('there are no plans')
    const eventId = 10_000 + Math.floor(at / perEvent)
    if (!trading || at % perEvent === 0) {
      trading = new EventTrading(plan, dates, `${seed}/event/${eventId}`)
      const numbered = { plan, id: eventId, trading, marketIds: [] }
      const fields = eventFields(dates, numbered, [numbered], drawsOf(`event/${eventId}`))
      event = { id: String(eventId), ...fields, slug: `event-${eventId}`, title: `${plan.title} ${eventId}` }
      event.series = [seriesOf(Math.floor(eventId / eventsPerSeries))]
      event.tags = tags.slice(0, 2)
    }
    const id = 1_000_000 + at
    const marketIndex = (at % perEvent) % plan.markets.length
    const market = plan.markets[marketIndex] as MarketPlan
    yield {
      id: String(id),
      ...marketFields(dates, plan, { id, eventId, at: marketIndex, market }, trading, drawsOf(`market/${id}`)),
      slug: manySlug(at),
      events: [event],
      categories: [],
      tags: tags.slice(at % 8, (at % 8) + 3),
      imageOptimized: {
        id: String(id * 10),
        ...imageFields(dates, 'markets', id, 'image', drawsOf(`image/${id}`)),
      },
    }
  }
}
