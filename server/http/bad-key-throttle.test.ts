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
import { BadKeyThrottle } from './bad-key-throttle.ts'

test('five bad keys within 30 s are allowed; the sixth closes the address until the first has left', () => {
  const guard = new BadKeyThrottle(5, 30_000)
  for (const atMs of [0, 1000, 2000, 3000, 4000]) assert.equal(guard.countBadKey('a', atMs), 0)
  assert.equal(guard.countBadKey('a', 5000), 25_000)
  assert.equal(guard.countBadKey('b', 5000), 0)
  // Further bad keys do not prolong it: at 30 s the first has left, and one more closes the address again.
  assert.equal(guard.countBadKey('a', 29_999), 1)
  assert.equal(guard.countBadKey('a', 30_000), 1000)
})

test('no 30 s ever answer more than five bad keys of one address as bad', () => {
  const arrivals = fc.array(fc.integer({ min: 0, max: 5000 }), { maxLength: 200, size: 'max' })
  fc.assert(
    fc.property(arrivals, (steps) => {
      const guard = new BadKeyThrottle(5, 30_000)
      const answeredMs: number[] = []
      let nowMs = 0
      for (const step of steps) {
        nowMs += step
        if (guard.countBadKey('a', nowMs) === 0) answeredMs.push(nowMs)
      }
      for (const fromMs of answeredMs) {
        assert.ok(answeredMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + 30_000).length <= 5)
      }
    }),
  )
})

test('when there is no room for another address, its bad keys are refused', () => {
  const guard = new BadKeyThrottle(1, 30_000)
  for (let n = 0; n < 100_000; n++) guard.countBadKey(`a${n}`, 0)
  assert.equal(guard.countBadKey('late', 1), 30_000)
})

test('the sixth bad key within 30 s closes the address; afterwards it is open again', async () => {
  await using context = await openContext()
  const admission = await openAuthorizer(context)
  for (let n = 0; n < 5; n++) {
    assert.equal(await codeOf(admission, quote, bearing(`tetrad:k${n}:${wrongSecret}`)), 'key.invalid')
    context.clock.advance(1000)
  }
  const sixth = await attempt(admission, quote, bearing('anything'))
  assert.deepEqual(sixth instanceof Fault && [sixth.code, sixth.retryAfterMs], ['key.guarded', 25_000])
  assert.equal(await codeOf(admission, fundedBy, querying('anything')), 'key.guarded')
  assert.equal(await codeOf(admission, quote, bearing('anything', '203.0.113.8')), 'key.invalid')
  // Attempts while it is closed do not prolong it.
  context.clock.advance(24_999)
  assert.equal(await codeOf(admission, quote, bearing('anything')), 'key.guarded')
  context.clock.advance(1)
  assert.equal(await codeOf(admission, quote, bearing('anything')), 'key.guarded')
  context.clock.advance(30_000)
  assert.equal(await codeOf(admission, quote, bearing('anything')), 'key.invalid')
  await admission.close()
})

test('a valid key is admitted from an address that sends bad ones, whether or not it was used there before', async () => {
  await using context = await openContext()
  const admission = await openAuthorizer(context)
  const known = await makeKey(context, 'enterprise')
  const unknown = await makeKey(context, 'enterprise')
  await admission.authorize(quote, bearing(known.key))
  for (let n = 0; n < 6; n++) await attempt(admission, quote, bearing('bad'))
  assert.equal(await codeOf(admission, quote, bearing(known.key)), 'admitted')
  assert.equal(await codeOf(admission, quote, bearing(unknown.key)), 'admitted')
  for (const bad of [`tetrad:${known.id}:${wrongSecret}`, 'anything']) {
    assert.equal(await codeOf(admission, quote, bearing(bad)), 'key.guarded')
  }
  await revokeKey(context.state, known.id, context.clock)
  assert.equal(await codeOf(admission, quote, bearing(known.key)), 'key.guarded')
  await admission.close()
})

test('good keys, missing keys and refusals of a good key are no bad keys', async () => {
  await using context = await openContext()
  const admission = await openAuthorizer(context)
  const { key } = await makeKey(context)
  for (let n = 0; n < 20; n++) {
    await attempt(admission, quote, { address: testAddress, query: {} })
    await attempt(admission, quote, bearing(key))
    await attempt(admission, labels, querying(key))
  }
  assert.equal(await codeOf(admission, quote, bearing('bad')), 'key.invalid')
  await admission.close()
})
