// Pages of lists against a plain filter and sort in memory, on either engine (test/on-postgres.test.ts).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { StateReader, Value } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { listsOf } from '#test/lists-of.ts'
import { slowColumns } from '../../records/list-columns.ts'
import type { MarketRecord } from '../../records/normalize.ts'
import { putMarkets } from '../../write/put-markets.ts'
import { findPage } from './find-page.ts'
import type { ListPosition, ListQuery, OrderColumn } from './list-query.ts'

const put = (context: TestContext, records: readonly MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()))

/** So small that every path of the code runs. */
const limits = { rareMax: 4, rowsPerQuery: 3, examinedMax: 1000, linkedMax: 1000 }

interface DrawnMarket {
  readonly volume: number | undefined
  readonly day: number | undefined
  readonly closed: boolean
  readonly active: boolean | undefined
  readonly tags: readonly string[]
  readonly event: string | undefined
  readonly game: string | undefined
}

const tagIds = ['1', '2', '3']
const eventTags: Readonly<Record<string, readonly string[]>> = { '71': ['1'], '72': ['2', '3'] }
const drawnMarket: fc.Arbitrary<DrawnMarket> = fc.record({
  volume: fc.option(fc.integer({ min: -1, max: 4 }), { nil: undefined }),
  day: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  closed: fc.boolean(),
  active: fc.option(fc.boolean(), { nil: undefined }),
  tags: fc.subarray(tagIds),
  event: fc.constantFrom(undefined, '71', '72'),
  game: fc.constantFrom(undefined, 'a', 'b'),
})

/** Numeric ids of different lengths; their order as text is another one. */
const idAt = (index: number): string => String(index * 7 + 3)

function toRecords(markets: readonly DrawnMarket[]): MarketRecord[] {
  const events = Object.entries(eventTags).map(([id, tags]) => ({
    ...{ kind: 'event' as const, id, fields: { slug: `event-${id}` }, links: { tags } },
  }))
  return [
    ...tagIds.map((id) => ({ kind: 'tag' as const, id, fields: { label: id } })),
    ...events,
    ...markets.map(({ volume, day, closed, active, tags, event, game }, index) => ({
      kind: 'market' as const,
      id: idAt(index),
      fields: {
        ...{ slug: `m-${index}`, volumeNum: volume, closed, active, gameId: game },
        endDate: day && `2026-01-0${day}T00:00:00Z`,
      },
      links: { tags, events: event === undefined ? [] : [event] },
    })),
  ]
}

const dayMs = (day: number): number => Date.UTC(2026, 0, day)

const drawnQuery = fc.record({
  order: fc.constantFrom<OrderColumn>('number', 'volume', 'end_ms'),
  ascending: fc.boolean(),
  closed: fc.option(fc.boolean(), { nil: undefined }),
  active: fc.option(fc.boolean(), { nil: undefined }),
  volumeMin: fc.option(fc.integer({ min: -2, max: 3 }), { nil: undefined }),
  volumeMax: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
  dayMax: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  tag: fc.option(fc.constantFrom(...tagIds), { nil: undefined }),
  allTags: fc.option(fc.subarray(tagIds, { minLength: 1 }), { nil: undefined }),
  excludedTag: fc.option(fc.constantFrom(...tagIds), { nil: undefined }),
  game: fc.option(fc.record({ value: fc.constantFrom('a', 'b'), isExcluded: fc.boolean() }), {
    nil: undefined,
    freq: 2,
  }),
  ids: fc.option(fc.uniqueArray(fc.nat({ max: 20 })), { nil: undefined }),
  limit: fc.integer({ min: 1, max: 5 }),
})
type DrawnQuery = typeof drawnQuery extends fc.Arbitrary<infer Q> ? Q : never

const toQuery = (drawn: DrawnQuery): ListQuery => ({
  kind: 'market',
  order: drawn.order,
  ascending: drawn.ascending,
  closed: drawn.closed,
  flags: { active: drawn.active },
  ranges: [
    { column: 'volume', min: times1000(drawn.volumeMin), max: times1000(drawn.volumeMax) },
    { column: 'end_ms', max: drawn.dayMax === undefined ? undefined : dayMs(drawn.dayMax) },
  ],
  tagIds: drawn.tag === undefined ? undefined : [drawn.tag],
  allTagIds: drawn.allTags,
  excludedTagIds: drawn.excludedTag === undefined ? undefined : [drawn.excludedTag],
  keys: drawn.game ? [{ name: 'game', values: [drawn.game.value], isExcluded: drawn.game.isExcluded }] : [],
  ids: drawn.ids?.map(idAt),
})
const times1000 = (amount: number | undefined) => (amount === undefined ? undefined : amount * 1000)

const hasTag = ({ tags, event }: DrawnMarket, tag: string): boolean =>
  tags.includes(tag) || (event !== undefined && eventTags[event]?.includes(tag) === true)

function expectedIds(markets: readonly DrawnMarket[], drawn: DrawnQuery): string[] {
  const { order, ascending, active, volumeMin, volumeMax, dayMax, tag, allTags, excludedTag, game, ids } = drawn
  const closed = drawn.closed ?? (ids ? undefined : false)
  const found = markets
    .map((market, index) => ({ ...market, index }))
    .filter((market) => closed === undefined || market.closed === closed)
    .filter((market) => active === undefined || (market.active ?? true) === active)
    .filter(({ volume }) => volumeMin === undefined || (volume !== undefined && volume >= volumeMin))
    .filter(({ volume }) => volumeMax === undefined || (volume !== undefined && volume <= volumeMax))
    .filter(({ day }) => dayMax === undefined || (day !== undefined && day <= dayMax))
    .filter((market) => tag === undefined || hasTag(market, tag))
    .filter((market) => allTags === undefined || allTags.every((one) => hasTag(market, one)))
    .filter((market) => excludedTag === undefined || !hasTag(market, excludedTag))
    .filter((market) => game === undefined || (market.game === game.value) !== game.isExcluded)
    .filter(({ index }) => ids === undefined || ids.includes(index))
  const keyOf = ({ volume, day }: DrawnMarket): number =>
    (order === 'volume' ? volume : order === 'end_ms' ? day : 0) ?? Number.NEGATIVE_INFINITY
  const sign = ascending ? 1 : -1
  const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1)
  found.sort((a, b) => sign * (compare(keyOf(a), keyOf(b)) || a.index - b.index))
  return found.map(({ index }) => idAt(index))
}

async function followCursors(context: TestContext, query: ListQuery, limit: number): Promise<string[]> {
  const ids: string[] = []
  let after: ListPosition | undefined
  do {
    const page = await findPage(await listsOf(context), query, { offset: 0, limit, after }, limits)
    assert.ok(page.ids.length <= limit)
    ids.push(...page.ids)
    after = page.next
  } while (after)
  return ids
}

describe('pages', () => {
  test('cursors and offsets give every record that matches once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(drawnMarket, { maxLength: 20 }),
        fc.array(drawnQuery, { minLength: 20, maxLength: 20 }),
        async (markets, queries) => {
          await using context = await openContext()
          await put(context, toRecords(markets))
          for (const drawn of queries) {
            const [query, expected] = [toQuery(drawn), expectedIds(markets, drawn)]
            assert.deepEqual(await followCursors(context, query, drawn.limit), expected)
            for (let offset = 0; offset <= expected.length; offset += drawn.limit) {
              const page = await findPage(await listsOf(context), query, { offset, limit: drawn.limit }, limits)
              assert.deepEqual(page.ids, expected.slice(offset, offset + drawn.limit))
              assert.equal(page.isCut, false)
            }
          }
        },
      ),
      { numRuns: 6, endOnFailure: true },
    )
  })

  test('a walk that examines too many rows is cut, and its cursor continues it', async () => {
    await using context = await openContext()
    const markets = Array.from({ length: 20 }, (_, index) => ({
      ...{ volume: index, day: 1, closed: false, active: index === 19, tags: [], event: undefined, game: undefined },
    }))
    await put(context, toRecords(markets))
    const query: ListQuery = { kind: 'market', order: 'volume', ascending: true, flags: { active: true } }
    const few = { ...limits, examinedMax: 6 }
    const cut = await findPage(await listsOf(context), query, { offset: 0, limit: 2 }, few)
    assert.deepEqual([cut.ids, cut.isCut, cut.next?.id], [[], true, idAt(5)])
    const ids: string[] = []
    let after: ListPosition | undefined
    do {
      const page = await findPage(await listsOf(context), query, { offset: 0, limit: 2, after }, few)
      ids.push(...page.ids)
      after = page.next
    } while (after)
    assert.deepEqual(ids, [idAt(19)])
    const linked = { ...query, flags: {}, keys: [{ name: 'game', values: ['b'], isExcluded: false }] } as const
    const less = await findPage(
      await listsOf(context),
      linked,
      { offset: 0, limit: 2 },
      { ...few, rareMax: -1, linkedMax: 3 },
    )
    assert.deepEqual([less.ids, less.isCut, less.next?.id], [[], true, idAt(2)])
  })

  test('a changed record moves in the list', async () => {
    await using context = await openContext()
    const market = (id: string, volumeNum: number, closed = false): MarketRecord => ({
      ...{ kind: 'market', id, fields: { slug: `m-${id}`, volumeNum, closed, conditionId: `0x${id}${closed}` } },
    })
    const idsOf = async (query: Partial<ListQuery>) => {
      const whole = { kind: 'market', order: 'volume', ascending: false, ...query } as const
      return (await findPage(await listsOf(context), whole, { offset: 0, limit: 9 })).ids
    }
    await put(context, [market('1', 5), market('2', 6)])
    assert.deepEqual(await idsOf({}), ['2', '1'])
    await put(context, [market('1', 7)])
    assert.deepEqual(await idsOf({}), ['1', '2'])
    await put(context, [market('1', 7, true)])
    assert.deepEqual(await idsOf({}), ['2'])
    assert.deepEqual(await idsOf({ closed: true }), ['1'])
    const named = (...values: string[]) => ({ named: [{ name: 'condition', values } as const] })
    assert.deepEqual(await idsOf(named('0x1false', '0x2false')), ['2'])
    assert.deepEqual(await idsOf(named('0x1true')), ['1'])
  })
})

/** Notes every statement that reads. */
function recordReads(state: TestContext['state']): { reader: StateReader; statements: [string, ...Value[]][] } {
  const statements: [string, ...Value[]][] = []
  const reader = stateWith(state, {
    all: <R>(sql: string, ...values: Value[]) => {
      statements.push([sql, ...values])
      return state.all<R>(sql, ...values)
    },
    get: <R>(sql: string, ...values: Value[]) => {
      statements.push([sql, ...values])
      return state.get<R>(sql, ...values)
    },
  })
  return { reader, statements }
}

describe('query plans', () => {
  let context: TestContext
  before(async () => {
    context = await openContext()
    await fillList(context)
  })
  after(() => context[Symbol.asyncDispose]())

  test('named records and tags are found by index', async () => {
    const { view } = await listsOf(context)
    const { reader, statements } = recordReads(context.ingest)
    const query = { kind: 'market', order: 'volume', ascending: false } as const
    const filters: Partial<ListQuery>[] = [
      { tagIds: ['7'] },
      { allTagIds: ['7', '8'] },
      { tagSlugs: ['7'] },
      { keys: [{ name: 'game', values: ['a', 'b'] }] },
      { kind: 'event', seriesIds: ['7'] },
      { kind: 'event', seriesRecurrence: 'weekly' },
    ]
    for (const named of [
      { ids: ['5'] },
      { slugs: ['a'] },
      { named: [{ name: 'condition', values: ['a'] }] },
      ...filters,
    ] as Partial<ListQuery>[])
      await findPage({ reader, view }, { ...query, ...named }, { offset: 0, limit: 20 })
    await checkPlans(context, statements)
    statements.length = 0
    // As filters of a walk.
    for (const filter of [...filters, { excludedTagIds: ['7'] }])
      await findPage({ reader, view }, { ...query, ...filter }, { offset: 0, limit: 5 }, { ...limits, rareMax: -1 })
    await checkPlans(context, statements)
  })
})

/** Enough rows for PostgreSQL to prefer an index. */
async function fillList({ ingest }: TestContext): Promise<void> {
  const rows = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) select'
  await ingest.write(async (tx) => {
    await tx.run(
      `insert into market_list (place, kind, id, number, ${slowColumns.join()})
       ${rows} i, 'market', cast(i as text), i, ${slowColumns.map(() => 'i % 2').join()} from n`,
    )
    await tx.run(
      `insert into market_records (kind, id, slug, fields, links, changes_since_snapshot, changed_ms)
       ${rows} 'market', cast(i as text), cast(i as text), '{}', '{}', 0, 0 from n`,
    )
    await tx.run(
      `insert into market_keys (kind, name, value, id)
       ${rows} 'market', 'token', cast(i as text), cast(i as text) from n`,
    )
    await tx.run(
      `insert into market_links (to_kind, to_id, from_kind, from_id)
       ${rows} 'tag', cast(i % 1000 as text), 'market', cast(i as text) from n`,
    )
    if (ingest.engine === 'postgres') await tx.run('analyze')
  })
}

async function checkPlans({ ingest }: TestContext, statements: readonly [string, ...Value[]][]): Promise<void> {
  assert.ok(statements.length > 0)
  const [explain, column] =
    ingest.engine === 'sqlite' ? (['explain query plan', 'detail'] as const) : (['explain', 'QUERY PLAN'] as const)
  for (const [sql, ...values] of statements) {
    const rows = await ingest.all<Record<string, Value>>(`${explain} ${sql}`, ...values)
    const plan = rows.map((row) => String(row[column])).join('; ')
    assert.doesNotMatch(plan, /SCAN (?!CONSTANT|json_each)|Seq Scan/, `${sql}: ${plan}`)
  }
}
