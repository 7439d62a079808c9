import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import { usageOf } from '#storage/usage.ts'
import { attempt, bearing, codeOf, fundedBy, makeKey, querying, quote } from '#test/authorization.ts'
import { openContext, settingsWith, testNowMs } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { type Credentials, openAuthorizer } from './authorize.ts'
import type { Handler } from './handler.ts'

test('spec section 8: the funding lookup accepts 2 calls per second on every plan', async () => {
  await using context = await openContext()
  const authorizer = await openAuthorizer(context)
  for (const plan of ['standard', 'enterprise'] as const) {
    const { key } = await makeKey(context, plan)
    assert.equal(await codeOf(authorizer, fundedBy, querying(key)), 'accepted')
    context.clock.advance(400)
    assert.equal(await codeOf(authorizer, fundedBy, querying(key)), 'accepted')
    context.clock.advance(100)
    const refused = await attempt(authorizer, fundedBy, querying(key))
    assert.ok(refused instanceof Fault)
    assert.deepEqual([refused.code, refused.textValues, refused.retryAfterMs], ['limit.second', { limit: 2 }, 500])
    context.clock.advance(499)
    assert.equal(await codeOf(authorizer, fundedBy, querying(key)), 'limit.second')
    context.clock.advance(1)
    assert.equal(await codeOf(authorizer, fundedBy, querying(key)), 'accepted')
  }
  await authorizer.close()
})

test('the limit with the longest wait is reported', async () => {
  await using context = await openContext({ plans: { standard: { perSecond: 3 } } })
  const authorizer = await openAuthorizer(context)
  const { key } = await makeKey(context, 'standard')
  await authorizer.authorize(quote, bearing(key))
  context.clock.advance(300)
  await authorizer.authorize(fundedBy, querying(key))
  await authorizer.authorize(fundedBy, querying(key))
  // The limit of the plan (3) is free in 700 ms, when the first call leaves; that of the endpoint (2) in 1000 ms.
  const refused = await attempt(authorizer, fundedBy, querying(key))
  assert.deepEqual(refused instanceof Fault && [refused.textValues.limit, refused.retryAfterMs], [2, 1000])
  const elsewhere = await attempt(authorizer, quote, bearing(key))
  assert.deepEqual(elsewhere instanceof Fault && [elsewhere.textValues.limit, elsewhere.retryAfterMs], [3, 700])
  await authorizer.close()
})

test('a refused call counts towards no limit', async () => {
  await using context = await openContext({ plans: { standard: { perSecond: 4, perDay: 5 } } })
  const authorizer = await openAuthorizer(context)
  const { id, key } = await makeKey(context, 'standard')
  const tries = async (handler: Handler, credentials: Credentials, count: number) => {
    const codes = []
    for (let call = 0; call < count; call++) codes.push(await codeOf(authorizer, handler, credentials))
    return codes.filter((code) => code === 'accepted').length
  }
  assert.equal(await tries(fundedBy, querying(key), 10), 2)
  // After eight refusals, two of the four calls of the plan are left.
  assert.equal(await tries(quote, bearing(key), 10), 2)
  context.clock.advance(1000)
  assert.equal(await tries(quote, bearing(key), 10), 1)
  assert.equal(await codeOf(authorizer, quote, bearing(key)), 'limit.day')
  await authorizer.flush()
  const [usage] = await usageOf(context.state, { keyId: id, days: 1, nowMs: testNowMs })
  assert.deepEqual([usage?.accepted, usage?.refused['limit.second'], usage?.refused['limit.day']], [5, 16, 10])
  await authorizer.close()
})

test('the daily limit lasts until the next UTC midnight and survives a restart', async () => {
  await using context = await openContext({ plans: { free: { perSecond: 0, perDay: 3 } } })
  const { key } = await makeKey(context)
  const first = await openAuthorizer(context)
  for (let call = 0; call < 2; call++) assert.equal(await codeOf(first, quote, bearing(key)), 'accepted')
  await first.close()
  const second = await openAuthorizer(context)
  assert.equal(await codeOf(second, quote, bearing(key)), 'accepted')
  const refused = await attempt(second, quote, bearing(key))
  assert.ok(refused instanceof Fault)
  assert.deepEqual([refused.code, refused.textValues], ['limit.day', { limit: 3 }])
  assert.equal(refused.retryAfterMs, 12 * 3_600_000)
  context.clock.advance(12 * 3_600_000 - 1)
  assert.equal(await codeOf(second, quote, bearing(key)), 'limit.day')
  context.clock.advance(1)
  assert.equal(await codeOf(second, quote, bearing(key)), 'accepted')
  await second.close()
})

test('keys are limited separately', async () => {
  await using context = await openContext({ plans: { free: { perSecond: 1 } } })
  const authorizer = await openAuthorizer(context)
  const one = await makeKey(context)
  const two = await makeKey(context)
  assert.equal(await codeOf(authorizer, quote, bearing(one.key)), 'accepted')
  assert.equal(await codeOf(authorizer, quote, bearing(one.key)), 'limit.second')
  assert.equal(await codeOf(authorizer, quote, bearing(two.key)), 'accepted')
  await authorizer.close()
})

test('concurrent calls do not exceed a limit', async () => {
  await using context = await openContext()
  const authorizer = await openAuthorizer(context)
  const { key } = await makeKey(context)
  const codes = await Promise.all(Array.from({ length: 50 }, () => codeOf(authorizer, quote, bearing(key))))
  assert.equal(codes.filter((code) => code === 'accepted').length, 3)
  await authorizer.close()
})

test('no rolling second exceeds a limit, no call within the limits is refused, and usage has the same counts', async () => {
  await using context = await openContext()
  const { id, key } = await makeKey(context, 'standard')
  const other = await makeKey(context, 'standard')
  const callLists = fc.array(
    fc.record({
      stepMs: fc.oneof({ weight: 5, arbitrary: fc.nat(200) }, fc.constantFrom(0, 999, 1000, 1001), fc.nat(3000)),
      funded: fc.boolean(),
      mine: fc.boolean(),
    }),
    { maxLength: 60, size: 'max' },
  )
  const limits = fc.record({ perSecond: fc.integer({ min: 1, max: 6 }), perDay: fc.integer({ min: 5, max: 60 }) })
  await fc.assert(
    fc.asyncProperty(limits, callLists, async (standard, calls) => {
      await context.state.write((tx) => tx.run('delete from usage'))
      const clock = new ManualClock(testNowMs)
      const authorizer = await openAuthorizer({ ...context, clock, settings: settingsWith({ plans: { standard } }) })
      const accepted: { atMs: number; funded: boolean }[] = []
      for (const { stepMs, funded, mine } of calls) {
        clock.advance(stepMs)
        const shown = mine ? key : other.key
        const code = await codeOf(authorizer, funded ? fundedBy : quote, {
          ...bearing(shown),
          query: { apikey: shown },
        })
        if (!mine) continue
        const recent = accepted.filter(({ atMs }) => atMs > clock.now() - 1000)
        const fits = recent.length < standard.perSecond && !(funded && recent.filter((call) => call.funded).length >= 2)
        assert.equal(code, accepted.length >= standard.perDay ? 'limit.day' : fits ? 'accepted' : 'limit.second')
        if (code === 'accepted') accepted.push({ atMs: clock.now(), funded })
      }
      await authorizer.close()
      const [usage] = await usageOf(context.state, { keyId: id, days: 1, nowMs: testNowMs })
      assert.equal(usage?.accepted ?? 0, accepted.length)
    }),
    { numRuns: 60 },
  )
})
