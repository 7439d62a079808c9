// Nested records: decomposition, rename tables, partial and older records; and import from files.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import { listDocuments } from '#test/market-documents.ts'
import { findMarketResponse } from '../read/market-response.ts'
import { decompose, Renames } from '../records/decompose.ts'
import { JsonSplitter } from '../records/json-splitter.ts'
import type { Reject } from './accept-records.ts'
import { listDrift } from './drift.ts'
import { importMarkets } from './import-markets.ts'
import { putMarkets } from './put-markets.ts'

const nested = {
  id: '1',
  slug: 'one',
  question: 'One?',
  updatedAt: '2026-11-15T10:00:00Z',
  imageOptimized: { id: '40', relID: 1 },
  iconOptimized: null,
  tags: [{ id: '7', label: 'Seven' }],
  events: [
    {
      id: '10',
      title: 'Ten',
      markets: [{ id: '1', slug: 'one', question: 'One?' }],
      series: [{ id: '20', title: 'Twenty', events: [{ id: '10' }], tags: [{ id: '7', label: 'Seven' }] }],
    },
  ],
}

const put = (context: TestContext, value: unknown, table = {}, kind: 'market' | 'event' = 'market') =>
  context.ingest.write((tx) => putMarkets(tx, decompose(value, kind, new Renames(table)), context.clock.now()))

async function readBody(context: TestContext, slug: string) {
  const response = await findMarketResponse(context, slug, true)
  return response && JSON.parse(Buffer.from(response.bytes).toString())
}

describe('decompose', () => {
  test('nested records become records with links, and back references are not followed', () => {
    const records = decompose(nested, 'market', new Renames())
    assert.deepEqual(
      records.map(({ kind, id, partial }) => `${kind}/${id}${partial ? ' partial' : ''}`),
      ['image/40 partial', 'tag/7 partial', 'tag/7 partial', 'series/20 partial', 'event/10 partial', 'market/1'],
    )
    assert.deepEqual(records.at(-1)?.links, {
      imageOptimized: ['40'],
      iconOptimized: null,
      tags: ['7'],
      events: ['10'],
    })
  })

  test('a record without a valid id is reported and not linked; a number is an id, null is skipped', () => {
    const bad = { id: '1', tags: [{ label: 'x' }, { id: {} }, true, null, { id: 7 }, 5, '8'], events: 'none' }
    const records = decompose(bad, 'market', new Renames(), 'file:3')
    assert.deepEqual(
      records.map(
        ({ kind, id, problems = [], location }) => `${location} ${kind}/${id} ${problems.map((p) => p.message)}`,
      ),
      [
        'file:3 tag/ is required',
        'file:3 tag/ must be string',
        'file:3 tag/ must be an object',
        'file:3 tag/7 ',
        'file:3 market/1 ',
      ],
    )
    assert.deepEqual(records.at(-1)?.links, { tags: ['7', '5', '8'], events: null })
    assert.equal(records.at(-1)?.fields.events, 'none', 'handed on, to be reported')
  })

  test('a market inside an event links to it, even if its own events are null or empty', () => {
    for (const events of [undefined, null, []]) {
      const market = { id: '1', slug: 'm', question: 'One?', active: true, events }
      const [record] = decompose({ id: '10', markets: [market, null, '2', { id: '3' }] }, 'event', new Renames())
      assert.deepEqual([record?.id, record?.links], ['1', { events: ['10'] }], String(events))
    }
  })

  test('a rename table applies to one kind or to all; the name of the contract has precedence', async () => {
    await using context = await openContext()
    const table = {
      all: { ident: 'id' },
      market: { house_bond: 'oracleBond', url_name: 'slug' },
      tag: { name: 'label' },
    }
    const value = {
      ident: '1',
      url_name: 'one',
      house_bond: '500',
      oracleBond: '7',
      name: 'x',
      tags: [{ ident: '7', name: 'Seven' }],
    }
    await put(context, value, table)
    assert.deepEqual(await readBody(context, 'one'), {
      id: '1',
      slug: 'one',
      oracleBond: '7',
      tags: [{ id: '7', label: 'Seven' }],
    })
    assert.deepEqual(
      (await listDrift(context.ingest)).map(({ kind, field, sample }) => [kind, field, sample]),
      [['market', 'name', '"x"']],
    )
  })

  test('top-level events include their markets', async () => {
    await using context = await openContext()
    const markets = [
      { id: '1', slug: 'one', question: 'One?', active: true },
      { id: '2', slug: 'two', question: 'Two?' },
    ]
    await put(context, { id: '10', title: 'Ten', markets }, {}, 'event')
    assert.equal((await readBody(context, 'one')).events[0].title, 'Ten')
    assert.equal(await readBody(context, 'two'), undefined, 'one that is only named there is no statement')
  })
})

describe('partial and older records', () => {
  test('a nested record only adds, null removes, and a top-level record replaces', async () => {
    await using context = await openContext()
    const event = { id: '10', title: 'Ten', subtitle: 'T', score: '1-0' }
    await put(context, { ...nested, events: [event] })
    await put(context, { ...nested, events: [{ id: '10', title: 'X', score: null }] })
    const [after] = (await readBody(context, 'one')).events
    assert.deepEqual([after.title, after.subtitle, after.score], ['X', 'T', undefined])
    await put(context, { id: '1', slug: 'one' })
    const market = await readBody(context, 'one')
    assert.deepEqual([market.question, market.tags.length], [undefined, 1])
  })

  test('an older record changes nothing, one of the same time does', async () => {
    await using context = await openContext()
    await put(context, nested)
    const old = { ...nested, question: 'Old?', updatedAt: '2026-11-15T09:59:59.999Z' }
    assert.equal((await put(context, old)).stale, 1)
    assert.equal((await readBody(context, 'one')).question, 'One?')
    await put(context, { ...nested, question: 'New?', updatedAt: '2026-11-15T11:00:00+01:00' })
    assert.equal((await readBody(context, 'one')).question, 'New?')
  })

  test('unknown members of a value are stored as extra fields too', async () => {
    await using context = await openContext()
    await put(context, { id: '1', slug: 'one', feeSchedule: { rate: 0.02, tiers: [1] } })
    assert.deepEqual((await readBody(context, 'one')).feeSchedule, { rate: 0.02 })
    const [drift] = await listDrift(context.ingest)
    assert.deepEqual([drift?.field, drift?.records, drift?.sample], ['feeSchedule.tiers', 1, '[1]'])
  })
})

async function importText(context: TestContext, text: string) {
  const rejects: Reject[] = []
  const splitter = new JsonSplitter()
  const items = async function* () {
    yield* splitter.push(Buffer.from(text))
    yield* splitter.end()
  }
  const work = importMarkets(context, items(), {
    kind: 'market',
    renames: new Renames(),
    source: 'import',
    file: 'm.json',
    onReject: (reject) => void rejects.push(reject),
  })
  let over = false
  void work.finally(() => {
    over = true
  })
  while (!over) {
    await new Promise((resolve) => setImmediate(resolve))
    context.clock.advance(1)
  }
  const totals = await work
  return {
    totals,
    rejects: rejects.map(({ location, id, problems: [p] }) => `${location} ${id} ${p?.at.join('.')} ${p?.message}`),
  }
}

describe('files', () => {
  const text = [
    JSON.stringify(nested),
    '{"id":"2","question":"Two?"}',
    '{"id":"3",',
    '{"id":"4","slug":"four","events":[{"id":"10","title":"Ten","volume":"much"},{"title":"No id"}],"odd":1}',
  ].join('\n')

  test('valid records are stored; the others are reported with file, line, field and reason', async () => {
    await using context = await openContext()
    const { totals, rejects } = await importText(context, text)
    assert.deepEqual(rejects.map((line) => line.replace(/\(.*\)/, '(…)')).sort(), [
      'm.json:2 2 slug is required',
      'm.json:3   is not JSON (…)',
      'm.json:4  id is required',
    ])
    assert.deepEqual([totals.read, totals.rejected], [4, 3])
    assert.equal((await readBody(context, 'four')).events[0].title, 'Ten')
  })

  test('importing the same file again changes no record, version or drift', async () => {
    await using context = await openContext()
    await importText(context, text)
    const tables = ['records', 'versions', 'drift', 'revision', 'slugs', 'links', 'search', 'list']
    const all = () => Promise.all(tables.map((name) => context.ingest.all(`select * from market_${name}`)))
    const before = await all()
    context.clock.advance(60_000)
    const { totals } = await importText(context, text)
    assert.equal(totals.changed, 0)
    assert.deepEqual(await all(), before)
  })

  test('an import in parts has the same result as a single batch', async () => {
    const lines = Array.from({ length: 450 }, (_, at) =>
      JSON.stringify({
        id: String(at),
        slug: `m-${at}`,
        events: [{ id: String(1000 + at), title: `E ${at}`, series: [{ id: '20', title: 'S' }] }],
      }),
    )
    await using bulk = await openContext()
    await importText(bulk, lines.join('\n'))
    await using atOnce = await openContext()
    const records = lines.flatMap((line) => decompose(JSON.parse(line), 'market', new Renames()))
    await atOnce.ingest.write((tx) => putMarkets(tx, records, 0))
    const etagsOf = async (context: TestContext) => (await listDocuments(context.ingest)).map(({ etag }) => etag)
    assert.deepEqual(await etagsOf(bulk), await etagsOf(atOnce))
    assert.deepEqual((await readBody(bulk, 'm-0')).events[0].series, [{ id: '20', title: 'S' }])
  })
})
