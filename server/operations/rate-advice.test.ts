import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pushRate } from '#fx/extensions/push-rate/push-rate.ts'
import { storeRates } from '#fx/rates/rate-store.ts'
import { writeStatus } from '#fx/rates/source-health.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { storeDiagnoses } from './doctor.ts'

const feed = { id: 'feed', kind: 'http-json', url: 'https://rates.example/', everyMs: 5000, staleMs: 60_000 }

async function aboutRates(context: TestContext, name: string): Promise<string> {
  const found = (await storeDiagnoses(context, 0)).find((one) => one.name === name)
  return `${found?.level}: ${found?.message} → ${found?.todo}`
}

test('a push source without a rate is a warning, one with a stale rate fails; both findings name the command that sets one', async () => {
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
    'fail: stale: the newest rate is 20 min old; a rate is valid for 15 min → set one: tetrad fx rate set GBP/USD … --source desk',
  )
})

test('the finding about a polled source says whether it is not polled, fails, is rejected or has nothing new', async () => {
  await using context = await openContext({ fx: { sources: [feed] } })
  const nowMs = context.clock.now()
  const message = () => aboutRates(context, 'rates feed')
  const serve = 'run the server: tetrad serve; it polls every 5 s'
  assert.equal(await message(), `fail: no server has polled it yet; no rate received yet → ${serve}`)
  const status = { triedMs: nowMs, goodMs: null, failures: 3, tookMs: null, reason: 'answered with status 500' }
  await writeStatus(context.state, 'feed', status)
  assert.match(
    await message(),
    /^fail: failed 3 times in a row: answered with status 500; no rate received yet → check/,
  )
  await writeStatus(context.state, 'feed', {
    ...status,
    goodMs: nowMs,
    failures: 0,
    reason: 'EUR/USD: the rate is zero',
  })
  assert.match(await message(), /^fail: its rates are rejected: EUR\/USD: the rate is zero; .* → check fx.sources/)
  const rate = { source: 'feed', base: 'EUR', quote: 'USD', rate: '1.08', atMs: nowMs - 300_000 }
  await storeRates(context.state, 'feed', [rate], nowMs)
  await writeStatus(context.state, 'feed', { ...status, goodMs: nowMs, failures: 0, reason: null })
  assert.match(
    await message(),
    /^fail: responds without new rates: the newest rate is 5 min old; a rate is valid for 60 s → ask/,
  )
  context.clock.advance(29_000)
  await writeStatus(context.state, 'feed', { ...status, triedMs: nowMs + 29_000, failures: 0, reason: null })
  assert.equal(
    await message(),
    'fail: no rate received for EUR/USD for 29 s → check that the server is running, and that the source still offers these pairs',
  )
  context.clock.advance(571_000)
  await writeStatus(context.state, 'feed', { ...status, failures: 0, reason: null })
  assert.equal(
    await message(),
    `fail: no server polls it: the last poll is 10 min old; the newest rate is 15 min old → ${serve}`,
  )
  // The clock was set back since the last poll.
  await writeStatus(context.state, 'feed', { ...status, triedMs: context.clock.now() + 86_400_000 })
  assert.match(await message(), /^fail: no server polls it: the last poll is 24\.0 h ahead of this clock; the newest/)
})

test('without a server, old rates are a warning that names the command to start one', async () => {
  await using context = await openContext({ fx: { sources: [feed] } })
  const withServer = await storeDiagnoses(context, 0)
  const withoutServer = await storeDiagnoses(context, 0, false)
  for (const [findings, level] of [
    [withServer, 'fail'],
    [withoutServer, 'warn'],
  ] as const) {
    const found = findings.filter(({ name }) => name === 'rates feed' || name === 'fx rates')
    assert.deepEqual(
      found.map((one) => [one.name, one.level]),
      [
        ['rates feed', level],
        ['fx rates', level],
      ],
    )
    assert.match(found[0]?.todo ?? '', /^run the server: tetrad serve/)
  }
})

test('a contradiction fails the finding, even if the source has fresh rates of other pairs', async () => {
  await using context = await openContext({ fx: { sources: [feed] } })
  const nowMs = context.clock.now()
  const rate = (base: string, value: string) => ({ source: 'feed', base, quote: 'USD', rate: value, atMs: nowMs })
  await storeRates(context.state, 'feed', [rate('EUR', '1.08'), rate('GBP', '1.3'), rate('GBP', '1.4')], nowMs)
  await writeStatus(context.state, 'feed', { triedMs: nowMs, goodMs: nowMs, failures: 0, tookMs: 20, reason: null })
  assert.match(
    await aboutRates(context, 'rates feed'),
    /^fail: contradicts itself about a pair: GBP\/USD: two prices for 2026-.*: 1\.3 and 1\.4 → ask the owner/,
  )
})
