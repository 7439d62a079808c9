import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pushRate } from '#fx/rates/push-rate.ts'
import { storeRates } from '#fx/rates/rate-store.ts'
import { writeStatus } from '#fx/rates/source-health.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { storeDiagnoses } from './doctor.ts'

const feed = { id: 'feed', kind: 'http-json', url: 'https://rates.example/', everyMs: 5000, staleMs: 60_000 }

async function aboutRates(context: TestContext, name: string): Promise<string> {
  const found = (await storeDiagnoses(context, 0)).find((one) => one.name === name)
  return `${found?.level}: ${found?.message} → ${found?.todo}`
}

test('a source of pushed rates is told with the command that sets one: worth a look at first, bad when it was let go stale', async () => {
  await using context = await openContext({ fx: { sources: [{ id: 'desk', kind: 'push' }] } })
  assert.equal(
    await aboutRates(context, 'rates desk'),
    'warn: no rate has been set yet → set one: tetrad fx rate set EUR/USD … --source desk',
  )
  await pushRate(context, { pair: 'GBP/USD', rate: '1.3' })
  assert.match(await aboutRates(context, 'rates desk'), /^ok: /)
  context.clock.advance(1_200_000)
  assert.equal(
    await aboutRates(context, 'rates desk'),
    'bad: is stale: its newest rate is 20 min old, and one that is set counts for 15 min → set one: tetrad fx rate set GBP/USD … --source desk',
  )
})

test('a source that is asked is told by what is wrong with it: nobody asks, it fails, it is refused, or it stands still', async () => {
  await using context = await openContext({ fx: { sources: [feed] } })
  const nowMs = context.clock.now()
  const message = () => aboutRates(context, 'rates feed')
  const serve = 'let the server run: tetrad serve; it asks every 5 s'
  assert.equal(await message(), `bad: no server has asked it yet; it has given no rate yet → ${serve}`)
  const status = { triedMs: nowMs, goodMs: null, failures: 3, reason: 'answered with status 500' }
  await writeStatus(context.state, 'feed', status)
  assert.match(
    await message(),
    /^bad: failed 3 times in a row: answered with status 500; it has given no rate yet → check/,
  )
  await writeStatus(context.state, 'feed', {
    ...status,
    goodMs: nowMs,
    failures: 0,
    reason: 'EUR/USD: the rate is zero',
  })
  assert.match(
    await message(),
    /^bad: answers, and its rates are refused: EUR\/USD: the rate is zero; .* → check fx.sources/,
  )
  const rate = { source: 'feed', base: 'EUR', quote: 'USD', rate: '1.08', atMs: nowMs - 300_000 }
  await storeRates(context.state, 'feed', [rate], nowMs)
  await writeStatus(context.state, 'feed', { ...status, goodMs: nowMs, failures: 0, reason: null })
  assert.match(
    await message(),
    /^bad: answers, and has nothing new: its newest rate is 5 min old, and counts for 60 s → ask/,
  )
  context.clock.advance(29_000)
  await writeStatus(context.state, 'feed', { ...status, triedMs: nowMs + 29_000, failures: 0, reason: null })
  assert.equal(
    await message(),
    'bad: has not given EUR/USD for 29 s → check whether the source still offers these pairs',
  )
  context.clock.advance(571_000)
  await writeStatus(context.state, 'feed', { ...status, failures: 0, reason: null })
  assert.equal(await message(), `bad: no server has asked it for 10 min; its newest rate is 15 min old → ${serve}`)
})
