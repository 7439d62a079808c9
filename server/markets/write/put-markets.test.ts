import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openContext, type TestContext } from '#test/context.ts'
import { listsOf } from '#test/lists-of.ts'
import { listDocuments } from '#test/market-documents.ts'
import { listMarketChanges } from '../extensions/changes/changes.ts'
import { findBestMatches } from '../extensions/search/search.ts'
import { findMarketResponse } from '../read/market-response.ts'
import type { KindName } from '../records/kinds.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { putMarkets } from './put-markets.ts'

const record = (kind: KindName, id: string, fields: object, links: Record<string, string[]> = {}): MarketRecord => ({
  kind,
  id,
  fields: { ...fields },
  links,
})

/** Two markets of one event, another event of the same series, a tag everywhere. */
const records: readonly MarketRecord[] = [
  record('market', '1', { slug: 'm-1', question: 'One?', active: true }, { events: ['10'], tags: ['7'] }),
  record('market', '2', { slug: 'm-2', question: 'Two?' }, { events: ['10'], tags: [] }),
  record('market', '3', { slug: 'm-3', question: 'Three?' }, { events: ['11'] }),
  record('event', '10', { slug: 'e-10', title: 'Ten' }, { series: ['20'], tags: ['7'], collections: ['30'] }),
  record('event', '11', { slug: 'e-11', title: 'Eleven' }, { series: ['20'] }),
  record('series', '20', { slug: 's-20', title: 'Twenty' }, { tags: ['8'] }),
  record('collection', '30', { slug: 'c-30', tags: 'a,b' }, { iconOptimized: ['40'] }),
  record('image', '40', { imageUrlSource: 'https://img.example/40.png', relID: 30 }),
  record('tag', '7', { label: 'Seven' }),
  record('tag', '8', { label: 'Eight' }),
]

const put = (context: TestContext, records: readonly MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()))

async function readBody(context: TestContext, slug: string, tags = true) {
  const response = await findMarketResponse(context, slug, tags)
  return response && JSON.parse(Buffer.from(response.bytes).toString())
}

async function tagsOf(context: TestContext): Promise<Record<string, string>> {
  const documents = await listDocuments(context.ingest)
  return Object.fromEntries(documents.map(({ id, etag, modifiedMs }) => [id, `${etag} ${modifiedMs}`]))
}

/** The markets whose documents have changed. Exactly these have the time of the change. */
async function changedBy(context: TestContext, ...changes: MarketRecord[]): Promise<string[]> {
  const before = new Map((await listDocuments(context.ingest)).map(({ id, etag }) => [id, etag]))
  context.clock.advance(1000)
  await put(context, changes)
  const after = await listDocuments(context.ingest)
  const changed = after.filter(({ id, etag }) => before.get(id) !== etag).map(({ id }) => id)
  const timed = after.filter(({ modifiedMs }) => modifiedMs === context.clock.now()).map(({ id }) => id)
  assert.deepEqual(timed, changed)
  return changed
}

test('a document contains its records in full, and back references in short form', async () => {
  await using context = await openContext()
  await put(context, records)
  assert.deepEqual(await readBody(context, 'm-1'), {
    id: '1',
    question: 'One?',
    slug: 'm-1',
    active: true,
    events: [
      {
        id: '10',
        slug: 'e-10',
        title: 'Ten',
        markets: [
          { id: '1', slug: 'm-1', question: 'One?' },
          { id: '2', slug: 'm-2', question: 'Two?' },
        ],
        series: [
          {
            id: '20',
            slug: 's-20',
            title: 'Twenty',
            tags: [{ id: '8', label: 'Eight' }],
          },
        ],
        collections: [
          {
            id: '30',
            slug: 'c-30',
            tags: 'a,b',
            iconOptimized: { id: '40', imageUrlSource: 'https://img.example/40.png', relID: 30 },
          },
        ],
        tags: [{ id: '7', label: 'Seven' }],
      },
    ],
    tags: [{ id: '7', label: 'Seven' }],
  })
})

test('without tags, only the market’s own tags are removed', async () => {
  await using context = await openContext()
  await put(context, records)
  const { tags, ...rest } = await readBody(context, 'm-1')
  assert.ok(tags)
  assert.deepEqual(await readBody(context, 'm-1', false), rest)
  const { tags: none, ...other } = await readBody(context, 'm-2')
  assert.deepEqual(none, [])
  assert.deepEqual(await readBody(context, 'm-2', false), other)
  assert.deepEqual(await readBody(context, 'm-3', false), await readBody(context, 'm-3'))
})

test('JSON in a string is unchanged', async () => {
  await using context = await openContext()
  const outcomes = ' [ "Yes" ,"N\\u006f", "ü\u2028😀" ]'
  await put(context, [record('market', '1', { slug: 'm', outcomes })])
  assert.equal((await readBody(context, 'm')).outcomes, outcomes)
})

test('rule 1: storing the same records again changes nothing, not even the time', async () => {
  await using context = await openContext()
  const first = await put(context, records)
  assert.deepEqual([first.changed, first.rejects.length], [10, 0])
  context.clock.advance(60_000)
  const again = await put(context, [...records].reverse())
  assert.equal(again.changed, 0)
  const times = (await listDocuments(context.ingest)).map(({ modifiedMs }) => modifiedMs)
  assert.deepEqual([...new Set(times)], [context.clock.now() - 60_000])
})

test('rule 1: a missing link stays; an empty list replaces it, null removes it', async () => {
  await using context = await openContext()
  await put(context, records)
  await put(context, [{ kind: 'market', id: '1', fields: { slug: 'm-1' } }])
  assert.equal((await readBody(context, 'm-1')).tags.length, 1)
  await put(context, [{ kind: 'market', id: '1', fields: { slug: 'm-1' }, links: { tags: [] } }])
  assert.deepEqual((await readBody(context, 'm-1')).tags, [])
  await put(context, [{ kind: 'market', id: '1', fields: { slug: 'm-1' }, links: { tags: null } }])
  assert.equal((await readBody(context, 'm-1')).tags, undefined)
})

for (const isStored of [false, true]) {
  test(`rule 5: several versions of ${isStored ? 'a stored' : 'a new'} market in one write stay versions`, async () => {
    await using context = await openContext()
    const version = (bestBid: number, slug = 'm'): MarketRecord[] => [
      record('event', '10', { slug: 'e', title: 'Ten', volume: bestBid * 100 }),
      record('market', '1', { slug, question: 'One?', bestBid }, { events: ['10'] }),
      record('market', '2', { slug: 'other', question: 'Two?', bestBid }, { events: ['10'] }),
    ]
    const first = version(0.1)
    const others = [...version(0.2, 'renamed'), ...version(0.1), ...version(0.1), ...version(0.3)]
    if (isStored) await put(context, first)
    const report = await put(context, isStored ? others : [...first, ...others])
    assert.deepEqual([report.changed, report.rejects.length], [isStored ? 9 : 12, 0])
    const { changes } = await listMarketChanges(context.ingest, '1', { limit: 10, related: false })
    assert.deepEqual(
      changes.map(({ change, fields }) => [
        change,
        ...fields.map(({ field, before, after }) => [field, before, after]),
      ]),
      [
        ['changed', ['bestBid', 0.1, 0.3]],
        ['changed', ['slug', 'renamed', 'm'], ['bestBid', 0.2, 0.1]],
        ['changed', ['slug', 'm', 'renamed'], ['bestBid', 0.1, 0.2]],
        ['created'],
      ],
    )
    const body = await readBody(context, 'm')
    assert.deepEqual([body.bestBid, body.events[0].volume], [0.3, 30])
    assert.deepEqual(await readBody(context, 'renamed'), body)
    assert.deepEqual(await findBestMatches(await listsOf(context), ['one'], 10), ['1'])
  })
}

const affectedMarkets: readonly [name: string, change: MarketRecord, markets: string[]][] = [
  ["a market's price: itself", record('market', '1', { slug: 'm-1', question: 'One?', active: false }), ['1']],
  ["a market's question: its event's markets", record('market', '1', { slug: 'm-1', question: 'Uno?' }), ['1', '2']],
  ["an event's volume: its markets", record('event', '10', { slug: 'e-10', title: 'Ten', volume: 5 }), ['1', '2']],
  ["an event's title: its markets", record('event', '10', { slug: 'e-10', title: 'X' }), ['1', '2']],
  ['a series: its events’ markets', record('series', '20', { slug: 's-20', title: 'Y' }), ['1', '2', '3']],
  ['a tag: wherever it is shown', record('tag', '7', { label: 'VII' }), ['1', '2']],
  ['an image deep down', record('image', '40', { relID: 31 }), ['1', '2']],
  ['a tag that no market shows', record('tag', '9', { label: 'Nine' }), []],
  ['a new market of an event', record('market', '4', { slug: 'm-4' }, { events: ['11'] }), ['3', '4']],
  [
    'a market that leaves its event',
    record('market', '2', { slug: 'm-2', question: 'Two?' }, { events: ['11'] }),
    ['1', '2', '3'],
  ],
  ['only an unknown field', record('tag', '7', { label: 'Seven', odd: 1 }), []],
]
for (const [name, change, markets] of affectedMarkets) {
  test(`rule 3: a change of a response has its time: ${name}`, async () => {
    await using context = await openContext()
    await put(context, records)
    assert.deepEqual((await changedBy(context, change)).sort(), markets)
  })
}

test('rule 2: any order and any batches give the same documents', async () => {
  await using expected = await openContext()
  await put(expected, records)
  const expectedTags = await tagsOf(expected)
  const orders = fc.shuffledSubarray([...records], { minLength: records.length })
  await using context = await openContext()
  await fc.assert(
    fc.asyncProperty(orders, fc.integer({ min: 1, max: 5 }), async (order, batch) => {
      for (const table of ['records', 'links', 'slugs', 'list', 'search', 'words']) {
        await context.ingest.write((tx) => tx.run(`delete from market_${table}`))
      }
      for (let at = 0; at < order.length; at += batch) await put(context, order.slice(at, at + batch))
      assert.deepEqual(await tagsOf(context), expectedTags)
    }),
    { numRuns: 40 },
  )
})

test('a market without a slug is rejected, and the others are stored', async () => {
  await using context = await openContext()
  const report = await put(context, [record('market', '1', { active: true }), record('market', '2', { slug: 'n' })])
  assert.deepEqual(
    report.rejects.map(({ kind, id, problems }) => [kind, id, problems[0]?.at[0]]),
    [['market', '1', 'slug']],
  )
  assert.deepEqual(await readBody(context, 'n'), { id: '2', slug: 'n' })
})

test('an empty string is kept in responses, nested records, references and history', async () => {
  await using context = await openContext()
  await put(context, [
    record('market', '1', { slug: 'm', question: '', marketMakerAddress: '' }, { events: ['10'] }),
    { kind: 'event', id: '10', fields: { slug: '', title: 'Ten' }, partial: true },
  ])
  assert.deepEqual(await readBody(context, 'm'), {
    id: '1',
    question: '',
    slug: 'm',
    marketMakerAddress: '',
    events: [{ id: '10', slug: '', title: 'Ten', markets: [{ id: '1', slug: 'm', question: '' }] }],
  })
  await put(context, [{ kind: 'event', id: '10', fields: { slug: 'ten', title: '' }, partial: true }])
  assert.deepEqual((await readBody(context, 'm')).events[0].title, '')
  const last = await context.ingest.get<{ diff: string }>('select diff from market_versions order by seq desc limit 1')
  assert.deepEqual(JSON.parse(last?.diff ?? ''), { slug: ['', 'ten'], title: ['Ten', ''] })
})

test('a nested record keeps its other fields if one is invalid, until the field is valid again', async () => {
  await using context = await openContext()
  const event = (fields: object): MarketRecord => ({ kind: 'event', id: '10', fields: { ...fields }, partial: true })
  await put(context, [record('market', '1', { slug: 'm' }, { events: ['10'] }), event({ title: 'Ten', volume: 5 })])
  const shownEvent = async () => {
    const { markets, ...eventFields } = (await readBody(context, 'm')).events[0]
    return eventFields
  }
  const asideOf = async () =>
    (await context.ingest.get<{ extra_fields: string }>("select extra_fields from market_records where kind = 'event'"))
      ?.extra_fields
  await put(context, [event({ volume: { amount: 6 } })])
  assert.deepEqual(await shownEvent(), { id: '10', title: 'Ten' }, 'not the volume of before')
  assert.equal(await asideOf(), '{"volume":{"amount":6}}')
  await put(context, [event({ volume: '6' })])
  assert.deepEqual(await shownEvent(), { id: '10', title: 'Ten', volume: 6 })
  assert.equal(await asideOf(), null)
})

test('unknown fields are stored and not served', async () => {
  await using context = await openContext()
  await put(context, [record('market', '1', { slug: 'm', novel: [1, 2] })])
  assert.deepEqual(await readBody(context, 'm'), { id: '1', slug: 'm' })
  assert.deepEqual(await context.ingest.get('select extra_fields from market_records'), {
    extra_fields: '{"novel":[1,2]}',
  })
})

test('a failed transaction leaves no partial update', async () => {
  await using context = await openContext()
  await put(context, records)
  const before = await tagsOf(context)
  const broken = context.ingest.write(async (tx) => {
    await putMarkets(tx, [record('tag', '7', { label: 'Half' })], context.clock.now())
    throw new Error('power cut')
  })
  await assert.rejects(broken, /power cut/)
  assert.deepEqual(await tagsOf(context), before)
  assert.equal((await readBody(context, 'm-1')).tags[0].label, 'Seven')
})

test('columns that do not change are not written, so that their indexes are not either', async () => {
  await using context = await openContext()
  const market = (fields: object) => record('market', '1', { slug: 'm', question: 'One?', ...fields }, { tags: ['7'] })
  await put(context, [market({ bestBid: 0.1, volumeNum: 5 }), record('tag', '7', { label: 'Seven' })])
  const writtenBy = async (fields: object) => {
    const written: string[] = []
    await context.ingest.write(async (tx) => {
      const updateMany: typeof tx.updateMany = (table, key, columns, rows) => {
        if (rows.length > 0) written.push(`${table}: ${columns.join()}`)
        return tx.updateMany(table, key, columns, rows)
      }
      const insertMany: typeof tx.insertMany = (into, columns, rows, ...end) => {
        if (rows.length > 0) written.push(`into ${into}`)
        return tx.insertMany(into, columns, rows, ...end)
      }
      await putMarkets({ ...tx, updateMany, insertMany }, [market(fields)], context.clock.now())
    })
    return written
  }
  const ticks = ['into market_ticks', 'into market_commits']
  assert.deepEqual(await writtenBy({ bestBid: 0.2, volumeNum: 5 }), ticks)
  assert.deepEqual(await writtenBy({ bestBid: 0.2, volumeNum: 7, updatedAt: '2026-11-15T12:00:00Z' }), ticks)
  assert.deepEqual(
    await writtenBy({ bestBid: 0.2, volumeNum: 7, updatedAt: '2026-11-15T12:00:00Z', description: 'x' }),
    [...['market_records: fields,changes_since_snapshot,changed_ms', 'into market_versions']],
  )
})
