import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import { revokeKey } from '#storage/keys.ts'
import {
  attempt,
  bearing,
  codeOf,
  fundedBy,
  labels,
  makeKey,
  querying,
  quote,
  testAddress,
  wrongSecret,
} from '#test/authorization.ts'
import { openContext } from '#test/context.ts'
import { openAuthorizer } from './authorize.ts'
import { createBadKeyThrottle } from './bad-key-throttle.ts'

test('five bad keys within 30 s are allowed; then bad keys are throttled until the first one leaves the window', () => {
  const throttle = createBadKeyThrottle({ keys: { badKeysMax: 5, badKeysWindowMs: 30_000 } })
  for (const atMs of [0, 1000, 2000, 3000, 4000]) assert.equal(throttle.countBadKey('a', atMs), 0)
  assert.equal(throttle.countBadKey('a', 5000), 25_000)
  assert.equal(throttle.countBadKey('b', 5000), 0)
  // Throttled keys are not counted: at 30 s the first one leaves the window, and one more key throttles again.
  assert.equal(throttle.countBadKey('a', 29_999), 1)
  assert.equal(throttle.countBadKey('a', 30_000), 1000)
})

test('at most five bad keys of one address get key.invalid within any 30 s', () => {
  const timesMs = fc.array(fc.integer({ min: 0, max: 5000 }), { maxLength: 200, size: 'max' })
  fc.assert(
    fc.property(timesMs, (steps) => {
      const throttle = createBadKeyThrottle({ keys: { badKeysMax: 5, badKeysWindowMs: 30_000 } })
      const answeredMs: number[] = []
      let nowMs = 0
      for (const step of steps) {
        nowMs += step
        if (throttle.countBadKey('a', nowMs) === 0) answeredMs.push(nowMs)
      }
      for (const fromMs of answeredMs) {
        assert.ok(answeredMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + 30_000).length <= 5)
      }
    }),
  )
})

test('with too many addresses, bad keys of a new one are throttled', () => {
  const throttle = createBadKeyThrottle({ keys: { badKeysMax: 1, badKeysWindowMs: 30_000 } })
  for (let n = 0; n < 100_000; n++) throttle.countBadKey(`a${n}`, 0)
  assert.equal(throttle.countBadKey('late', 1), 30_000)
})

test('the sixth bad key within 30 s is throttled; afterwards bad keys are checked again', async () => {
  await using context = await openContext()
  const authorizer = await openAuthorizer(context)
  for (let n = 0; n < 5; n++) {
    assert.equal(await codeOf(authorizer, quote, bearing(`tetrad:k${n}:${wrongSecret}`)), 'key.invalid')
    context.clock.advance(1000)
  }
  const sixth = await attempt(authorizer, quote, bearing('anything'))
  assert.deepEqual(sixth instanceof Fault && [sixth.code, sixth.retryAfterMs], ['key.throttled', 25_000])
  assert.equal(await codeOf(authorizer, fundedBy, querying('anything')), 'key.throttled')
  assert.equal(await codeOf(authorizer, quote, bearing('anything', '203.0.113.8')), 'key.invalid')
  // Throttled attempts do not extend the time.
  context.clock.advance(24_999)
  assert.equal(await codeOf(authorizer, quote, bearing('anything')), 'key.throttled')
  context.clock.advance(1)
  assert.equal(await codeOf(authorizer, quote, bearing('anything')), 'key.throttled')
  context.clock.advance(30_000)
  assert.equal(await codeOf(authorizer, quote, bearing('anything')), 'key.invalid')
  await authorizer.close()
})

test('a valid key is accepted from an address that sends bad ones, even at its first use', async () => {
  await using context = await openContext()
  const authorizer = await openAuthorizer(context)
  const known = await makeKey(context, 'enterprise')
  const unknown = await makeKey(context, 'enterprise')
  await authorizer.authorize(quote, bearing(known.key))
  for (let n = 0; n < 6; n++) await attempt(authorizer, quote, bearing('bad'))
  assert.equal(await codeOf(authorizer, quote, bearing(known.key)), 'accepted')
  assert.equal(await codeOf(authorizer, quote, bearing(unknown.key)), 'accepted')
  for (const bad of [`tetrad:${known.id}:${wrongSecret}`, 'anything']) {
    assert.equal(await codeOf(authorizer, quote, bearing(bad)), 'key.throttled')
  }
  await revokeKey(context.state, known.id, context.clock)
  assert.equal(await codeOf(authorizer, quote, bearing(known.key)), 'key.throttled')
  await authorizer.close()
})

test('valid keys, missing keys and refused valid keys do not count as bad keys', async () => {
  await using context = await openContext()
  const authorizer = await openAuthorizer(context)
  const { key } = await makeKey(context)
  for (let n = 0; n < 20; n++) {
    await attempt(authorizer, quote, { headers: {}, address: testAddress, query: {} })
    await attempt(authorizer, quote, bearing(key))
    await attempt(authorizer, labels, querying(key))
  }
  assert.equal(await codeOf(authorizer, quote, bearing('bad')), 'key.invalid')
  await authorizer.close()
})
