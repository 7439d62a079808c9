import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import { findKey } from '#storage/keys.ts'
import { addUsage, dayMs, dayOf, usageDaysKept, usageOf } from '#storage/usage.ts'
import {
  attempt,
  bearing,
  codeOf,
  labels,
  makeKey,
  market,
  querying,
  quote,
  stateWith,
  testAddress,
  wrongSecret,
} from '#test/authorization.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { openAuthorizer } from './authorize.ts'

test('counts and last-used times are written periodically', async () => {
  await using context = await openContext()
  const authorizer = await openAuthorizer(context)
  const { id, key } = await makeKey(context)
  await authorizer.authorize(quote, bearing(key))
  assert.deepEqual(await usageOf(context.state, { days: 1, nowMs: testNowMs }), [])
  const before = context.state.version()
  context.clock.advance(250)
  while (context.state.version() === before) await new Promise((resolve) => setImmediate(resolve))
  assert.equal((await usageOf(context.state, { days: 1, nowMs: testNowMs }))[0]?.accepted, 1)
  assert.equal((await findKey(context.state, id))?.lastUsedAtMs, testNowMs)
  await authorizer.close()
})

test('the last-used time of a key is stored at the first call of a minute and at its end', async () => {
  await using context = await openContext()
  const authorizer = await openAuthorizer(context)
  const { id, key } = await makeKey(context, 'enterprise')
  const nextTick = () => new Promise((resolve) => setImmediate(resolve))
  const stored = async () => ((await findKey(context.state, id))?.lastUsedAtMs ?? 0) - testNowMs
  /** One call and one write period. */
  const callAndTick = async () => {
    await authorizer.authorize(quote, bearing(key))
    const before = context.state.version()
    context.clock.advance(250)
    while (context.state.version() === before) await nextTick()
    // A tick during the previous write would be skipped, so wait for its end.
    for (let tick = 0; tick < 50; tick++) await nextTick()
  }
  await callAndTick()
  assert.equal(await stored(), 0)
  await callAndTick()
  assert.equal(await stored(), 0, 'the second call of the minute')
  const before = context.state.version()
  for (let beats = 2; beats < 240; beats++) {
    assert.equal(context.state.version(), before)
    context.clock.advance(250)
    await nextTick()
  }
  while (context.state.version() === before) await nextTick()
  assert.equal(await stored(), 250, 'at the end of the minute')
  assert.equal((await usageOf(context.state, { days: 1, nowMs: testNowMs }))[0]?.accepted, 2)
  await authorizer.authorize(quote, bearing(key))
  await authorizer.close()
  assert.equal((await findKey(context.state, id))?.lastUsedAtMs, testNowMs + 240 * 250)
})

test('counts that could not be written are kept, logged once, and written later', async () => {
  await using context = await openContext()
  let broken = false
  const logged: string[] = []
  const state = stateWith(context.state, {
    write: (work) => (broken ? Promise.reject(new Fault('store.unavailable')) : context.state.write(work)),
  })
  const log = { ...context.log, error: (_fields: object, message: string) => void logged.push(message) }
  const authorizer = await openAuthorizer({ ...context, state, log })
  const { id, key } = await makeKey(context, 'enterprise')
  broken = true
  for (let tick = 0; tick < 4; tick++) {
    await authorizer.authorize(quote, bearing(key))
    context.clock.advance(250)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await assert.rejects(authorizer.flush(), { code: 'store.unavailable' })
  assert.equal(logged.length, 1)
  broken = false
  await authorizer.close()
  assert.equal((await usageOf(context.state, { keyId: id, days: 1, nowMs: testNowMs }))[0]?.accepted, 4)
  assert.equal((await findKey(context.state, id))?.lastUsedAtMs, testNowMs + 750)
})

test('flush waits for a running write and stores everything that was counted before', async () => {
  await using context = await openContext()
  const { id, key } = await makeKey(context, 'enterprise')
  const hold = Promise.withResolvers<void>()
  let writes = 0
  const state = stateWith(context.state, {
    write: async (work) => {
      writes += 1
      if (writes === 2) await hold.promise
      return context.state.write(work)
    },
  })
  // The first write is the pruning at the start, the second the periodic one.
  const authorizer = await openAuthorizer({ ...context, state })
  await authorizer.authorize(quote, bearing(key))
  context.clock.advance(250)
  await authorizer.authorize(quote, bearing(key))
  let flushed = false
  const flush = authorizer.flush().then(() => {
    flushed = true
  })
  for (let tick = 0; tick < 5; tick++) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([writes, flushed], [2, false])
  hold.resolve()
  await flush
  assert.equal((await usageOf(context.state, { keyId: id, days: 1, nowMs: testNowMs }))[0]?.accepted, 2)
  await authorizer.close()
})

test('old days are deleted at the start and when the day changes', async () => {
  await using context = await openContext()
  const { key } = await makeKey(context, 'enterprise')
  const oldest = dayOf(testNowMs) - usageDaysKept + 1
  const counts = [oldest - 1, oldest].map((day) => ({
    ...({ day, keyId: 'a', endpoint: 'fx.createQuote', outcome: 'accepted', calls: 1 } as const),
  }))
  await addUsage(context.state, counts, new Map())
  const kept = async () => (await context.state.all('select day from usage where key_id = ?', 'a')).length
  const authorizer = await openAuthorizer(context)
  assert.equal(await kept(), 1)
  context.clock.advance(dayMs)
  await authorizer.authorize(quote, bearing(key))
  await authorizer.flush()
  assert.equal(await kept(), 0)
  await authorizer.close()
})

test('calls are counted by day, also if the clock is set back across midnight', async () => {
  await using context = await openContext({ plans: { free: { perSecond: 0, perDay: 2 } } })
  let nowMs = testNowMs
  const clock: Clock = {
    now: () => nowMs,
    monotonicMs: () => context.clock.monotonicMs(),
    sleep: (waitMs) => context.clock.sleep(waitMs),
    every: () => () => {},
  }
  const authorizer = await openAuthorizer({ ...context, clock })
  const { id, key } = await makeKey(context)
  for (let call = 0; call < 2; call++) assert.equal(await codeOf(authorizer, quote, bearing(key)), 'accepted')
  nowMs = testNowMs + 12 * 3_600_000
  assert.equal(await codeOf(authorizer, quote, bearing(key)), 'accepted')
  nowMs -= 1
  assert.equal(await codeOf(authorizer, quote, bearing(key)), 'limit.day')
  await authorizer.close()
  const days = await usageOf(context.state, { keyId: id, days: 2, nowMs: testNowMs + 86_400_000 })
  assert.deepEqual(
    days.map(({ day, accepted }) => `${day} ${accepted}`),
    ['2026-11-16 1', '2026-11-15 2'],
  )
})

test('every refusal is reported, with the key id only for valid keys', async () => {
  await using context = await openContext({ keys: { badKeysMax: 1 }, plans: { free: { perSecond: 1, perDay: 2 } } })
  const rejected: string[] = []
  const authorizer = await openAuthorizer(context, (what, keyId) => void rejected.push(`${what} ${keyId}`))
  const { id, key } = await makeKey(context, 'free', { groups: ['fx', 'explorer'] })
  await attempt(authorizer, quote, { headers: {}, address: testAddress, query: {} })
  await attempt(authorizer, quote, bearing(key))
  await attempt(authorizer, quote, bearing(key))
  await attempt(authorizer, labels, querying(key))
  await attempt(authorizer, market, querying(key))
  context.clock.advance(1000)
  await attempt(authorizer, quote, bearing(key))
  await attempt(authorizer, quote, bearing(key))
  await attempt(authorizer, quote, bearing(`tetrad:${id}:${wrongSecret}`))
  await attempt(authorizer, quote, bearing('bad'))
  assert.deepEqual(rejected, [
    'key.missing ',
    `limit.second ${id}`,
    `plan.too_low ${id}`,
    `key.group ${id}`,
    `limit.day ${id}`,
    'key.invalid ',
    'key.throttled ',
  ])
  await authorizer.close()
})
