import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Desk } from '#serve/answer.ts'
import { demoFxSettings, type FeedFault, startRateFeed } from '#sim/fx.ts'
import type { State } from '#store/state.ts'
import { openDesk, settingsWith, testNowMs, testVisit } from '#test/desk.ts'
import { createQuote } from './create-quote.ts'
import type { Rate } from './mid.ts'
import { allLatestRates, keepRates, ratesFresh } from './rate-store.ts'
import { primeRates, type RateNotice, rateFindings, startRates } from './rates.ts'

const eurUsd = (rate: string, atMs: number): Rate => ({ source: 'a', base: 'EUR', quote: 'USD', rate, atMs })
const source = { id: 'a', kind: 'http-json', url: 'https://rates.example/', staleMs: 10_000 }
const history = (desk: Desk) =>
  desk.state.all('select rate, at_ms as "atMs", received_ms as "receivedMs" from fx_rates order by at_ms')

test('the history keeps every rate, the latest is the newest', async () => {
  await using desk = await openDesk()
  assert.equal((await keepRates(desk.state, 'a', [eurUsd('1.08', 1000), eurUsd('1.09', 2000)], 2500)).kept, 2)
  assert.equal((await keepRates(desk.state, 'a', [eurUsd('1.10', 3000)], 3500)).kept, 1)
  assert.deepEqual(await history(desk), [
    { rate: '1.08', atMs: 1000, receivedMs: 2500 },
    { rate: '1.09', atMs: 2000, receivedMs: 2500 },
    { rate: '1.10', atMs: 3000, receivedMs: 3500 },
  ])
  assert.deepEqual(await allLatestRates(desk.state), [eurUsd('1.10', 3000)])
})

test('the same rate again changes nothing and commits nothing; an older one does not come back', async () => {
  await using desk = await openDesk()
  await keepRates(desk.state, 'a', [eurUsd('1.08', 2000)], 2500)
  const readOnly = { all: desk.state.all.bind(desk.state), write: () => assert.fail('it wrote') } as unknown as State
  assert.deepEqual(await keepRates(readOnly, 'a', [eurUsd('1.07', 1000), eurUsd('1.080', 2000)], 9000), {
    kept: 0,
    refused: [],
  })
  assert.deepEqual(await allLatestRates(desk.state), [eurUsd('1.08', 2000)])
})

test('another rate under the same time is refused and told', async () => {
  await using desk = await openDesk()
  await keepRates(desk.state, 'a', [eurUsd('1.08', 2000)], 2500)
  const { kept, refused } = await keepRates(desk.state, 'a', [eurUsd('1.09', 2000)], 2600)
  assert.equal(kept, 0)
  assert.match(refused[0]?.reason ?? '', /changed from 1\.08 to 1\.09/)
  assert.deepEqual(await allLatestRates(desk.state), [eurUsd('1.08', 2000)])
})

test('health names every configured source, its pairs, their age and whether they may be used', async () => {
  const sources = [source, { ...source, id: 'b' }, { ...source, id: 'c' }]
  await using desk = await openDesk({ fx: { sources } })
  await keepRates(desk.state, 'a', [eurUsd('1.08', testNowMs - 10_000)], testNowMs)
  await keepRates(desk.state, 'b', [{ ...eurUsd('1.08', testNowMs - 10_001), source: 'b' }], testNowMs)
  await keepRates(desk.state, 'gone', [{ ...eurUsd('1.08', testNowMs), source: 'gone' }], testNowMs)
  assert.deepEqual(await ratesFresh(desk), [
    { source: 'a', pair: 'EUR/USD', ageMs: 10_000, fresh: true },
    { source: 'b', pair: 'EUR/USD', ageMs: 10_001, fresh: false },
    { source: 'c', pair: null, ageMs: null, fresh: false },
  ])
  const [ready] = await rateFindings(desk)
  assert.deepEqual(ready, {
    name: 'fx rates',
    ok: true,
    says: 'a EUR/USD 10000 ms old; b EUR/USD 10001 ms old, stale; c has given no rate',
  })
  desk.clock.move(1)
  assert.equal((await rateFindings(desk))[0]?.ok, false)
})

test('without a source, or with the interface off, readiness has nothing to say about rates', async () => {
  await using bare = await openDesk()
  assert.deepEqual(await rateFindings(bare), [])
  await using off = await openDesk({ fx: { sources: [source] }, groups: { fx: { on: false } } })
  assert.deepEqual(await rateFindings(off), [])
})

/** A feed on the test's own clock and a desk that reads it. */
async function openFeedDesk() {
  const notices: RateNotice[] = []
  const waiting: { count: number; wake: () => void }[] = []
  const bare = await openDesk()
  const feed = await startRateFeed({ seed: 'test', clock: bare.clock })
  const desk = { ...bare, settings: settingsWith(demoFxSettings(feed.url)) }
  const told = (notice: RateNotice) => {
    notices.push(notice)
    for (const { count, wake } of waiting) if (notices.length >= count) wake()
  }
  const until = (count: number) =>
    new Promise<void>((wake) => (notices.length >= count ? wake() : waiting.push({ count, wake })))
  return {
    feed,
    desk,
    notices,
    told,
    until,
    async [Symbol.asyncDispose]() {
      await feed.close()
      await bare[Symbol.asyncDispose]()
    },
  }
}

const ask = (desk: Desk) =>
  createQuote.reply(
    { from: { currency: 'USDC', amount: '1000' }, to: { currency: 'EURC' }, tenor: 'instant', type: 'reference' },
    desk,
    testVisit(),
  )

test('a real feed over HTTP → poll → store → quote', async () => {
  await using world = await openFeedDesk()
  const { desk } = world
  await assert.rejects(ask(desk), /fx\.rate_stale/)
  const stop = new AbortController()
  const ended = startRates(desk, stop.signal, world.told)
  await world.until(2)
  assert.deepEqual(
    world.notices.map((notice) => notice.is === 'kept' && notice.kept),
    [8, 8],
  )
  assert.equal((await rateFindings(desk))[0]?.ok, true)
  const outcome = await ask(desk)
  assert.equal(outcome.is, 'bytes')
  assert.equal(outcome.is === 'bytes' && outcome.confidence?.asOf, new Date(testNowMs).toISOString())
  stop.abort()
  await ended
  const [kept] = await desk.state.all<{ count: number }>('select count(*) as count from fx_rates')
  assert.equal(kept?.count, 16)
})

test('a source that fails is told and asked again; the other one carries the quotes', async () => {
  for (const fault of ['error', 'garbage', 'stale'] satisfies FeedFault[]) {
    await using world = await openFeedDesk()
    world.feed.setFault('south', fault)
    const stop = new AbortController()
    const ended = startRates(world.desk, stop.signal, world.told)
    await world.until(2)
    const south = world.notices.find((notice) => notice.source === 'demo-south')
    assert.equal(south?.is, fault === 'stale' ? 'kept' : 'failed')
    assert.equal((await ask(world.desk)).is, 'bytes')
    const health = (await ratesFresh(world.desk)).filter(({ source }) => source === 'demo-south')
    assert.ok(health.every(({ fresh }) => !fresh))
    stop.abort()
    await ended
  }
})

test('a loop goes on after failures and takes the rates when they are back', async () => {
  await using world = await openFeedDesk()
  world.feed.setFault('north', 'error')
  world.feed.setFault('south', 'error')
  const stop = new AbortController()
  const ended = startRates(world.desk, stop.signal, world.told)
  await world.until(2)
  world.feed.setFault('north', undefined)
  world.feed.setFault('south', undefined)
  world.desk.clock.move(4000)
  await world.until(4)
  assert.deepEqual(
    world.notices.map(({ is }) => is),
    ['failed', 'failed', 'kept', 'kept'],
  )
  stop.abort()
  await ended
})

test('a slow source holds up neither the others nor the stop', async () => {
  await using world = await openFeedDesk()
  world.feed.setFault('north', 'slow')
  const stop = new AbortController()
  const ended = startRates(world.desk, stop.signal, world.told)
  await world.until(1)
  assert.deepEqual(
    world.notices.map(({ source }) => source),
    ['demo-south'],
  )
  stop.abort()
  await ended
})

test('priming asks every source once, and a failing one is no obstacle', async () => {
  await using world = await openFeedDesk()
  world.feed.setFault('south', 'error')
  await primeRates(world.desk, new AbortController().signal)
  assert.equal((await ask(world.desk)).is, 'bytes')
})
