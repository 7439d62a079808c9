// Simulated markets that change over time: markets are created, trade, close, resolve, are renamed, move to another event,
// are delisted and relisted; their events, series and tags change too. Steps are random from a seed, and `truth` returns
// the expected responses.
import type { KindName } from '#markets/records/kinds.ts'
import type { FeedEntry, FeedListing } from '#simulator/markets/feed.ts'
import { type FlatRecord, type FlatRecords, flatName, stated } from '#simulator/markets/nested-records.ts'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import { toExpectedResponse } from './expected-response.ts'

const actions = ['born', 'trade', 'trade', 'trade', 'close', 'rename', 'event', 'tag', 'series', 'move', 'gone', 'back']

export class LiveMarkets implements FeedListing {
  readonly #records = new Map<string, FlatRecord>()
  /** Markets that the feed no longer lists. */
  readonly #delisted = new Set<string>()
  readonly #draws: SeededRandom
  readonly #nowMs: () => number
  #nextMarket = 1
  #lastMs = 0

  constructor(seed: string, nowMs: () => number, size = { markets: 12, events: 4 }) {
    this.#draws = createSeededRandom(seed).fork('living')
    this.#nowMs = nowMs
    for (const id of ['1', '2'])
      this.#put('series', id, { slug: `series-${id}`, title: `Series ${id}` }, { tags: [id] })
    for (const id of ['1', '2', '3']) this.#put('tag', id, { label: `Tag ${id}`, slug: `tag-${id}` })
    for (let event = 1; event <= size.events; event++) {
      const id = String(100 + event)
      const links = { series: [this.#draws.pick(['1', '2'])], tags: [this.#draws.pick(['1', '2', '3'])] }
      this.#put('event', id, { slug: `event-${id}`, title: `Event ${id}`, volume: 0 }, links)
    }
    for (let market = 0; market < size.markets; market++) this.#addMarket()
  }

  get records(): FlatRecords {
    return this.#records
  }

  get delisted(): ReadonlySet<string> {
    return this.#delisted
  }

  entries(): FeedEntry[] {
    return this.#markets()
      .filter(({ id }) => !this.#delisted.has(id))
      .sort((a, b) => Number(a.id) - Number(b.id))
      .map(({ id, fields }) => ({
        id,
        // A market counts as changed if any record that it shows has changed.
        updatedMs: this.#newestIn('market', id),
        value: { ...stated(this.#records, 'market', id), updatedAt: fields.updatedAt },
      }))
  }

  /** The expected response about every market, including delisted ones, by slug. */
  truth(): Map<string, Record<string, unknown>> {
    return new Map(
      this.#markets().map(({ id, fields }) => [
        String(fields.slug),
        toExpectedResponse(this.#records, 'market', id) ?? {},
      ]),
    )
  }

  step(): void {
    const live = this.#markets().filter(({ id }) => !this.#delisted.has(id))
    const market = live.length > 0 ? this.#draws.pick(live) : undefined
    const action = market ? this.#draws.pick(actions) : 'born'
    if (action === 'born' || !market) this.#addMarket()
    else if (action === 'trade') this.#trade(market)
    else if (action === 'close') this.#close(market)
    else if (action === 'rename') this.#rename(market)
    else if (action === 'move') this.#move(market)
    else if (action === 'back') this.#relist()
    else if (action !== 'gone') this.#changeBelow(market, action)
    else if (live.length > 3) this.#delisted.add(market.id)
  }

  #markets(): FlatRecord[] {
    return [...this.#records.values()].filter(({ kind }) => kind === 'market')
  }

  /** Each change gets a different time. */
  #stamp(): string {
    this.#lastMs = Math.max(this.#nowMs(), this.#lastMs + 1)
    return new Date(this.#lastMs).toISOString()
  }

  #put(kind: KindName, id: string, fields: object, links: Record<string, string[]> = {}): FlatRecord {
    const record = { kind, id, fields: { ...fields, updatedAt: this.#stamp() }, links }
    this.#records.set(flatName(kind, id), record)
    return record
  }

  #set(record: FlatRecord, fields: object): void {
    Object.assign(record.fields, fields, { updatedAt: this.#stamp() })
  }

  #addMarket(): void {
    const id = String(this.#nextMarket++)
    const events = [...this.#records.values()].filter(({ kind }) => kind === 'event')
    const fields = {
      slug: `market-${id}`,
      question: `Question ${id}?`,
      active: true,
      closed: false,
      outcomes: '["Yes", "No"]',
    }
    const links = { events: [this.#draws.pick(events).id], tags: this.#someTags(), categories: [] }
    this.#put('market', id, { ...fields, closedTime: null, pastSlugs: null, ...this.#prices() }, links)
  }

  #someTags = (): string[] => ['1', '2', '3'].filter(() => this.#draws.happens(0.4))

  #prices() {
    const yes = this.#draws.whole(1, 100)
    return {
      outcomePrices: JSON.stringify([String(yes / 100), String((100 - yes) / 100)]),
      bestBid: Math.max(0, yes - 1) / 100,
      lastTradePrice: yes / 100,
    }
  }

  #trade(market: FlatRecord): void {
    if (!market.fields.closed) this.#set(market, this.#prices())
  }

  /** Closes an open market, resolves a closed one. A resolved market has no bid. */
  #close(market: FlatRecord): void {
    if (!market.fields.closed) this.#set(market, { closed: true, active: false, closedTime: this.#stamp() })
    else this.#set(market, { oracleResolutionStatus: 'resolved', outcomePrices: '["1","0"]', bestBid: null })
  }

  #rename(market: FlatRecord): void {
    const past = market.fields.pastSlugs ? (JSON.parse(String(market.fields.pastSlugs)) as string[]) : []
    const pastSlugs = JSON.stringify([...past, market.fields.slug])
    const slug = `market-${market.id}-${past.length + 2}`
    this.#set(market, { slug, pastSlugs, question: `Renamed ${slug}?` })
  }

  #move(market: FlatRecord): void {
    const events = [...this.#records.values()].filter(({ kind }) => kind === 'event')
    market.links.events = [this.#draws.pick(events).id]
    market.links.tags = this.#someTags()
    this.#set(market, {})
  }

  #relist(): void {
    const [id] = this.#delisted
    if (id === undefined) return
    this.#delisted.delete(id)
    const market = this.#records.get(flatName('market', id))
    if (market) this.#set(market, { active: true })
  }

  /** Changes only records that a listed market shows, because a feed does not deliver others. */
  #changeBelow(market: FlatRecord, action: string): void {
    const event = this.#records.get(flatName('event', market.links.events?.[0] ?? ''))
    if (!event) return
    if (action === 'event') {
      const retitle = this.#draws.happens(0.3) && { title: `Event ${event.id} (${this.#draws.whole(1, 99)})` }
      const score = this.#draws.happens(0.5) ? '1-0' : null
      this.#set(event, { volume: this.#draws.whole(1, 1_000_000) / 100, score, ...retitle })
      return
    }
    const label = this.#draws.hex(4)
    const tag = this.#records.get(flatName('tag', event.links.tags?.[0] ?? ''))
    const series = this.#records.get(flatName('series', event.links.series?.[0] ?? ''))
    if (action === 'tag' && tag) this.#set(tag, { label: `Tag ${label}` })
    if (action === 'series' && series) this.#set(series, { title: `Series ${label}` })
  }

  #newestIn(kind: KindName, id: string): number {
    const record = this.#records.get(flatName(kind, id))
    if (!record) return 0
    const below = kind === 'market' ? ['events', 'tags'] : kind === 'event' ? ['series', 'tags'] : ['tags']
    const kindOf = { events: 'event', series: 'series', tags: 'tag' } as const
    const inner = below.flatMap((name) =>
      (record.links[name] ?? []).map((target) => this.#newestIn(kindOf[name as keyof typeof kindOf], target)),
    )
    return Math.max(Date.parse(String(record.fields.updatedAt)), ...inner)
  }
}
