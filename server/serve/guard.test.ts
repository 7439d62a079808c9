import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import { revokeKey } from '#store/keys.ts'
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
} from '#test/admission.ts'
import { openDesk } from '#test/desk.ts'
import { openAdmission } from './admit.ts'
import { Guard } from './guard.ts'

test('five bad keys within 30 s are allowed; the sixth closes the address until the first has left', () => {
  const guard = new Guard(5, 30_000)
  for (const atMs of [0, 1000, 2000, 3000, 4000]) assert.equal(guard.bad('a', atMs), 0)
  assert.equal(guard.closedMs('a', 5000), 0)
  assert.equal(guard.bad('a', 5000), 25_000)
  assert.equal(guard.closedMs('a', 29_999), 1)
  assert.equal(guard.closedMs('a', 30_000), 0)
  assert.equal(guard.closedMs('b', 5000), 0)
})

test('a key is proven for the address it worked from, and no other', () => {
  const guard = new Guard(5, 30_000)
  guard.good('a', 'k1')
  assert.equal(guard.isProven('a', 'k1'), true)
  assert.equal(guard.isProven('b', 'k1'), false)
  assert.equal(guard.isProven('a', 'k2'), false)
})

test('proofs are bounded, the latest ones are kept', () => {
  const guard = new Guard(5, 30_000)
  for (let n = 0; n < 100_001; n++) guard.good('a', `k${n}`)
  assert.equal(guard.isProven('a', 'k0'), false)
  assert.equal(guard.isProven('a', 'k50001'), true)
  assert.equal(guard.isProven('a', 'k100000'), true)
})

test('a key that works again and again takes no room from the others', () => {
  const guard = new Guard(5, 30_000)
  guard.good('a', 'quiet')
  for (let call = 0; call < 120_000; call++) guard.good('a', 'busy')
  assert.ok(guard.isProven('a', 'quiet'))
})

test('no 30 s ever look at more than six bad keys of one address', () => {
  const arrivals = fc.array(fc.integer({ min: 0, max: 5000 }), { maxLength: 200, size: 'max' })
  fc.assert(
    fc.property(arrivals, (steps) => {
      const guard = new Guard(5, 30_000)
      const lookedAt: number[] = []
      let nowMs = 0
      for (const step of steps) {
        nowMs += step
        if (guard.closedMs('a', nowMs) > 0) continue
        guard.bad('a', nowMs)
        lookedAt.push(nowMs)
      }
      for (const fromMs of lookedAt) {
        assert.ok(lookedAt.filter((atMs) => atMs >= fromMs && atMs < fromMs + 30_000).length <= 6)
      }
    }),
  )
})

test('when there is no room for another address, its bad keys are refused and other callers are let alone', () => {
  const guard = new Guard(1, 30_000)
  for (let n = 0; n < 100_000; n++) guard.bad(`a${n}`, 0)
  assert.equal(guard.bad('late', 1), 30_000)
  assert.equal(guard.closedMs('late', 1), 0)
})

test('the sixth bad key within 30 s closes the address; afterwards it is open again', async () => {
  await using desk = await openDesk()
  const admission = await openAdmission(desk)
  for (let n = 0; n < 5; n++) {
    assert.equal(await codeOf(admission, quote, bearing(`tetrad:k${n}:${wrongSecret}`)), 'key.invalid')
    desk.clock.move(1000)
  }
  const sixth = await attempt(admission, quote, bearing('anything'))
  assert.deepEqual(sixth instanceof Fault && [sixth.code, sixth.retryAfterMs], ['key.guarded', 25_000])
  assert.equal(await codeOf(admission, fundedBy, querying('anything')), 'key.guarded')
  assert.equal(await codeOf(admission, quote, bearing('anything', '203.0.113.8')), 'key.invalid')
  // Attempts while it is closed do not prolong it.
  desk.clock.move(24_999)
  assert.equal(await codeOf(admission, quote, bearing('anything')), 'key.guarded')
  desk.clock.move(1)
  assert.equal(await codeOf(admission, quote, bearing('anything')), 'key.guarded')
  desk.clock.move(30_000)
  assert.equal(await codeOf(admission, quote, bearing('anything')), 'key.invalid')
  await admission.close()
})

test('while an address is closed, a key that worked from it before passes and a new one does not', async () => {
  await using desk = await openDesk()
  const admission = await openAdmission(desk)
  const neighbour = await makeKey(desk, 'enterprise')
  const stolen = await makeKey(desk, 'enterprise')
  await admission.admit(quote, bearing(neighbour.key))
  await admission.admit(quote, bearing(stolen.key, '203.0.113.8'))
  for (let n = 0; n < 6; n++) await attempt(admission, quote, bearing('bad'))
  assert.equal(await codeOf(admission, quote, bearing(neighbour.key)), 'admitted')
  assert.equal(await codeOf(admission, quote, bearing(stolen.key)), 'key.guarded')
  desk.clock.move(10_000)
  for (let n = 0; n < 6; n++) {
    assert.equal(await codeOf(admission, quote, bearing(`tetrad:${neighbour.id}:${wrongSecret}`)), 'key.guarded')
  }
  await revokeKey(desk.state, neighbour.id, desk.clock)
  assert.equal(await codeOf(admission, quote, bearing(neighbour.key)), 'key.guarded')
  // None of these attempts has prolonged it: 30 s after the first bad key it is over.
  desk.clock.move(20_000)
  assert.equal(await codeOf(admission, quote, bearing(stolen.key)), 'admitted')
  await admission.close()
})

test('good keys, missing keys and refusals of a good key are no bad keys', async () => {
  await using desk = await openDesk()
  const admission = await openAdmission(desk)
  const { key } = await makeKey(desk)
  for (let n = 0; n < 20; n++) {
    await attempt(admission, quote, { address: testAddress, query: {} })
    await attempt(admission, quote, bearing(key))
    await attempt(admission, labels, querying(key))
  }
  assert.equal(await codeOf(admission, quote, bearing('bad')), 'key.invalid')
  await admission.close()
})
