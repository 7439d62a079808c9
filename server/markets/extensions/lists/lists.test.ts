// Lists of markets, events, series and tags, lookups of events, series and tags, and the search for events. Which records a list has, and in which order, is
// tested in find-page.test.ts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { extensions } from '#api/contract/extensions.ts'
import { failureExample } from '#api/contract/failures.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import type { Fault } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'
import type { Handler, HandlerResult } from '#http/handler.ts'
import { parser } from '#http/parse.ts'
import type { StateWriter } from '#storage/state.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import type { MarketsContext } from '../../context.ts'
import { bySlug } from '../../endpoints/by-slug.ts'
import { storeFeedState } from '../../feeds/feed-progress.ts'
import { newFeedState } from '../../read/feed-state.ts'
import type { MarketRecord } from '../../records/normalize.ts'
import { putMarkets } from '../../write/put-markets.ts'
import { publicSearch } from '../search/public-search.ts'
import { composeEvents } from './event-documents.ts'
import { events, eventsKeyset } from './list-events.ts'
import { list, listKeyset } from './list-markets.ts'
import { series } from './list-series.ts'
import { tags } from './list-tags.ts'
import { eventById, eventBySlug, eventTags, marketTags, seriesById, tagById, tagBySlug } from './one-record.ts'
import { refuseCut } from './respond.ts'
import { composeSeries } from './series-documents.ts'

const world: readonly MarketRecord[] = [
  { kind: 'tag', id: '7', fields: { label: 'Ports', slug: 'ports', createdAt: '2026-02-01T00:00:00Z' } },
  {
    kind: 'tag',
    id: '10',
    fields: { label: 'Rain', slug: 'rain', createdAt: '2026-01-01T00:00:00Z', isCarousel: true },
  },
  { kind: 'series', id: '31', fields: { slug: 'city', title: 'City' }, links: { tags: ['7'] } },
  {
    kind: 'event',
    id: '71',
    fields: { slug: 'works', title: 'Works', volume: 9 },
    links: { series: ['31'], tags: ['7'] },
  },
  { kind: 'event', id: '72', fields: { slug: 'old', title: 'Old', closed: true } },
  {
    ...{ kind: 'market', id: '501', links: { tags: ['7'], events: ['71'] } },
    fields: {
      ...{ slug: 'bridge', question: 'Open?', volumeNum: 1000.5, liquidityNum: 4, endDate: '2026-12-14T00:00:00Z' },
      ...{ conditionId: '0xAb', clobTokenIds: '["11","12"]', featured: true, questionID: '0xq1' },
      ...{ gameId: '9001', sportsMarketType: 'moneyline', oracleResolutionStatus: 'proposed', rfqEnabled: false },
    },
  },
  {
    ...{ kind: 'market', id: '502', links: { tags: ['10'], events: ['71'] } },
    fields: {
      ...{ slug: 'ferry', question: 'Late?', volumeNum: 2000, conditionId: '0xCd', clobTokenIds: '["13","14"]' },
      ...{ marketMakerAddress: '0xMaker', sportsMarketType: 'totals', rfqEnabled: true },
    },
  },
  {
    kind: 'market',
    id: '503',
    fields: { slug: 'toll', question: 'Paid?', closed: true, volumeNum: 5, questionID: '0xq3' },
  },
]

const put = (context: TestContext, records: readonly MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()))

/** Parses the query as the server does, so that defaults apply. */
async function call<E extends Endpoint>(
  handler: Handler<E, MarketsContext>,
  context: TestContext,
  query: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<HandlerResult<unknown>> {
  const parts = { params: query, query, headers: {}, contentType: '', body: undefined }
  return handler.handle(parser(handler.endpoint)(parts), context, testRequestInfo({ headers }))
}

function textOf(result: HandlerResult<unknown>): string {
  assert.equal(result.is, 'bytes')
  return result.is === 'bytes' ? Buffer.from(result.bytes).toString() : ''
}

interface Shown {
  readonly id: string
  readonly [name: string]: unknown
}
const recordsOf = (result: HandlerResult<unknown>): Shown[] => JSON.parse(textOf(result))
const idsOf = (result: HandlerResult<unknown>): string[] => recordsOf(result).map(({ id }) => id)
const headersOf = (result: HandlerResult<unknown>): Readonly<Record<string, string>> =>
  (result.is === 'bytes' || result.is === 'unchanged' ? result.headers : undefined) ?? {}

const isInvalid = (message: RegExp) => (fault: Fault) =>
  fault.code === 'input.invalid' && message.test(`${fault.problems[0]?.at.at(1)} ${fault.problems[0]?.message}`)

describe('lists of markets', () => {
  test('each market is the document of 4.8, byte for byte, with and without tags', async () => {
    await using context = await openContext()
    await put(context, world)
    for (const include_tag of [true, false]) {
      const documents: string[] = []
      for (const slug of ['bridge', 'ferry'])
        documents.push(textOf(await bySlug.handle({ slug, include_tag }, context, testRequestInfo())))
      const query = { include_tag: String(include_tag) }
      assert.equal(textOf(await call(list, context, query)), `[${documents.join()}]`)
      assert.equal(textOf(await call(listKeyset, context, query)), `{"markets":[${documents.join()}]}`)
    }
  })

  test('every filter applies; names include closed markets, other lists only with closed=true', async () => {
    await using context = await openContext()
    await put(context, world)
    const cases: readonly (readonly [query: Record<string, string>, ids: string[]])[] = [
      [{}, ['501', '502']],
      [{ limit: '1' }, ['501']],
      [{ limit: '1', offset: '1' }, ['502']],
      [{ offset: '2' }, []],
      [{ order: 'volume24hr', ascending: 'false' }, ['502', '501']],
      [{ order: 'volumeNum', ascending: 'false' }, ['502', '501']],
      [{ order: 'end_date' }, ['502', '501']],
      [{ closed: 'true' }, ['503']],
      [{ id: '503,501,999' }, ['501', '503']],
      [{ id: '503,501', closed: 'false' }, ['501']],
      [{ slug: 'toll' }, ['503']],
      [{ condition_ids: '0xAb,0xCd' }, ['501', '502']],
      [{ condition_ids: '0xab' }, []],
      [{ clob_token_ids: '14' }, ['502']],
      [{ clob_token_ids: '14', id: '501' }, []],
      [{ tag_id: '10' }, ['502']],
      // the tags of an event count
      [{ tag_id: '7' }, ['501', '502']],
      [{ tag_id: '10,999' }, ['502']],
      [{ tag_slug: 'rain' }, ['502']],
      [{ tag_slug: 'rain', tag_id: '7' }, ['502']],
      [{ tag_id: '7,10', tag_match: 'all' }, ['502']],
      [{ tag_id: '10,999', tag_match: 'all' }, []],
      [{ tag_slug: 'no-such-tag' }, []],
      [{ tag_id: '10', id: '501,502' }, ['502']],
      [{ volume_num_min: '1000.5' }, ['501', '502']],
      [{ volume_num_min: '1000.501' }, ['502']],
      [{ volume_num_max: '1000.5' }, ['501']],
      [{ liquidity_num_min: '4', liquidity_num_max: '4.0' }, ['501']],
      [{ end_date_min: '2026-12-14' }, ['501']],
      [{ end_date_max: '2026-12-13T23:59:59Z' }, []],
      [{ end_date_max: '2026-12-14' }, ['501']],
      [{ start_date_min: '2020-01-01' }, []],
      [{ featured: 'true' }, ['501']],
      [{ active: 'false' }, []],
      [{ archived: 'false', active: '1' }, ['501', '502']],
      [{ question_ids: '0xq1,0xq3' }, ['501', '503']],
      [{ market_maker_address: '0xMaker' }, ['502']],
      [{ game_id: '9001' }, ['501']],
      [{ sports_market_types: 'moneyline,totals' }, ['501', '502']],
      [{ sports_market_types: 'totals' }, ['502']],
      [{ oracle_resolution_status: 'proposed' }, ['501']],
      [{ rfq_enabled: 'true' }, ['502']],
      [{ rfq_enabled: 'false' }, ['501']],
    ]
    for (const [query, ids] of cases) {
      assert.deepEqual(idsOf(await call(list, context, query)), ids, JSON.stringify(query))
      if ('offset' in query || 'limit' in query) continue
      const { markets } = JSON.parse(textOf(await call(listKeyset, context, query)))
      assert.deepEqual(markets.map(({ id }: Shown) => id), ids, JSON.stringify(query)) // biome-ignore format: one case
    }
  })

  test('cursors lead through the list; one of another order or of no list is refused', async () => {
    await using context = await openContext()
    await put(context, world)
    const query = { limit: '1', order: 'volume', ascending: 'false' }
    const first = JSON.parse(textOf(await call(listKeyset, context, query)))
    assert.equal(first.markets[0].id, '502')
    const after_cursor = first.next_cursor
    const second = JSON.parse(textOf(await call(listKeyset, context, { ...query, after_cursor })))
    assert.deepEqual([second.markets[0].id, 'next_cursor' in second], ['501', false])
    const otherOrder = call(listKeyset, context, { ...query, ascending: 'true', after_cursor })
    await assert.rejects(otherOrder, isInvalid(/^after_cursor belongs to a list with another order/))
    for (const text of ['abc', Buffer.from('["volume",false,"x",1,"1"]').toString('base64url')])
      await assert.rejects(
        call(listKeyset, context, { ...query, after_cursor: text }),
        isInvalid(/^after_cursor must be a next_cursor/),
      )
  })

  test('malformed inputs and pages that are too large are refused', async () => {
    await using context = await openContext()
    await put(context, world)
    const cases: readonly (readonly [query: Record<string, string>, message: RegExp])[] = [
      [{ limit: '501' }, /^limit must be at most 500/],
      [{ offset: '100001' }, /^offset must be at most 100000/],
      [{ order: 'colour' }, /^order must be one of/],
      [{ volume_num_min: '1e3' }, /^volume_num_min must be a decimal number/],
      [{ end_date_min: '2026-02-30' }, /^end_date_min must be a valid date/],
      [{ id: Array.from({ length: 101 }, (_, id) => id).join() }, /^id /],
    ]
    for (const [query, message] of cases)
      await assert.rejects(async () => call(list, context, query), isInvalid(message), JSON.stringify(query))
    const fields = JSON.stringify({ id: '501', slug: 'bridge', description: 'x'.repeat(17 * 2 ** 20) })
    await context.ingest.write((tx) => tx.run("update market_records set fields = ? where kind = 'market'", fields))
    await assert.rejects(call(list, context), isInvalid(/^limit must be lower/))
    assert.equal((await call(list, context, { limit: '1' })).is, 'bytes')
  })

  test('a page that was cut is refused unless it is full, because it would look like the last one', () => {
    const cut = { ids: ['1'], isCut: true }
    assert.throws(() => refuseCut(cut, 2), isInvalid(/^offset cannot be reached with these filters/))
    refuseCut(cut, 1)
    refuseCut({ ids: ['1'], isCut: false }, 2)
  })
})

describe('events and series', () => {
  test('an event has its complete markets without their events, and they come last', async () => {
    await using context = await openContext()
    await put(context, world)
    const byId = textOf(await call(eventById, context, { id: '71' }))
    const event = JSON.parse(byId)
    assert.deepEqual(checker(extensions['markets.eventById'].reply)(event), [])
    assert.deepEqual(Object.keys(event), ['id', 'slug', 'title', 'volume', 'series', 'tags', 'markets'])
    const documents = recordsOf(await call(list, context))
    assert.deepEqual(
      event.markets,
      documents.map(({ events: _, ...market }) => market),
    )
    assert.equal(textOf(await call(eventBySlug, context, { slug: 'works' })), byId)
    assert.equal(textOf(await call(events, context)), `[${byId}]`)
    assert.equal(textOf(await call(eventsKeyset, context)), `{"events":[${byId}]}`)
  })

  test('filters and pages of events', async () => {
    await using context = await openContext()
    await put(context, [
      ...world,
      { kind: 'series', id: '32', fields: { slug: 'week', recurrence: 'weekly' } },
      {
        ...{ kind: 'event', id: '73', links: { series: ['32'], tags: ['10'] } },
        fields: {
          ...{ slug: 'new', volume: 3, startTime: '2026-03-01T12:00:00Z', eventDate: '2026-03-01', eventWeek: 9 },
          ...{ parentEvent: '71', live: true, ended: false, cyom: true },
        },
      },
    ])
    for (const [query, ids] of [
      [{ series_id: '32,99' }, ['73']],
      [{ recurrence: 'weekly' }, ['73']],
      [{ recurrence: 'daily' }, []],
      [{ exclude_tag_id: '7' }, ['73']],
      [{ exclude_tag_id: '7,10' }, []],
      [{ tag_id: '7,10' }, ['71', '73']],
      [{ tag_id: '7,10', tag_match: 'all' }, []],
      [{ parent_event_id: '71' }, ['73']],
      [{ event_date: '2026-03-01' }, ['73']],
      [{ event_week: '9' }, ['73']],
      [{ event_week: '10' }, []],
      [{ live: 'true' }, ['73']],
      [{ live: 'false' }, ['71']],
      [{ ended: 'true' }, []],
      [{ cyom: 'true', recurrence: 'weekly' }, ['73']],
      [{ start_time_min: '2026-03-01T12:00:00Z' }, ['73']],
      [{ start_time_max: '2026-03-01T11:59:59Z' }, []],
      [{}, ['71', '73']],
      [{ closed: 'true' }, ['72']],
      [{ slug: 'old,works' }, ['71', '72']],
      [{ tag_slug: 'ports' }, ['71']],
      [{ volume_min: '9' }, ['71']],
      [{ volume_max: '8.5' }, ['73']],
      [{ order: 'volume', limit: '1' }, ['73']],
    ] as [Record<string, string>, string[]][])
      assert.deepEqual(idsOf(await call(events, context, query)), ids, JSON.stringify(query))
    const { next_cursor } = JSON.parse(textOf(await call(eventsKeyset, context, { limit: '1' })))
    const last = JSON.parse(textOf(await call(eventsKeyset, context, { limit: '1', after_cursor: next_cursor })))
    assert.deepEqual([last.events[0].id, last.next_cursor], ['73', undefined])
  })

  test('of two events with one slug, the one with the higher id is found', async () => {
    await using context = await openContext()
    await put(
      context,
      ['9', '10'].map((id) => ({ kind: 'event', id, fields: { slug: 'same' } })),
    )
    assert.equal(JSON.parse(textOf(await call(eventBySlug, context, { slug: 'same' }))).id, '10')
  })

  test('events with more markets than allowed are not composed', async () => {
    await using context = await openContext()
    await put(context, world)
    assert.equal(await composeEvents(context.ingest, ['71'], 1), undefined)
    assert.equal((await composeEvents(context.ingest, ['71'], 2))?.texts.length, 1)
    await assert.rejects(async () => call(events, context, { limit: '501' }), isInvalid(/^limit must be at most 500/))
  })

  test('a series inside an event has no events; a series of its own has them complete, without markets', async () => {
    await using context = await openContext()
    await put(context, world)
    const one = JSON.parse(textOf(await call(seriesById, context, { id: '31' })))
    const { markets, ...event } = JSON.parse(textOf(await call(eventById, context, { id: '71' })))
    const { events: own, ...series } = one
    assert.deepEqual(event.series, [series])
    assert.deepEqual(own, [event])
    assert.equal(markets.length, 2)
    assert.deepEqual(checker(extensions['markets.seriesById'].reply)(one), [])
    const bridge = JSON.parse(
      textOf(await bySlug.handle({ slug: 'bridge', include_tag: true }, context, testRequestInfo())),
    )
    assert.deepEqual(bridge.events[0].series, [series])
    const without = textOf(await call(seriesById, context, { id: '31', exclude_events: 'true' }))
    assert.deepEqual(JSON.parse(without), series)
  })

  test('series with more events than allowed are not composed', async () => {
    await using context = await openContext()
    await put(context, world)
    assert.equal(await composeSeries(context.ingest, ['31'], false, 0), undefined)
    assert.equal((await composeSeries(context.ingest, ['31'], true, 0))?.texts.length, 1)
  })

  test('lists of series have the records of the lookup, by filter and order', async () => {
    await using context = await openContext()
    await put(context, [
      ...world,
      { kind: 'series', id: '4', fields: { slug: 'country', title: 'Country', volume: 7, recurrence: 'weekly' } },
      { kind: 'series', id: '5', fields: { slug: 'former', title: 'Former', closed: true } },
    ])
    const [city, country] = [
      await call(seriesById, context, { id: '31' }),
      await call(seriesById, context, { id: '4' }),
    ]
    assert.equal(textOf(await call(series, context)), `[${textOf(country)},${textOf(city)}]`)
    for (const [query, ids] of [
      [{ closed: 'true' }, ['5']],
      [{ slug: 'former,city' }, ['5', '31']],
      [{ recurrence: 'weekly' }, ['4']],
      [{ recurrence: 'daily' }, []],
      [{ order: 'volume', ascending: 'false' }, ['4', '31']],
      [{ limit: '1', offset: '1' }, ['31']],
    ] as [Record<string, string>, string[]][])
      assert.deepEqual(idsOf(await call(series, context, query)), ids, JSON.stringify(query))
    await assert.rejects(async () => call(series, context, { limit: '501' }), isInvalid(/^limit must be at most 500/))
  })
})

describe('tags', () => {
  test('are in numeric order of their ids, or by time', async () => {
    await using context = await openContext()
    assert.equal(textOf(await call(tags, context)), '[]')
    await put(context, world)
    assert.deepEqual(idsOf(await call(tags, context)), ['7', '10'])
    assert.deepEqual(idsOf(await call(tags, context, { order: 'createdAt' })), ['10', '7'])
    assert.deepEqual(idsOf(await call(tags, context, { limit: '1', offset: '1' })), ['10'])
    assert.deepEqual(idsOf(await call(tags, context, { is_carousel: 'true' })), ['10'])
    assert.deepEqual(idsOf(await call(tags, context, { is_carousel: 'false' })), ['7'])
    const [first] = recordsOf(await call(tags, context, { limit: '1' }))
    assert.deepEqual(first, { id: '7', label: 'Ports', slug: 'ports', createdAt: '2026-02-01T00:00:00Z' })
  })
})

describe('lookups of tags', () => {
  test('a tag is found by id and slug; of two tags with one slug, the one with the higher id', async () => {
    await using context = await openContext()
    await put(context, [...world, { kind: 'tag', id: '9', fields: { label: 'Other ports', slug: 'ports' } }])
    const [, other] = recordsOf(await call(tags, context))
    assert.deepEqual(JSON.parse(textOf(await call(tagById, context, { id: '9' }))), other)
    assert.deepEqual(JSON.parse(textOf(await call(tagBySlug, context, { slug: 'ports' }))), other)
  })

  test('markets and events have their own tags, in their order', async () => {
    await using context = await openContext()
    await put(context, [...world, { kind: 'market', id: '504', fields: { slug: 'x' }, links: { tags: ['10', '7'] } }])
    assert.deepEqual(idsOf(await call(marketTags, context, { id: '504' })), ['10', '7'])
    assert.deepEqual(idsOf(await call(marketTags, context, { id: '502' })), ['10'])
    assert.deepEqual(idsOf(await call(marketTags, context, { id: '503' })), [])
    assert.deepEqual(idsOf(await call(eventTags, context, { id: '71' })), ['7'])
    const [tag] = recordsOf(await call(eventTags, context, { id: '71' }))
    assert.deepEqual(tag, recordsOf(await call(tags, context))[0])
  })

  test('a market that its feed lists in a form that cannot be stored is not "not found"', async () => {
    await using context = await openContext({ markets: { feeds: [{ id: 'main', url: 'http://127.0.0.1:9/markets' }] } })
    const read = { fullAtMs: testNowMs, doneAtMs: testNowMs, asOfMs: testNowMs }
    await context.ingest.write(async (tx) => {
      await storeFeedState(tx, { ...newFeedState('main'), ...read })
      await addReject(tx, '600')
    })
    await assert.rejects(call(marketTags, context, { id: '600' }), isNotCovered)
    assert.equal((await call(marketTags, context, { id: '601' })).is, 'nothing')
  })
})

const isNotCovered = (fault: Fault) => fault.code === 'markets.not_covered'

const addReject = (tx: StateWriter, id: string) =>
  tx.insertMany(
    'market_rejects',
    ['source', 'kind', 'id', 'slug', 'field', 'reason', 'location', 'times', 'first_ms', 'last_ms'],
    [['main', 'market', id, '', 'slug', 'is missing', 'page 1', 1, testNowMs, testNowMs]],
  )

describe('public search', () => {
  const find = async (context: TestContext, query: Readonly<Record<string, string>>) => {
    const found = JSON.parse(textOf(await call(publicSearch, context, query)))
    assert.deepEqual(checker(extensions['markets.publicSearch'].reply)(found), [])
    return found as { events: Shown[]; tags: Shown[]; pagination: object }
  }

  test('finds the events of matching markets, best match first, and their tags with the words', async () => {
    await using context = await openContext()
    await put(context, [
      ...world,
      { kind: 'event', id: '74', fields: { slug: 'harbour' }, links: { tags: ['7', '10'] } },
      { kind: 'market', id: '510', fields: { slug: 'ports-deep', volumeNum: 9e6 }, links: { events: ['74'] } },
    ])
    const { events: found, tags: foundTags, pagination } = await find(context, { q: 'PORTS' })
    assert.deepEqual(found.map(({ id }) => id), ['74', '71']) // biome-ignore format: one case
    assert.deepEqual(found[1], JSON.parse(textOf(await call(eventById, context, { id: '71' }))))
    assert.deepEqual(foundTags, [JSON.parse(textOf(await call(tagById, context, { id: '7' })))])
    assert.deepEqual(pagination, { hasMore: false, totalResults: 2 })
  })

  test('pages lead through the events, and query is another name of q', async () => {
    await using context = await openContext()
    await put(
      context,
      ['1', '2', '3'].flatMap((id): MarketRecord[] => [
        { kind: 'event', id, fields: { slug: `e${id}` } },
        { kind: 'market', id, fields: { slug: `rain-${id}`, volumeNum: Number(id) }, links: { events: [id] } },
      ]),
    )
    const pageOf = async (page: string) => {
      const { events: found, pagination } = await find(context, { query: 'rain', limit_per_type: '2', page })
      return { ids: found.map(({ id }) => id), ...pagination }
    }
    assert.deepEqual(await pageOf('1'), { ids: ['3', '2'], hasMore: true, totalResults: 3 })
    assert.deepEqual(await pageOf('2'), { ids: ['1'], hasMore: false, totalResults: 3 })
    assert.deepEqual(await pageOf('3'), { ids: [], hasMore: false, totalResults: 3 })
  })

  test('filters and orders apply to the events that were found', async () => {
    await using context = await openContext()
    const days = ['2026-03-01', '2026-01-01', '2026-02-01']
    await put(context, [
      { kind: 'tag', id: '7', fields: { label: 'Ports', slug: 'ports' } },
      { kind: 'series', id: '31', fields: { slug: 'city', recurrence: 'weekly' } },
      ...['1', '2', '3'].flatMap((id, at): MarketRecord[] => [
        {
          ...{ kind: 'event', id, fields: { slug: `e${id}`, closed: id === '3', startDate: `${days[at]}T00:00:00Z` } },
          links: id === '1' ? { tags: ['7'], series: ['31'] } : {},
        },
        { kind: 'market', id, fields: { slug: `rain-${id}`, volumeNum: Number(id) }, links: { events: [id] } },
      ]),
    ])
    for (const [query, ids] of [
      [{}, ['3', '2', '1']],
      [{ sort: 'start_date' }, ['1', '3', '2']],
      [{ sort: 'start_date', ascending: 'true' }, ['2', '3', '1']],
      [{ events_status: 'active' }, ['2', '1']],
      [{ events_status: 'closed' }, ['3']],
      [{ events_status: 'resolved' }, ['3']],
      [{ events_tag: 'ports' }, ['1']],
      [{ events_tag: 'no-such-tag' }, []],
      [{ exclude_tag_id: '7' }, ['3', '2']],
      [{ recurrence: 'weekly' }, ['1']],
      [{ recurrence: 'daily' }, []],
    ] as [Record<string, string>, string[]][]) {
      const { events: found } = await find(context, { q: 'rain', ...query })
      assert.deepEqual(found.map(({ id }) => id), ids, JSON.stringify(query)) // biome-ignore format: one case
    }
    assert.deepEqual((await find(context, { q: 'ports', search_tags: 'false' })).tags, [])
  })

  test('without words: the events of the open markets with the highest volume, and no tags', async () => {
    await using context = await openContext()
    await put(context, world)
    const found = await find(context, {})
    assert.deepEqual([found.events.map(({ id }) => id), found.tags], [['71'], []])
    const nothing = { events: [], tags: [], pagination: { hasMore: false, totalResults: 0 } }
    assert.deepEqual(await find(context, { q: 'nothing like this' }), nothing)
  })
})

const all = [
  [list, {}],
  [listKeyset, {}],
  [events, {}],
  [eventsKeyset, {}],
  [tags, {}],
  [eventById, { id: '71' }],
  [eventBySlug, { slug: 'works' }],
  [seriesById, { id: '31' }],
  [series, {}],
  [tagById, { id: '7' }],
  [tagBySlug, { slug: 'ports' }],
  [marketTags, { id: '501' }],
  [eventTags, { id: '71' }],
  [publicSearch, { q: 'ports' }],
] as unknown as readonly (readonly [Handler<Endpoint, MarketsContext>, Record<string, string>])[]

describe('headers and errors', () => {
  test('304 until a record changes', async () => {
    await using context = await openContext()
    await put(context, world)
    for (const [handler, query] of all) {
      const { etag = '', 'cache-control': caching } = headersOf(await call(handler, context, query))
      assert.match(etag, /^"[\w-]{22}"$/)
      assert.equal(caching, 'public, max-age=5')
      const unchanged = await call(handler, context, query, { 'if-none-match': etag })
      assert.equal(unchanged.is, 'unchanged')
      assert.equal(headersOf(unchanged).etag, etag)
      assert.equal((await call(handler, context, query, { 'if-none-match': '"other"' })).is, 'bytes')
    }
    const { etag = '' } = headersOf(await call(list, context))
    await put(context, [{ kind: 'tag', id: '7', fields: { label: 'Harbours', slug: 'ports' } }])
    assert.equal((await call(list, context, {}, { 'if-none-match': etag })).is, 'bytes')
  })

  test('coverage headers are those of 4.8; until all feeds are read, lists show what is stored and lookups fail', async () => {
    await using context = await openContext({ markets: { feeds: [{ id: 'main', url: 'http://127.0.0.1:9/markets' }] } })
    await put(context, world)
    for (const [handler, query] of all) {
      const headers = headersOf(await call(handler, context, query))
      assert.deepEqual([headers['x-tetrad-coverage'], headers['x-tetrad-as-of']], ['none', undefined])
    }
    const missing = { id: '999', slug: 'missing' }
    const isUnread = (kind: string) => (fault: Fault) =>
      fault.code === 'markets.not_covered' && fault.publicMessage.endsWith(`so this ${kind} may still exist.`)
    await assert.rejects(call(eventById, context, missing), isUnread('event'))
    await assert.rejects(call(eventBySlug, context, missing), isUnread('event'))
    await assert.rejects(call(seriesById, context, missing), isUnread('series'))
    await assert.rejects(call(tagById, context, missing), isUnread('tag'))
    await assert.rejects(call(tagBySlug, context, missing), isUnread('tag'))
    await assert.rejects(call(marketTags, context, missing), isUnread('market'))
    await assert.rejects(call(eventTags, context, missing), isUnread('event'))
    const read = { fullAtMs: testNowMs, doneAtMs: testNowMs, asOfMs: testNowMs }
    await context.ingest.write((tx) => storeFeedState(tx, { ...newFeedState('main'), ...read }))
    const asOf = new Date(testNowMs).toISOString()
    for (const [handler, query] of all) {
      const headers = headersOf(await call(handler, context, query))
      assert.deepEqual([headers['x-tetrad-coverage'], headers['x-tetrad-as-of']], ['complete', asOf])
    }
    for (const [handler, error] of [
      [eventById, 'id not found'],
      [eventBySlug, 'slug not found'],
      [seriesById, 'id not found'],
      [tagById, 'id not found'],
      [tagBySlug, 'slug not found'],
      [marketTags, 'id not found'],
      [eventTags, 'id not found'],
    ] as const) {
      const found = await call(handler as unknown as Handler<Endpoint, MarketsContext>, context, missing)
      assert.deepEqual(found, { is: 'nothing', confidence: { coverage: 'complete', asOf } })
      const body = { type: 'not found error', error }
      assert.deepEqual(handler.errorFormat.renderNotFound(), { status: 404, body })
      assert.deepEqual(failureExample(handler.endpoint, 'record.not_found').body, body)
    }
  })
})
