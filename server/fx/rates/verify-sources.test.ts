import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRateFeed } from '#simulator/fx.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { serveScript } from '#test/scripted-server.ts'
import { storeRates } from './rate-store.ts'
import { openRateReader } from './sources.ts'
import { isWithinTolerance, verifySources } from './verify-sources.ts'

async function openWithSource() {
  const clock = { now: () => testNowMs } as never
  const feed = await startRateFeed('reask', clock)
  const source = (id: string, url: string) => ({ id, kind: 'http-json', url, staleMs: 60_000 })
  const gone = source('gone', 'http://127.0.0.1:9/')
  const context = await openContext({ fx: { sources: [source('north', `${feed.url}/north/rates`), gone] } })
  const [north] = context.settings.fx.sources
  assert.ok(north)
  const { rates } = (await openRateReader(north, context.settings.fx, context.clock)?.(AbortSignal.timeout(5000))) ?? {
    rates: [],
  }
  const close = async () => {
    await feed.close()
    await context[Symbol.asyncDispose]()
  }
  return { ...context, rates, [Symbol.asyncDispose]: close }
}

test('stored rates agree with the source; an unreachable source is reported with the reason', async () => {
  await using context = await openWithSource()
  await storeRates(context.state, 'north', context.rates, testNowMs)
  const { same, close, differing, far, silent } = await verifySources(context)
  assert.deepEqual([same, close, differing, far], [8, 0, [], []])
  assert.equal(silent.length, 1)
  assert.match(silent[0] ?? '', /^gone: /)
})

test('a source that does not answer is given up after 20 seconds of the given clock', async () => {
  const requested = Promise.withResolvers<void>()
  await using server = await serveScript(() => {
    requested.resolve()
    return { instead: 'hang' }
  })
  const source = { id: 'silent', kind: 'http-json', url: server.url, timeoutMs: 60_000 }
  await using context = await openContext({ fx: { sources: [source] } })
  const verifying = verifySources(context)
  await requested.promise
  context.clock.advance(20_000)
  assert.match((await verifying).silent.join(), /^silent: .* was aborted$/)
})

test('a different rate with the same time is a difference', async () => {
  await using context = await openWithSource()
  await storeRates(context.state, 'north', context.rates, testNowMs)
  await context.state.write((tx) => tx.run(`update fx_rates set rate = '1.5' where base = 'EUR'`))
  const { same, differing } = await verifySources(context)
  assert.equal(same, 7)
  assert.match(differing[0] ?? '', /^north EUR\/USD: stored 1\.5, the source returns 1\.\d+ for the same time$/)
})

test('a newer rate is compared with the latest stored one, unless that is stale or missing', async () => {
  await using context = await openWithSource()
  const before = context.rates.map((rate) => ({ ...rate, atMs: rate.atMs - 5000 }))
  const changed = before.map((rate) => (rate.base === 'EUR' ? { ...rate, rate: '1.5' } : rate))
  await storeRates(context.state, 'north', changed, testNowMs)
  const { same, close, far } = await verifySources(context)
  assert.deepEqual([same, close], [0, 7])
  assert.match(far[0] ?? '', /^north EUR\/USD: stored 1\.5, the source now returns 1\.\d+$/)
  await context.state.write((tx) => tx.run('update fx_latest set at_ms = at_ms - 60000'))
  assert.deepEqual((await verifySources(context)).close, 0)
  await context.state.write((tx) => tx.run('delete from fx_latest'))
  assert.deepEqual((await verifySources(context)).far, [])
})

test('the tolerance in parts per million includes its limits', () => {
  // 1.0000 ± 2 % = 0.9800 to 1.0200
  for (const [rate, is] of [
    ['1.02', true],
    ['1.020001', false],
    ['0.98', true],
    ['0.979999', false],
  ] as const)
    assert.equal(isWithinTolerance('1.0000', rate, 20_000n), is, rate)
})
