import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan } from '#api/contract/routes.ts'
import { openAuthorizer } from '#http/authorize.ts'
import { codeOf, makeKey, querying } from '#test/authorization.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { apiLimit } from './api-limit.ts'

async function usageOf(context: TestContext, keyId: string, plan: Plan) {
  const outcome = await apiLimit.handle({}, context, testRequestInfo({ caller: { keyId, plan } }))
  assert.ok(outcome.is === 'body')
  return outcome.body.result
}

test('200: returns the calls that the limit of the key has counted today, and no others', async () => {
  await using context = await openContext({ plans: { free: { perSecond: 100, perDay: 5 } } })
  const authorizer = await openAuthorizer(context)
  const [queriedKey, other] = [await makeKey(context), await makeKey(context)]
  const call = async (key: string) => {
    const refused = (await codeOf(authorizer, apiLimit, querying(key))) !== 'accepted'
    await authorizer.flush()
    return refused
  }
  await call(other.key)
  assert.deepEqual(await usageOf(context, queriedKey.id, 'free'), {
    creditsUsed: 0,
    creditsAvailable: 5,
    creditLimit: 5,
    limitInterval: 'daily',
    intervalExpiryTimespan: '11:59:59',
  })
  for (let calls = 1; calls <= 5; calls++) {
    assert.equal(await call(queriedKey.key), false)
    const { creditsUsed, creditsAvailable } = await usageOf(context, queriedKey.id, 'free')
    assert.deepEqual([creditsUsed, creditsAvailable], [calls, 5 - calls])
  }
  assert.equal(await call(queriedKey.key), true)
  assert.equal((await usageOf(context, queriedKey.id, 'free')).creditsUsed, 5)
  context.clock.advance(12 * 3_600_000)
  const { creditsUsed, intervalExpiryTimespan } = await usageOf(context, queriedKey.id, 'free')
  assert.deepEqual([creditsUsed, intervalExpiryTimespan], [0, '23:59:59'])
  await authorizer.close()
})

test('200: a plan without a limit has null instead of a number', async () => {
  await using context = await openContext({}, testNowMs + 3_661_000)
  const { creditLimit, creditsAvailable, intervalExpiryTimespan } = await usageOf(context, 'a', 'enterprise')
  assert.deepEqual([creditLimit, creditsAvailable, intervalExpiryTimespan], [null, null, '10:58:58'])
})
