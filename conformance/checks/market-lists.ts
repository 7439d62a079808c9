// Lists, lookups and the search of markets, events, series and tags: extensions of group D. A server without them is
// not checked.
import type { AnyId } from '#api/contract/routes.ts'
import { type Checks, expect, expectList, expectReply, expectSame, type Members, Skipped, toList } from '../check.ts'
import { expectSamePages } from '../expect-same-pages.ts'
import { slugOf } from '../samples.ts'
import type { ServerResponse, ServerUnderTest } from '../server-under-test.ts'

const rule = 'behaviour/markets.md#lists'

/** Only a server without the extension answers the list itself with 404. */
async function callExtension(server: ServerUnderTest, id: AnyId, input: Members): Promise<ServerResponse> {
  const response = await server.call(id, input, { key: null })
  const isList = input.id === undefined || Array.isArray(input.id)
  if (isList && input.slug === undefined && response.status === 404) throw new Skipped(`the server has no ${id}`)
  return response
}

const listMarkets = async (server: ServerUnderTest, input: Members) =>
  expectList('markets.list', await callExtension(server, 'markets.list', input))

const idOf = ({ id }: Members): unknown => id

/** The event of the sample market, by its id. */
async function fetchEvent(server: ServerUnderTest): Promise<Members> {
  await listMarkets(server, { limit: 1 })
  const market = await server.fetchReply('markets.bySlug', { slug: await slugOf(server) })
  const [event] = toList(market.events ?? [], 'events')
  if (!event) throw new Skipped('the sample market has no event')
  return await server.fetchReply('markets.eventById', { id: event.id }, { key: null })
}

export const marketListChecks: Checks = {
  'markets.list.records': {
    rule,
    requirement: 'a list by slug or id has the documents of these markets',
    async run(server) {
      const slug = await slugOf(server)
      await listMarkets(server, { limit: 1 })
      const market = await server.fetchReply('markets.bySlug', { slug })
      for (const input of [{ slug: [market.slug] }, { id: [market.id] }])
        expectSame(await listMarkets(server, input), [market], 'the list differs from the market')
    },
  },
  'markets.list.filters': {
    rule,
    requirement: 'lists have open markets unless closed=true, and ranges apply',
    async run(server) {
      const markets = await listMarkets(server, { limit: 50, order: 'volume', ascending: false })
      expect(markets.length > 0, 'there is no open market')
      expect(!markets.some(({ closed }) => closed === true), 'the list contains a closed market')
      const closed = await listMarkets(server, { limit: 50, closed: true })
      expect(!closed.some((market) => market.closed !== true), 'closed=true returns an open market')
      const middle = Math.floor(volumeOf(markets[Math.floor(markets.length / 2)]))
      const traded = await listMarkets(server, { limit: 50, volume_num_min: String(Math.max(middle, 0)) })
      expect(!traded.some((market) => volumeOf(market) < middle), 'volume_num_min is not respected')
    },
  },
  'markets.list.order': {
    rule,
    requirement: 'order and ascending determine the order',
    async run(server) {
      for (const ascending of [true, false]) {
        const volumes = (await listMarkets(server, { limit: 50, order: 'volume', ascending })).map(volumeOf)
        const sorted = volumes.toSorted((a, b) => (ascending ? a - b : b - a))
        expectSame(volumes, sorted, `order=volume&ascending=${ascending} is not in order`)
      }
    },
  },
  'markets.list.pages': {
    rule,
    requirement: 'offsets and cursors lead through the same list',
    async run(server) {
      const list = { size: 'limit', count: 3, changes: { key: null } } as const
      const byOffset = await expectSamePages(server, { id: 'markets.list', ...list })
      const byCursor = await expectSamePages(server, { id: 'markets.listKeyset', ...list })
      expectSame(byCursor.map(idOf), byOffset.map(idOf), 'pages by cursor differ from the list')
    },
  },
  'markets.list.unchanged': {
    rule: 'behaviour/markets.md#caching',
    requirement: 'lists have an etag for conditional requests',
    async run(server) {
      const input = { id: ['no-such-market-anywhere-here'] }
      await listMarkets(server, input)
      const etag = (await server.call('markets.list', input, { key: null })).headers.get('etag')
      expect(etag !== null, 'there is no etag')
      const again = await server.call('markets.list', input, { key: null, headers: { 'if-none-match': etag } })
      expect(again.status === 304 && again.text === '', `if-none-match: ${again.status} instead of 304`)
    },
  },
  'markets.list.refusals': {
    rule,
    requirement: 'unknown orders, limits that are too high and malformed cursors return 422',
    async run(server) {
      await listMarkets(server, { id: ['1'] })
      for (const input of [{ order: 'no-such-order' }, { limit: 501 }, { limit: 0 }, { end_date_min: 'tomorrow' }])
        await server.expectFailure('markets.list', input, 'input.invalid')
      await server.expectFailure('markets.listKeyset', { after_cursor: 'no-such-cursor' }, 'input.invalid')
    },
  },
  'markets.events': {
    rule: 'behaviour/markets.md#events-series-and-tags',
    requirement: 'an event is found by id and slug, with its complete markets; an unknown one returns 404',
    async run(server) {
      const event = await fetchEvent(server)
      const slug = await slugOf(server)
      const nested = toList(event.markets ?? [], 'markets').find((market) => market.slug === slug)
      expect(nested !== undefined, 'the event does not contain the market')
      const [{ events: _, ...market } = {}] = await listMarkets(server, { slug: [slug] })
      expectSame(
        sortMembers(nested),
        sortMembers(market),
        'the market inside the event differs from the market without its events',
      )
      const bySlug = await server.fetchReply('markets.eventBySlug', { slug: event.slug }, { key: null })
      expectSame(bySlug, event, 'the slug returns another event')
      const listed = await server.fetchList('markets.events', { id: [event.id] }, { key: null })
      expectSame(listed, [event], 'the list returns another event')
      await server.expectFailure('markets.eventById', { id: 'no-such-event-anywhere-here' }, 'record.not_found')
    },
  },
  'markets.list.events': {
    rule,
    requirement: 'offsets and cursors lead through the same list of events',
    async run(server) {
      const pages = { size: 'limit', count: 2, changes: { key: null } } as const
      const whole = await expectSamePages(server, { id: 'markets.events', ...pages })
      const byCursor = await expectSamePages(server, { id: 'markets.eventsKeyset', ...pages })
      expectSame(byCursor.map(idOf), whole.map(idOf), 'pages by cursor differ from the list')
    },
  },
  'markets.id': {
    rule: 'behaviour/markets.md#lookup-by-id',
    requirement: 'a market is found by its id, as it is found by its slug; an unknown id returns 404',
    async run(server) {
      await listMarkets(server, { limit: 1 })
      const market = await server.fetchReply('markets.bySlug', { slug: await slugOf(server) })
      const found = await server.fetchExtension('markets.byId', { id: market.id }, { key: null })
      expectSame(found, market, 'the id returns another market')
      await server.expectFailure('markets.byId', { id: 'no-such-market-anywhere-here' }, 'record.not_found', {
        key: null,
      })
    },
  },
  'markets.list.tags': {
    rule,
    requirement: 'tags are listed with an offset',
    run: (server) => expectSamePages(server, { id: 'markets.tags', size: 'limit', count: 2, changes: { key: null } }),
  },
  'markets.series': {
    rule: 'behaviour/markets.md#events-series-and-tags',
    requirement: 'a series inside an event has no events; found by id, it has them, without their markets',
    async run(server) {
      const [series] = toList((await fetchEvent(server)).series ?? [], 'series')
      if (!series) throw new Skipped('the event of the sample market has no series')
      const byId = await server.fetchReply('markets.seriesById', { id: series.id }, { key: null })
      const { events, ...own } = byId
      expectSame(own, series, 'the series differs from that of its event')
      const members = toList(events ?? [], 'events')
      expect(members.length > 0, 'the series has no events')
      expect(
        members.every((event) => event.markets === undefined),
        'an event inside the series has markets',
      )
    },
  },
  'markets.list.series': {
    rule,
    requirement: 'series are listed as they are found by id',
    async run(server) {
      const [first] = expectList('markets.series', await callExtension(server, 'markets.series', { limit: 1 }))
      if (!first) throw new Skipped('there is no open series')
      const byId = await server.fetchReply('markets.seriesById', { id: first.id }, { key: null })
      expectSame(byId, first, 'the list has another record than the lookup')
    },
  },
  'markets.tag': {
    rule: 'behaviour/markets.md#events-series-and-tags',
    requirement: 'a tag is found by id and slug; markets and events have their own tags; an unknown tag returns 404',
    async run(server) {
      const [tag] = expectList('markets.tags', await callExtension(server, 'markets.tags', { limit: 1 }))
      if (!tag) throw new Skipped('there are no tags')
      const byId = await server.call('markets.tagById', { id: tag.id }, { key: null })
      if (byId.status === 404) throw new Skipped('the server has no markets.tagById')
      expectSame(expectReply('markets.tagById', byId), tag, 'the id returns another tag than the list')
      const bySlug = await server.fetchReply('markets.tagBySlug', { slug: tag.slug }, { key: null })
      expectSame(bySlug.slug, tag.slug, 'the slug returns another tag')
      await server.expectFailure('markets.tagById', { id: 'no-such-tag-anywhere-here' }, 'record.not_found')
      const [market] = await listMarkets(server, { slug: [await slugOf(server)] })
      const ofMarket = await server.fetchList('markets.marketTags', { id: market?.id }, { key: null })
      expectSame(ofMarket, market?.tags ?? [], 'the tags differ from those in the market')
      const event = await fetchEvent(server)
      const ofEvent = await server.fetchList('markets.eventTags', { id: event.id }, { key: null })
      expectSame(ofEvent, event.tags ?? [], 'the tags differ from those in the event')
    },
  },
  'markets.public-search': {
    rule: 'behaviour/markets.md#search',
    requirement: 'the search for the question of a market finds its event, as it is found by id',
    async run(server) {
      const id = 'markets.publicSearch'
      const { question } = await server.fetchReply('markets.bySlug', { slug: await slugOf(server) })
      const found = expectReply(id, await callExtension(server, id, { q: String(question).slice(0, 200) }))
      const event = await fetchEvent(server)
      const match = toList(found.events, 'events').find((candidate) => candidate.id === event.id)
      expectSame(match, event, 'the search does not find the event')
    },
  },
}

/** The order of fields does not matter. */
const sortMembers = (record: Members): Members =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))

const volumeOf = (market: Members | undefined): number => Number(market?.volumeNum ?? market?.volume ?? -1)
