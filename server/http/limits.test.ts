import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import { ManualClock } from '#runtime/clock.ts'
import { usageOf } from '#storage/usage.ts'
import { attempt, bearing, codeOf, fundedBy, makeKey, querying, quote } from '#test/authorization.ts'
import { openContext, settingsWith, testNowMs } from '#test/context.ts'
import { type Credentials, openAuthorizer } from './authorize.ts'
import type { Handler } from './handler.ts'

test('spec section 8: the funding lookup passes 2 calls in a second whatever the plan', async () => {
  await using context = await openContext()
  const admission = await openAuthorizer(context)
  for (const plan of ['standard', 'enterprise'] as const) {
    const { key } = await makeKey(context, plan)
    assert.equal(await codeOf(admission, fundedBy, querying(key)), 'admitted')
    context.clock.advance(400)
    assert.equal(await codeOf(admission, fundedBy, querying(key)), 'admitted')
    context.clock.advance(100)
    const refused = await attempt(admission, fundedBy, querying(key))
    assert.ok(refused instanceof Fault)
    assert.deepEqual([refused.code, refused.terms, refused.retryAfterMs], ['limit.second', { limit: 2 }, 500])
    context.clock.advance(499)
    assert.equal(await codeOf(admission, fundedBy, querying(key)), 'limit.second')
    context.clock.advance(1)
    assert.equal(await codeOf(admission, fundedBy, querying(key)), 'admitted')
  }
  await admission.close()
})

test('the limit that keeps the caller waiting longest is the one that is named', async () => {
  await using context = await openContext({ plans: { standard: { perSecond: 3 } } })
  const admission = await openAuthorizer(context)
  const { key } = await makeKey(context, 'standard')
  await admission.authorize(quote, bearing(key))
  context.clock.advance(300)
  await admission.authorize(fundedBy, querying(key))
  await admission.authorize(fundedBy, querying(key))
  // The plan's 3 are free again when the first call leaves (700 ms), the endpoint's 2 when the second does (1000 ms).
  const refused = await attempt(admission, fundedBy, querying(key))
  assert.deepEqual(refused instanceof Fault && [refused.terms.limit, refused.retryAfterMs], [2, 1000])
  const elsewhere = await attempt(admission, quote, bearing(key))
  assert.deepEqual(elsewhere instanceof Fault && [elsewhere.terms.limit, elsewhere.retryAfterMs], [3, 700])
  await admission.close()
})

test('a refused call uses up nothing: no other limit, no day', async () => {
  await using context = await openContext({ plans: { standard: { perSecond: 4, perDay: 5 } } })
  const admission = await openAuthorizer(context)
  const { id, key } = await makeKey(context, 'standard')
  const tries = async (answer: Handler, claim: Credentials, count: number) => {
    const codes = []
    for (let call = 0; call < count; call++) codes.push(await codeOf(admission, answer, claim))
    return codes.filter((code) => code === 'admitted').length
  }
  assert.equal(await tries(fundedBy, querying(key), 10), 2)
  // Eight refusals later, two of the plan's four are still there.
  assert.equal(await tries(quote, bearing(key), 10), 2)
  context.clock.advance(1000)
  assert.equal(await tries(quote, bearing(key), 10), 1)
  assert.equal(await codeOf(admission, quote, bearing(key)), 'limit.day')
  await admission.flush()
  const [usage] = await usageOf(context.state, { keyId: id, days: 1, nowMs: testNowMs })
  assert.deepEqual([usage?.admitted, usage?.refused['limit.second'], usage?.refused['limit.day']], [5, 16, 10])
  await admission.close()
})

test('the daily limit lasts until the next UTC midnight and survives a restart', async () => {
  await using context = await openContext({ plans: { free: { perSecond: 0, perDay: 3 } } })
  const { key } = await makeKey(context)
  const first = await openAuthorizer(context)
  for (let call = 0; call < 2; call++) assert.equal(await codeOf(first, quote, bearing(key)), 'admitted')
  await first.close()
  const second = await openAuthorizer(context)
  assert.equal(await codeOf(second, quote, bearing(key)), 'admitted')
  const refused = await attempt(second, quote, bearing(key))
  assert.ok(refused instanceof Fault)
  assert.deepEqual([refused.code, refused.terms], ['limit.day', { limit: 3 }])
  assert.equal(refused.retryAfterMs, 12 * 3_600_000)
  context.clock.advance(12 * 3_600_000 - 1)
  assert.equal(await codeOf(second, quote, bearing(key)), 'limit.day')
  context.clock.advance(1)
  assert.equal(await codeOf(second, quote, bearing(key)), 'admitted')
  await second.close()
})

test('keys have their limits apart from each other', async () => {
  await using context = await openContext({ plans: { free: { perSecond: 1 } } })
  const admission = await openAuthorizer(context)
  const one = await makeKey(context)
  const two = await makeKey(context)
  assert.equal(await codeOf(admission, quote, bearing(one.key)), 'admitted')
  assert.equal(await codeOf(admission, quote, bearing(one.key)), 'limit.second')
  assert.equal(await codeOf(admission, quote, bearing(two.key)), 'admitted')
  await admission.close()
})

test('calls in flight together do not slip past a limit', async () => {
  await using context = await openContext()
  const admission = await openAuthorizer(context)
  const { key } = await makeKey(context)
  const codes = await Promise.all(Array.from({ length: 50 }, () => codeOf(admission, quote, bearing(key))))
  assert.equal(codes.filter((code) => code === 'admitted').length, 3)
  await admission.close()
})

test('no rolling second passes more than allowed, nobody under the limit is refused, usage tells the same', async () => {
  await using context = await openContext()
  const { id, key } = await makeKey(context, 'standard')
  const other = await makeKey(context, 'standard')
  const arrivals = fc.array(
    fc.record({
      stepMs: fc.oneof({ weight: 5, arbitrary: fc.nat(200) }, fc.constantFrom(0, 999, 1000, 1001), fc.nat(3000)),
      funded: fc.boolean(),
      mine: fc.boolean(),
    }),
    { maxLength: 60, size: 'max' },
  )
  const limits = fc.record({ perSecond: fc.integer({ min: 1, max: 6 }), perDay: fc.integer({ min: 5, max: 60 }) })
  await fc.assert(
    fc.asyncProperty(limits, arrivals, async (standard, calls) => {
      await context.state.write((tx) => tx.run('delete from usage'))
      const clock = new ManualClock(testNowMs)
      const admission = await openAuthorizer({ ...context, clock, settings: settingsWith({ plans: { standard } }) })
      const admitted: { atMs: number; funded: boolean }[] = []
      for (const { stepMs, funded, mine } of calls) {
        clock.advance(stepMs)
        const shown = mine ? key : other.key
        const code = await codeOf(admission, funded ? fundedBy : quote, { ...bearing(shown), apikey: shown })
        if (!mine) continue
        const recent = admitted.filter(({ atMs }) => atMs > clock.now() - 1000)
        const fits = recent.length < standard.perSecond && !(funded && recent.filter((call) => call.funded).length >= 2)
        assert.equal(code, admitted.length >= standard.perDay ? 'limit.day' : fits ? 'admitted' : 'limit.second')
        if (code === 'admitted') admitted.push({ atMs: clock.now(), funded })
      }
      await admission.close()
      const [usage] = await usageOf(context.state, { keyId: id, days: 1, nowMs: testNowMs })
      assert.equal(usage?.admitted ?? 0, admitted.length)
    }),
    { numRuns: 60 },
  )
})
