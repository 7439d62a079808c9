// The version log, and spec 4.8 with `asOf`.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { bySlug } from '../endpoints/by-slug.ts'
import type { KindName } from '../records/kinds.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { putMarkets } from '../write/put-markets.ts'
import { dropVersionsBefore } from '../write/version-writer.ts'
import { findMarketResponse } from './market-response.ts'
import { readHistoryHead } from './versions.ts'
import { readVersionsAfter } from './versions-after.ts'

const record = (kind: KindName, id: string, fields: object, links: Record<string, string[]> = {}): MarketRecord => ({
  kind,
  id,
  fields: { ...fields },
  links,
})

const put = (context: TestContext, ...records: MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()))

const first: readonly MarketRecord[] = [
  record('market', '1', { slug: 'one', question: 'One?', bestBid: 0.4 }, { events: ['10'], tags: ['7'] }),
  record('market', '2', { slug: 'two', question: 'Two?' }, { events: ['10'] }),
  record('event', '10', { slug: 'ten', title: 'Ten', volume: 1 }, { series: ['20'] }),
  record('event', '11', { slug: 'eleven', title: 'Eleven' }, { series: ['20'] }),
  record('series', '20', { slug: 'twenty', title: 'Twenty' }),
  record('tag', '7', { label: 'Seven' }),
]

/** Changes, a second apart. */
const versions: readonly (readonly MarketRecord[])[] = [
  first,
  [record('market', '1', { slug: 'one', question: 'One?', bestBid: 0.5 })],
  [record('event', '10', { slug: 'ten', title: 'Ten!', volume: 2 })],
  [record('tag', '7', { label: 'VII' }), record('series', '20', { slug: 'twenty', title: 'XX' })],
  [record('market', '2', { slug: 'two', question: 'Two?' }, { events: ['11'], tags: ['7'] })],
  [record('market', '1', { slug: 'uno', question: 'Uno?', pastSlugs: 'one' })],
  [record('market', '3', { slug: 'one', question: 'Another one?' }, { events: ['10'] })],
  [record('market', '1', { slug: 'uno', question: 'Uno?', pastSlugs: 'first' }, { tags: [] })],
  [record('market', '2', { slug: 'due', question: 'Two?' })],
  [record('market', '4', { slug: 'four' })],
  [record('market', '4', { slug: 'two' })],
  [record('market', '4', { slug: 'fourth' })],
]

const slugs = ['one', 'two', 'due', 'uno', 'first', 'four', 'nowhere']

const textOf = (bytes: Uint8Array | undefined) => (bytes ? Buffer.from(bytes).toString() : undefined)

async function requestAsOf(context: TestContext, slug: string, atMs: number, include_tag = true, headers = {}) {
  const asOf = new Date(atMs).toISOString()
  const outcome = await bySlug.handle({ slug, include_tag, asOf }, context, testRequestInfo({ headers }))
  return outcome.is === 'bytes' ? textOf(outcome.bytes) : outcome.is
}

test('200: asOf returns the earlier response byte for byte, with and without tags', async () => {
  await using context = await openContext()
  const responses: { slug: string; tags: boolean; atMs: number; text: string | undefined }[] = []
  for (const chapter of versions) {
    await put(context, ...chapter)
    for (const slug of slugs) {
      for (const tags of [true, false]) {
        const ready = await findMarketResponse(context, slug, tags)
        responses.push({ slug, tags, atMs: context.clock.now(), text: textOf(ready?.bytes) })
      }
    }
    context.clock.advance(1000)
  }
  assert.ok(new Set(responses.map(({ text }) => text)).size > 12, 'the changes affect the responses')
  for (const { slug, tags, atMs, text } of responses) {
    for (const later of [0, 999]) {
      const past = await requestAsOf(context, slug, atMs + later, tags)
      if (text !== undefined) assert.equal(past, text, `${slug} at ${atMs - testNowMs + later}`)
    }
  }
})

test('200: the current slug can be used for times before it existed', async () => {
  await using context = await openContext()
  for (const chapter of versions) {
    await put(context, ...chapter)
    context.clock.advance(1000)
  }
  const past = JSON.parse((await requestAsOf(context, 'uno', testNowMs)) ?? '')
  assert.deepEqual([past.slug, past.bestBid, past.events[0].markets.length], ['one', 0.4, 2])
})

test('200: a past response has its as-of time and its earlier ETag', async () => {
  await using context = await openContext()
  await put(context, ...first)
  const then = await findMarketResponse(context, 'one', true)
  context.clock.advance(5000)
  await put(context, record('market', '1', { slug: 'one', bestBid: 0.9 }))
  const asOf = '2026-11-15T12:00:01'
  const outcome = await bySlug.handle({ slug: 'one', include_tag: true, asOf }, context, testRequestInfo())
  assert.ok(outcome.is === 'bytes')
  assert.equal(outcome.headers?.etag, then?.etag)
  assert.deepEqual(outcome.confidence, { asOf: '2026-11-15T12:00:01.000Z' })
  assert.equal(outcome.headers?.['cache-control'], 'public, max-age=3600')
  // A write in progress may still get a time after the newest version.
  context.clock.advance(5000)
  const open = { slug: 'one', include_tag: true, asOf: '2026-11-15T12:00:07' }
  const young = await bySlug.handle(open, context, testRequestInfo())
  assert.equal(young.is === 'bytes' && young.headers?.['cache-control'], 'public, max-age=5')
  assert.equal(await requestAsOf(context, 'one', testNowMs, true, { 'if-none-match': then?.etag }), 'unchanged')
})

test('404: a market that did not exist yet at a covered time, and an unknown market', async () => {
  await using context = await openContext()
  assert.equal(await requestAsOf(context, 'one', testNowMs), 'nothing')
  await put(context, ...first)
  context.clock.advance(1000)
  await put(context, record('market', '4', { slug: 'four' }))
  assert.equal(await requestAsOf(context, 'four', testNowMs + 999), 'nothing')
  assert.notEqual(await requestAsOf(context, 'four', testNowMs + 1000), 'nothing')
  assert.equal(await requestAsOf(context, 'nowhere', testNowMs), 'nothing')
})

test('410: a time before the first version, even if no version was deleted', async () => {
  await using context = await openContext()
  await put(context, ...first)
  const publicMessage = 'The stored history starts at 2026-11-15T12:00:00.000Z. Use this time or later.'
  await assert.rejects(requestAsOf(context, 'one', testNowMs - 1), {
    code: 'markets.history_expired',
    status: 410,
    publicMessage,
  })
  assert.notEqual(await requestAsOf(context, 'one', testNowMs), 'nothing')
})

test('410: a time before the stored history', async () => {
  await using context = await openContext()
  await put(context, ...first)
  context.clock.advance(10_000)
  await put(context, record('market', '1', { slug: 'one', bestBid: 0.5 }))
  const cutoffMs = testNowMs + 5000
  assert.equal(await context.ingest.write((tx) => dropVersionsBefore(tx, cutoffMs)), 7, '6 versions and a row of ticks')
  assert.equal(await context.ingest.write((tx) => dropVersionsBefore(tx, cutoffMs)), 0)
  await assert.rejects(requestAsOf(context, 'one', testNowMs), { code: 'markets.history_expired', status: 410 })
  assert.equal(JSON.parse((await requestAsOf(context, 'one', cutoffMs)) ?? '').bestBid, 0.4)
  assert.equal(JSON.parse((await requestAsOf(context, 'one', context.clock.now())) ?? '').bestBid, 0.5)
})

test('422: a time in the future; the current time is accepted, also after the clock was set back', async () => {
  await using context = await openContext()
  await put(context, ...first)
  const problems = [
    {
      at: ['query', 'asOf'],
      message: 'must not be in the future; the server time is 2026-11-15T12:00:00.000Z',
      value: undefined,
    },
  ]
  await assert.rejects(requestAsOf(context, 'one', testNowMs + 1), { code: 'input.invalid', problems })
  assert.notEqual(await requestAsOf(context, 'one', testNowMs), 'nothing')
  const later = [record('market', '1', { slug: 'one', bestBid: 0.9 })]
  await context.ingest.write((tx) => putMarkets(tx, later, testNowMs + 5000))
  assert.equal(JSON.parse((await requestAsOf(context, 'one', testNowMs + 5000)) ?? '').bestBid, 0.9)
  await assert.rejects(requestAsOf(context, 'one', testNowMs + 5001), { code: 'input.invalid' })
})

test('422: an invalid time', async () => {
  await using context = await openContext()
  const input = { slug: 'one', include_tag: true, asOf: '2026-11-15T25:00:00Z' }
  await assert.rejects(async () => bySlug.handle(input, context, testRequestInfo()), { code: 'input.invalid' })
})

test('a version has the changed fields of one record, however many markets show it', async () => {
  await using context = await openContext()
  await put(context, ...first)
  const { seq } = await readHistoryHead(context.ingest)
  assert.equal(seq, 6, 'one entry for each record that was created')
  await put(context, record('event', '10', { slug: 'ten', title: 'Ten', volume: 3 }))
  const rows = await readVersionsAfter(context.ingest, { after: seq, until: seq + 9 }, 9, {}, 9)
  const [row] = rows.map(({ kind, id, changeType, diff }) => ({ kind, id, changeType, diff }))
  assert.deepEqual(
    [rows.length, row],
    [1, { kind: 'event', id: '10', changeType: 'changed', diff: '{"volume":[1,3]}' }],
  )
})

test('numbers and times of versions only increase, even if the clock is set back', async () => {
  await using context = await openContext()
  const at = (ms: number, bid: number) =>
    context.ingest.write((tx) => putMarkets(tx, [record('market', '1', { slug: 'one', bestBid: bid })], ms))
  await at(5000, 0.1)
  await at(3000, 0.2)
  await at(7000, 0.3)
  const rows = await readVersionsAfter(context.ingest, { after: 0, until: 9 }, 9, {}, 9)
  assert.deepEqual(
    rows.map(({ seq, atMs }) => [seq, atMs]),
    [
      [1, 5000],
      [2, 5000],
      [3, 7000],
    ],
  )
})

test('unchanged records and unknown fields create no version', async () => {
  await using context = await openContext()
  await put(context, ...first)
  const before = await readHistoryHead(context.ingest)
  await put(context, ...first, record('tag', '7', { label: 'Seven', odd: true }))
  assert.deepEqual(await readHistoryHead(context.ingest), before)
})

test('integers of any size are exact, in current and past responses', async () => {
  await using context = await openContext()
  const big = (n: bigint) => record('market', '1', { slug: 'one', marketGroup: n })
  await put(context, big(12345678901234567890n))
  context.clock.advance(1000)
  await put(context, big(12345678901234567891n))
  assert.match((await requestAsOf(context, 'one', testNowMs)) ?? '', /"marketGroup":12345678901234567890\b/)
  assert.match(
    textOf((await findMarketResponse(context, 'one', true))?.bytes) ?? '',
    /"marketGroup":12345678901234567891\b/,
  )
})
