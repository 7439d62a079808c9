// Cached responses against composed ones, and which changes drop them, on either engine (test/on-postgres.test.ts).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openContext, type TestContext } from '#test/context.ts'
import { createMarketsCaches } from '../context.ts'
import type { MarketKey } from '../records/kinds.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { mergeTicks } from '../ticks/merge-ticks.ts'
import { putMarkets } from '../write/put-markets.ts'
import { dropVersionsBefore } from '../write/version-writer.ts'
import { findMarketResponse } from './market-response.ts'

const put = (context: TestContext, records: readonly MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()), { lock: 'markets' })

const slugs = ['a', 'b', 'c', 'd']
const marketIds = ['1', '2', '3', '4']
const keys: readonly MarketKey[] = [...slugs, ...marketIds.map((id) => ({ id }))]

const drawnMarket: fc.Arbitrary<MarketRecord> = fc
  .record({
    id: fc.constantFrom(...marketIds),
    slug: fc.constantFrom(...slugs),
    fields: fc.record(
      { bestBid: fc.constantFrom(0.1, 0.2), question: fc.constantFrom('A?', 'B?'), closed: fc.boolean() },
      { requiredKeys: [] },
    ),
    links: fc.record({ events: fc.subarray(['71', '72']), tags: fc.subarray(['5', '6']) }, { requiredKeys: [] }),
  })
  .map(({ id, slug, fields, links }) => ({ kind: 'market', id, fields: { slug, ...fields }, links }) as MarketRecord)

const drawnOther: fc.Arbitrary<MarketRecord> = fc.oneof(
  fc
    .record({ id: fc.constantFrom('71', '72'), volume: fc.nat({ max: 3 }), title: fc.constantFrom('X', 'Y') })
    .map(({ id, ...fields }) => ({
      kind: 'event',
      id,
      fields: { slug: `e-${id}`, ...fields },
      links: { series: ['8'] },
    })),
  fc
    .record({ id: fc.constantFrom('5', '6'), label: fc.constantFrom('L', 'M') })
    .map(({ id, label }) => ({ kind: 'tag', id, fields: { slug: `t-${id}`, label } })),
  fc.nat({ max: 3 }).map((volume) => ({ kind: 'series', id: '8', fields: { slug: 's', volume } })),
) as fc.Arbitrary<MarketRecord>

const drawnStep = fc.oneof(
  { weight: 8, arbitrary: fc.array(fc.oneof(drawnMarket, drawnOther), { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constant('merge' as const) },
  { weight: 1, arbitrary: fc.constant('drop' as const) },
)

test('a cached response equals a composed one, after every history', async () => {
  let cachedCount = 0
  await fc.assert(
    fc.asyncProperty(fc.array(drawnStep, { minLength: 5, maxLength: 20 }), async (steps) => {
      await using context = await openContext()
      const last = new Map<MarketKey, unknown>()
      for (const step of steps) {
        context.clock.advance(1000)
        if (step === 'merge') await mergeTicks(context.ingest, undefined, 1)
        else if (step === 'drop')
          await context.ingest.write((tx) => dropVersionsBefore(tx, context.clock.now()), { lock: 'markets' })
        else await put(context, step)
        for (const key of keys) {
          const cached = await findMarketResponse(context, key, true)
          const composing = { ...context, markets: createMarketsCaches(context.clock) }
          assert.deepEqual(cached, await findMarketResponse(composing, key, true))
          if (cached && last.get(key) === cached) cachedCount += 1
          last.set(key, cached)
        }
      }
    }),
    { numRuns: 20, endOnFailure: true },
  )
  assert.ok(cachedCount > 0)
})

test('a change drops only the responses that show the record', async () => {
  await using context = await openContext()
  const record = (kind: MarketRecord['kind'], id: string, fields: object, links = {}): MarketRecord =>
    ({ kind, id, fields: { slug: `${kind}-${id}`, ...fields }, links }) as MarketRecord
  const market = (id: string, fields: object) => record('market', id, fields, { events: [`7${id}`] })
  const events = ['71', '72'].map((id) => record('event', id, { volume: 1 }))
  await put(context, [...events, market('1', { bestBid: 0.1 }), market('2', { bestBid: 0.1 })])
  const find = () => Promise.all(['market-1', 'market-2'].map((slug) => findMarketResponse(context, slug, true)))
  const keptAfter = async (...records: MarketRecord[]) => {
    const before = await find()
    context.clock.advance(1000)
    await put(context, records)
    const after = await find()
    return before.map((response, at) => response === after[at])
  }
  assert.deepEqual(await keptAfter(market('2', { bestBid: 0.2 })), [true, false])
  assert.deepEqual(await keptAfter(record('event', '71', { volume: 2 })), [false, true])
  assert.deepEqual(await keptAfter(market('2', { bestBid: 0.2, closed: true })), [true, false])
  assert.deepEqual(await keptAfter(market('2', { bestBid: 0.2, closed: true })), [true, true])
  assert.deepEqual(await keptAfter(market('3', {})), [false, false])
})

test('a change that was merged into a pack meanwhile drops all responses', async () => {
  await using context = await openContext()
  const putBid = (bestBid: number) => put(context, [{ kind: 'market', id: '1', fields: { slug: 'm', bestBid } }])
  await putBid(0)
  const before = await findMarketResponse(context, 'm', true)
  const countTicks = async () => (await context.ingest.all('select seq from market_ticks')).length
  // Rows after the values of the block are not merged.
  let bid = 0
  do await putBid(++bid)
  while ((await mergeTicks(context.ingest, undefined, 1)) === 0 || (await countTicks()) > 0)
  const after = await findMarketResponse(context, 'm', true)
  assert.notEqual(after, before)
  assert.equal(JSON.parse(Buffer.from(after?.bytes ?? []).toString()).bestBid, bid)
})
