import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { startMarketFeed } from '#simulator/markets/feed.ts'
import { openContext } from '#test/context.ts'
import { LiveMarkets } from '#test/simulator/live-markets.ts'
import { putMarkets } from '../write/put-markets.ts'
import { recordPresence } from './feed-presence.ts'
import { readFeed } from './read-feed.ts'
import { verifyFeed } from './verify-feed.ts'

/** Twelve markets that were read once, in two pages by offset or by cursor. */
async function openRead(paging: object, more: object = {}) {
  const world = new LiveMarkets('reread', () => systemClock.now() - 60_000)
  const server = await startMarketFeed(world)
  const feed = { id: 'main', url: server.url, perSecond: 1000, paging: { size: 8, overlap: 0, ...paging }, ...more }
  const context = await openContext({ markets: { feeds: [feed] } })
  const configuredFeed = context.settings.markets.feeds[0] as MarketFeed
  const options = { holder: 'test', signal: new AbortController().signal }
  await readFeed({ ...context, clock: systemClock }, configuredFeed, options)
  const close = async () => {
    await server.close()
    await context[Symbol.asyncDispose]()
  }
  return { ...context, world, feed: configuredFeed, [Symbol.asyncDispose]: close }
}
const first = () => 0
const last = (until: number) => until - 1

for (const [name, paging, more] of [
  ['offset', { kind: 'offset' }, {}],
  ['cursor', { kind: 'keyset' }, { list: 'data', query: { style: 'wrapped' } }],
] as const) {
  test(`by ${name}: records of any page agree with the stored ones`, async () => {
    await using context = await openRead(paging, more)
    assert.deepEqual(await verifyFeed(context, context.feed, 5, first), { same: 5, changed: 0, differing: [] })
    assert.deepEqual(await verifyFeed(context, context.feed, 100, first), { same: 8, changed: 0, differing: [] })
    const { same, differing } = await verifyFeed(context, context.feed, 100, last)
    assert.deepEqual([same > 0, differing], [true, []])
  })
}

test('a different stored field and a market that is not stored are differences', async () => {
  await using context = await openRead({ kind: 'offset' })
  await context.ingest.write(async (tx) => {
    await tx.run(
      `update market_records set fields = replace(fields, '"question":"', '"question":"Not ') where kind = 'market' and id = '1'`,
    )
    await tx.run(`delete from market_records where kind = 'market' and id = '2'`)
  })
  const { same, differing } = await verifyFeed(context, context.feed, 100, first)
  assert.equal(same, 6)
  assert.match(differing[0] ?? '', /^market 1: question is "Not .*", but "/)
  assert.equal(differing[1], 'market 2: listed by feed main, but not stored')
})

test('later changes at the source and markets of two feeds are not differences', async () => {
  await using context = await openRead({ kind: 'offset' })
  const meddle = (id: string, from: string, to: string) =>
    context.ingest.write((tx) =>
      tx.run(`update market_records set fields = replace(fields, ?, ?) where kind = 'market' and id = ?`, from, to, id),
    )
  const newer = { kind: 'market', id: '1', fields: { updatedAt: '2050-01-01T00:00:00Z' }, partial: true } as const
  await context.ingest.write((tx) => putMarkets(tx, [newer], context.clock.now()))
  await meddle('2', '"question":"', '"question":"Not ')
  await context.ingest.write((tx) => recordPresence(tx, 'other', ['2'], 1, 1))
  assert.deepEqual(await verifyFeed(context, context.feed, 100, first), { same: 6, changed: 2, differing: [] })
})
