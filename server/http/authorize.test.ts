import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { extensions } from '#api/contract/extensions.ts'
import type { Group, Plan } from '#api/contract/routes.ts'
import { Fault } from '#core/fault.ts'
import { withoutKeys } from '#core/key.ts'
import { issueKey, revokeKey, rotateKey } from '#storage/keys.ts'
import { openState } from '#storage/open.ts'
import { usageOf } from '#storage/usage.ts'
import {
  attempt,
  bearing,
  codeOf,
  fundedBy,
  handlerOf,
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
import { type Credentials, openAuthorizer } from './authorize.ts'
import type { Handler } from './handler.ts'

describe('key', () => {
  test('a valid key gives key id and plan', async () => {
    await using context = await openContext()
    const authorizer = await openAuthorizer(context)
    const { id, key } = await makeKey(context, 'standard')
    assert.deepEqual(await authorizer.authorize(quote, bearing(key)), { keyId: id, plan: 'standard' })
    assert.deepEqual(await authorizer.authorize(fundedBy, querying(key)), { keyId: id, plan: 'standard' })
    assert.deepEqual(await authorizer.authorize(market, bearing(key)), { keyId: id, plan: 'standard' })
    assert.deepEqual(await authorizer.authorize(market, querying(key)), { keyId: id, plan: 'standard' })
    await authorizer.close()
  })

  test('an endpoint that changes data needs an admin key on every plan', async () => {
    await using context = await openContext()
    const authorizer = await openAuthorizer(context)
    const admin: Handler = { ...quote, endpoint: { ...quote.endpoint, admin: true } }
    const { key: plain } = await makeKey(context, 'enterprise')
    const { id, key } = await makeKey(context, 'free', { admin: true })
    const { key: elsewhere } = await makeKey(context, 'free', { admin: true, groups: ['markets'] })
    const refused = await attempt(authorizer, admin, bearing(plain))
    assert.ok(refused instanceof Fault)
    assert.deepEqual([refused.code, refused.status], ['key.group', 403])
    assert.match(refused.publicMessage, /admin key/)
    assert.deepEqual(await authorizer.authorize(admin, bearing(key)), { keyId: id, plan: 'free' })
    assert.equal(await codeOf(authorizer, admin, bearing(elsewhere)), 'key.group')
    assert.equal(await codeOf(authorizer, quote, bearing(plain)), 'accepted')
    await authorizer.close()
  })

  test('the case of the bearer scheme is ignored', async () => {
    await using context = await openContext()
    const authorizer = await openAuthorizer(context)
    const { key } = await makeKey(context, 'enterprise')
    for (const authorization of [`bearer ${key}`, `BEARER  ${key} `, `Bearer\t${key}`]) {
      assert.equal(
        await codeOf(authorizer, quote, { headers: { authorization }, address: testAddress, query: {} }),
        'accepted',
        authorization,
      )
    }
    await authorizer.close()
  })

  test('a key in the wrong place, an empty key and another scheme count as no key', async () => {
    await using context = await openContext()
    const authorizer = await openAuthorizer(context)
    const { key } = await makeKey(context, 'enterprise')
    assert.equal(await codeOf(authorizer, quote, querying(key)), 'key.missing')
    assert.equal(await codeOf(authorizer, fundedBy, bearing(key)), 'key.missing')
    assert.equal(await codeOf(authorizer, fundedBy, querying('  ')), 'key.missing')
    for (const authorization of ['Bearer', 'Bearer ', 'Basic dTpw', `Bearer${key}`, key]) {
      assert.equal(
        await codeOf(authorizer, quote, { headers: { authorization }, address: testAddress, query: {} }),
        'key.missing',
        authorization,
      )
    }
    await authorizer.close()
  })

  test('malformed, unknown, wrong, revoked and expired keys get the same error', async () => {
    await using context = await openContext({ keys: { badKeysMax: 100 } })
    const authorizer = await openAuthorizer(context)
    const good = await makeKey(context)
    const revoked = await makeKey(context)
    const expired = await makeKey(context, 'free', { expiresAtMs: testNowMs + 1000 })
    assert.equal(await codeOf(authorizer, quote, bearing(expired.key)), 'accepted')
    await revokeKey(context.state, revoked.id, context.clock)
    context.clock.advance(1000)
    const unknown = `tetrad:0000000000000000:${wrongSecret}`
    const wrong = `tetrad:${good.id}:${wrongSecret}`
    const bad = ['YourApiKeyToken', `${good.key}x`, unknown, wrong, revoked.key, expired.key]
    const faults = []
    for (const key of bad) {
      const fault = await attempt(authorizer, quote, bearing(key))
      assert.ok(fault instanceof Fault, key)
      faults.push(
        JSON.stringify([
          fault.code,
          fault.publicMessage,
          fault.message,
          fault.problems,
          fault.textValues,
          fault.headers,
        ]),
      )
      const everything = `${fault.stack}${JSON.stringify(fault)}`
      assert.ok(!everything.includes(key) && !everything.includes(wrongSecret), 'the fault repeats the key')
    }
    assert.equal(new Set(faults).size, 1, faults.join('\n'))
    assert.match(faults[0] ?? '', /^\["key\.invalid"/)
    await authorizer.close()
  })

  test('the log removes the secret of a key', async () => {
    await using context = await openContext()
    const { id, key } = await makeKey(context)
    assert.equal(withoutKeys(`got ${key}.`), `got tetrad:${id}:….`)
  })

  test('a revocation by another process takes effect with the next call', async () => {
    await using context = await openContext()
    const authorizer = await openAuthorizer(context)
    const { id, key } = await makeKey(context, 'enterprise')
    assert.equal(await codeOf(authorizer, quote, bearing(key)), 'accepted')
    assert.equal(await codeOf(authorizer, quote, bearing(key)), 'accepted')
    const other = await openState(context.dir, context.settings.store)
    await revokeKey(other, id, context.clock)
    await other.close()
    assert.equal(await codeOf(authorizer, quote, bearing(key)), 'key.invalid')
    await authorizer.close()
  })

  test('after a rotation only the new secret is valid', async () => {
    await using context = await openContext()
    const authorizer = await openAuthorizer(context)
    const wanted = { id: 'demo', name: 'demo', plan: 'enterprise' } as const
    const before = await issueKey(context.state, wanted, context.clock, context.random)
    assert.equal(await codeOf(authorizer, quote, bearing(before.key)), 'accepted')
    const after = await issueKey(context.state, wanted, context.clock, context.random)
    assert.equal(await codeOf(authorizer, quote, bearing(before.key)), 'key.invalid')
    assert.equal(await codeOf(authorizer, quote, bearing(after.key)), 'accepted')
    await authorizer.close()
  })

  test('a verified key ends at its expiry, and an old secret at the end of its overlap', async () => {
    await using context = await openContext()
    const authorizer = await openAuthorizer(context)
    const expiring = await makeKey(context, 'enterprise', { expiresAtMs: testNowMs + 2000 })
    const rotated = await makeKey(context, 'enterprise')
    const rotation = { id: rotated.id, oldSecretUntilMs: testNowMs + 1000 }
    const { key: newKey } = (await rotateKey(context.state, rotation, context.clock, context.random)) ?? assert.fail()
    const codes = async () => {
      const all = []
      for (const key of [rotated.key, newKey, expiring.key]) all.push(await codeOf(authorizer, quote, bearing(key)))
      return all
    }
    // No key is changed from here on, so the second call of each finds it in the cache.
    assert.deepEqual(await codes(), ['accepted', 'accepted', 'accepted'])
    context.clock.advance(999)
    assert.deepEqual(await codes(), ['accepted', 'accepted', 'accepted'])
    context.clock.advance(1)
    assert.deepEqual(await codes(), ['key.invalid', 'accepted', 'accepted'])
    context.clock.advance(1000)
    assert.deepEqual(await codes(), ['key.invalid', 'accepted', 'key.invalid'])
    await authorizer.close()
  })

  test('a verified key is read again only after a key was changed, not after every commit', async () => {
    await using context = await openContext()
    let reads = 0
    const state = stateWith(context.state, {
      get: (sql, ...values) => {
        if (sql.includes('from keys')) reads += 1
        return context.state.get(sql, ...values)
      },
    })
    const { key } = await makeKey(context, 'enterprise')
    const authorizer = await openAuthorizer({ ...context, state })
    for (let call = 0; call < 10; call++) await authorizer.authorize(quote, bearing(key))
    assert.equal(reads, 1)
    await authorizer.flush()
    for (let call = 0; call < 10; call++) await authorizer.authorize(quote, bearing(key))
    assert.equal(reads, 1)
    await makeKey(context, 'free')
    for (let call = 0; call < 10; call++) await authorizer.authorize(quote, bearing(key))
    assert.equal(reads, 2)
    await authorizer.close()
  })
})

describe('open group', () => {
  test('a caller without a key is anonymous and limited by address', async () => {
    await using context = await openContext({ server: { anonymousPerSecond: 2 } })
    const authorizer = await openAuthorizer(context)
    const from = (where: string): Credentials => ({ headers: {}, address: where, query: {} })
    const anonymous = { keyId: 'anonymous', plan: 'free', network: testAddress }
    assert.deepEqual(await authorizer.authorize(market, from(testAddress)), anonymous)
    assert.deepEqual(await authorizer.authorize(market, { ...from(testAddress), query: { apikey: '' } }), anonymous)
    const refused = await attempt(authorizer, market, from(testAddress))
    assert.ok(refused instanceof Fault)
    assert.deepEqual([refused.code, refused.textValues, refused.retryAfterMs], ['limit.second', { limit: 2 }, 1000])
    assert.equal(await codeOf(authorizer, market, from('203.0.113.8')), 'accepted')
    // All IPv6 addresses of a /64 network are one caller.
    for (const where of ['2001:db8::1', '2001:db8::2'])
      assert.equal(await codeOf(authorizer, market, from(where)), 'accepted')
    assert.equal(await codeOf(authorizer, market, from('2001:db8::3')), 'limit.second')
    await authorizer.flush()
    const [usage] = await usageOf(context.state, { keyId: 'anonymous', days: 1, nowMs: testNowMs })
    assert.deepEqual([usage?.accepted, usage?.refused['limit.second']], [5, 2])
    await authorizer.close()
  })

  test('the limit of callers without a key applies to all open paths of all groups together', async () => {
    await using context = await openContext({ server: { anonymousPerSecond: 2 } })
    const authorizer = await openAuthorizer(context)
    const receiptKey: Handler = { ...market, endpoint: extensions['fx.receiptKey'] }
    const credentials: Credentials = { headers: {}, address: testAddress, query: {} }
    assert.equal(await codeOf(authorizer, receiptKey, credentials), 'accepted')
    assert.equal(await codeOf(authorizer, market, credentials), 'accepted')
    assert.equal(await codeOf(authorizer, receiptKey, credentials), 'limit.second')
    await authorizer.close()
  })

  test('a valid key is used and counted; an invalid one is refused', async () => {
    await using context = await openContext({ server: { anonymousPerSecond: 1 } })
    const authorizer = await openAuthorizer(context)
    const { id, key } = await makeKey(context, 'enterprise')
    for (let call = 0; call < 5; call++) assert.equal((await authorizer.authorize(market, bearing(key))).keyId, id)
    assert.equal(await codeOf(authorizer, market, querying('YourApiKeyToken')), 'key.invalid')
    await authorizer.flush()
    assert.equal((await usageOf(context.state, { keyId: id, days: 1, nowMs: testNowMs }))[0]?.accepted, 5)
    await authorizer.close()
  })

  test('the setting requires a key', async () => {
    await using context = await openContext({ markets: { requireKey: true } })
    const authorizer = await openAuthorizer(context)
    const { key } = await makeKey(context)
    assert.equal(await codeOf(authorizer, market, { headers: {}, address: testAddress, query: {} }), 'key.missing')
    assert.equal(await codeOf(authorizer, market, querying(key)), 'accepted')
    await authorizer.close()
  })
})

describe('group, plan, check of the handler', () => {
  test('a key works only for its groups', async () => {
    await using context = await openContext()
    const authorizer = await openAuthorizer(context)
    const groups: readonly Group[] = ['explorer', 'markets']
    const { key } = await makeKey(context, 'enterprise', { groups })
    assert.equal(await codeOf(authorizer, quote, bearing(key)), 'key.group')
    assert.equal(await codeOf(authorizer, labels, querying(key)), 'accepted')
    assert.equal(await codeOf(authorizer, market, bearing(key)), 'accepted')
    await authorizer.close()
  })

  test('a lower plan is refused with the name of the needed plan; that plan and higher ones pass', async () => {
    await using context = await openContext()
    const authorizer = await openAuthorizer(context)
    const cases: readonly (readonly [Handler, Plan, string])[] = [
      [fundedBy, 'lite', 'standard'],
      [fundedBy, 'standard', ''],
      [fundedBy, 'enterprise', ''],
      [labels, 'professional', 'enterprise'],
      [labels, 'enterprise', ''],
    ]
    for (const [handler, plan, needed] of cases) {
      const { key } = await makeKey(context, plan)
      const outcome = await attempt(authorizer, handler, querying(key))
      if (needed === '') assert.ok(!(outcome instanceof Fault), plan)
      else
        assert.deepEqual(outcome instanceof Fault && [outcome.code, outcome.textValues], [
          'plan.too_low',
          { plan: needed },
        ])
    }
    await authorizer.close()
  })

  test('the limit of an endpoint may exempt a plan: enterprise keys check any number of signatures', async () => {
    await using context = await openContext()
    const authorizer = await openAuthorizer(context)
    const check: Handler = { ...quote, endpoint: extensions['fx.checkSignature'] }
    const codes = async (handler: Handler, plan: Plan, credentials: (key: string) => Credentials) => {
      const { key } = await makeKey(context, plan)
      return [0, 1, 2].map(() => codeOf(authorizer, handler, credentials(key)))
    }
    const [passed, full] = ['accepted', 'limit.second']
    assert.deepEqual(await Promise.all(await codes(check, 'enterprise', bearing)), [passed, passed, passed])
    assert.deepEqual(await Promise.all(await codes(check, 'professional', bearing)), [passed, passed, full])
    assert.deepEqual(await Promise.all(await codes(fundedBy, 'enterprise', querying)), [passed, passed, full])
    await authorizer.close()
  })

  test('the check of the handler runs after the plan and before the limits', async () => {
    await using context = await openContext({ plans: { standard: { perSecond: 1 } } })
    const authorizer = await openAuthorizer(context)
    const gated = handlerOf('explorer.fundedBy', ({ chainid }) => {
      if (chainid === '9') throw new Fault('explorer.chain_unsupported')
    })
    const low = await makeKey(context, 'lite')
    const high = await makeKey(context, 'standard')
    const credentials = (key: string, chainid: string): Credentials => ({
      ...querying(key),
      query: { apikey: key, chainid },
    })
    assert.equal(await codeOf(authorizer, gated, credentials(low.key, '9')), 'plan.too_low')
    assert.equal(await codeOf(authorizer, gated, credentials(high.key, '9')), 'explorer.chain_unsupported')
    assert.equal(await codeOf(authorizer, gated, credentials(high.key, '1')), 'accepted')
    assert.equal(await codeOf(authorizer, gated, credentials(high.key, '1')), 'limit.second')
    assert.equal(await codeOf(authorizer, gated, credentials(high.key, '9')), 'explorer.chain_unsupported')
    await authorizer.close()
  })
})
