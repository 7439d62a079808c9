import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { splitKey } from '#core/key.ts'
import type { KeyList, KeyUsage, KeyView, NewKeyReply, PlanList } from '#shared/console-calls.ts'
import { createKey, findKey, revokeKey } from '#storage/keys.ts'
import { addUsage, dayOf } from '#storage/usage.ts'
import { openConsole } from '#test/console.ts'
import { testNowMs } from '#test/context.ts'

const day = 86_400_000

describe('GET /console/keys', () => {
  test('200: every key, newest first, with its state and without secrets', async () => {
    await using site = await openConsole()
    const { context } = site
    const make = (name: string, more: object = {}) =>
      createKey(context.state, { name, plan: 'standard', ...more }, context.clock, context.random)
    const first = await make('first', { groups: ['fx'], expiresAtMs: testNowMs + day })
    site.clock.advance(1000)
    const second = await make('second', { admin: true })
    await revokeKey(context.state, second.id, context.clock)
    site.clock.advance(day)
    const cookie = await site.signIn()
    const reply = await site.request('/console/keys', { cookie })
    assert.equal(reply.status, 200)
    const { keys, total } = reply.json<KeyList>()
    assert.equal(total, 2)
    assert.deepEqual(keys[1], {
      id: first.id,
      name: 'first',
      plan: 'standard',
      groups: ['fx'],
      admin: false,
      state: 'expired',
      createdAt: new Date(testNowMs).toISOString(),
      expiresAt: new Date(testNowMs + day).toISOString(),
      revokedAt: null,
      lastUsedAt: null,
      oldSecretUntil: null,
    })
    assert.deepEqual([keys[0]?.id, keys[0]?.admin, keys[0]?.state], [second.id, true, 'revoked'])
    assert.doesNotMatch(reply.body, /digest|secret/)
  })
})

describe('GET /console/keys?find=&page=', () => {
  test('200: finds part of a name or id in any letter case, with special characters taken literally; pages of 100', async () => {
    await using site = await openConsole()
    const { context } = site
    const make = (name: string) => createKey(context.state, { name, plan: 'free' }, context.clock, context.random)
    for (let at = 0; at < 203; at++) {
      await make(`caller ${at}`)
      site.clock.advance(1)
    }
    const odd = await make('50%_Off!')
    const cookie = await site.signIn()
    const found = async (query: string) => {
      const { keys, total, pageSize } = (await site.request(`/console/keys?${query}`, { cookie })).json<KeyList>()
      return { names: keys.map(({ name }) => name), total, pageSize }
    }
    const first = await found('')
    assert.deepEqual([first.names.length, first.names[1], first.total, first.pageSize], [100, 'caller 202', 204, 100])
    assert.deepEqual((await found('page=3')).names, ['caller 3', 'caller 2', 'caller 1', 'caller 0'])
    assert.deepEqual(await found('page=4'), { names: [], total: 204, pageSize: 100 })
    assert.deepEqual((await found('find=CALLER+20')).names, ['caller 202', 'caller 201', 'caller 200', 'caller 20'])
    assert.deepEqual((await found(`find=${odd.id.slice(1, -1).toUpperCase()}`)).names, ['50%_Off!'])
    for (const text of ['0%_o', 'off!']) {
      assert.deepEqual((await found(`find=${encodeURIComponent(text)}`)).names, ['50%_Off!'], text)
    }
    assert.equal((await found('find=r%25')).total, 0)
    await make('Ärger GmbH')
    assert.deepEqual((await found(`find=${encodeURIComponent('Ärger')}`)).names, ['Ärger GmbH'])
  })

  test('200: keys of sessions are not listed, all others are, also when they have expired', async () => {
    await using site = await openConsole()
    const { context } = site
    const kept = await createKey(
      context.state,
      { name: 'kept', plan: 'free', expiresAtMs: testNowMs + 1 },
      context.clock,
      context.random,
    )
    const names = async (cookie: string) =>
      (await site.request('/console/keys', { cookie }))
        .json<KeyList>()
        .keys.map(({ name, state }) => `${name} ${state}`)
    const early = await site.signIn()
    await site.request('/console/key', { method: 'POST', cookie: early })
    site.clock.advance(day / 4)
    assert.deepEqual(await names(early), ['kept expired'])
    assert.ok(await findKey(context.state, kept.id))
  })

  for (const query of ['page=0', 'page=x', 'page=1&page=2', `find=${'a'.repeat(101)}`, 'find=a&find=b'])
    test(`400: ${query.slice(0, 20)}`, async () => {
      await using site = await openConsole()
      assert.equal((await site.request(`/console/keys?${query}`, { cookie: await site.signIn() })).status, 400)
    })
})

describe('POST /console/keys', () => {
  test('200: the whole key is returned once, and it works', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    const body = { name: 'ci', plan: 'lite', groups: ['markets', 'fx'], expiresAt: '2027-01-31T00:00:00Z', admin: true }
    const reply = await site.request('/console/keys', { method: 'POST', cookie, body })
    assert.equal(reply.status, 200)
    const { id, key } = reply.json<NewKeyReply>()
    assert.equal(splitKey(key)?.id, id)
    const record = await findKey(site.context.state, id)
    assert.deepEqual(
      [record?.name, record?.plan, record?.groups, record?.admin, record?.expiresAtMs],
      ['ci', 'lite', ['fx', 'markets'], true, Date.UTC(2027, 0, 31)],
    )
    assert.doesNotMatch((await site.request('/console/keys', { cookie })).body, new RegExp(key.split(':')[2] ?? '-'))
  })

  const wrong: readonly [description: string, body: object, message: RegExp][] = [
    ['no name', { plan: 'free' }, /name is required/],
    ['an empty name', { name: '', plan: 'free' }, /name must be 1 to 100 printable characters/],
    ['an unknown plan', { name: 'a', plan: 'gold' }, /plan must be one of/],
    ['no group at all', { name: 'a', plan: 'free', groups: [] }, /groups must be at least one/],
    ['an unknown group', { name: 'a', plan: 'free', groups: ['moon'] }, /groups/],
    ['a past expiry', { name: 'a', plan: 'free', expiresAt: '2020-01-01T00:00:00Z' }, /must be a time in the future/],
    [
      'an expiry without a time zone',
      { name: 'a', plan: 'free', expiresAt: '2027-01-01T00:00:00' },
      /must have a time zone/,
    ],
    ['a name that does not exist', { name: 'a', plan: 'free', pln: 1 }, /pln is not a known name/],
  ]
  for (const [description, body, message] of wrong) {
    test(`400: ${description}`, async () => {
      await using site = await openConsole()
      const reply = await site.request('/console/keys', { method: 'POST', cookie: await site.signIn(), body })
      assert.equal(reply.status, 400)
      const { error } = reply.json<{ error: { code: string; message: string } }>()
      assert.equal(error.code, 'input.invalid')
      assert.match(error.message, message)
    })
  }
})

describe('POST /console/keys/{id}', () => {
  test('200: the given fields are changed; 404: unknown key', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    const newKey = { name: 'a', plan: 'free', groups: ['fx'], expiresAtMs: testNowMs + day } as const
    const { id } = await createKey(site.context.state, newKey, site.context.clock, site.context.random)
    const edit = (body: object, of = id) => site.request(`/console/keys/${of}`, { method: 'POST', cookie, body })
    const reply = await edit({ plan: 'standard', expiresAt: '2027-01-31T00:00:00Z' })
    assert.equal(reply.status, 200)
    const { name, plan, groups, expiresAt } = reply.json<KeyView>()
    assert.deepEqual([name, plan, groups, expiresAt], ['a', 'standard', ['fx'], '2027-01-31T00:00:00.000Z'])
    const free = (await edit({ groups: null, expiresAt: null, admin: true })).json<KeyView>()
    assert.deepEqual([free.groups.length, free.expiresAt, free.admin, free.plan], [4, null, true, 'standard'])
    assert.equal((await edit({ name: 'b' }, 'unknown')).status, 404)
  })

  const wrong: readonly [description: string, body: object][] = [
    ['nothing named', {}],
    ['an unknown plan', { plan: 'gold' }],
    ['no group at all', { groups: [] }],
    ['a past expiry', { expiresAt: '2020-01-01T00:00:00Z' }],
    ['an expiry without a time zone', { expiresAt: '2027-01-01T00:00:00' }],
    ['a secret', { secret: 'x' }],
  ]
  for (const [description, body] of wrong) {
    test(`400: ${description}`, async () => {
      await using site = await openConsole()
      const cookie = await site.signIn()
      const { id } = await createKey(
        site.context.state,
        { name: 'a', plan: 'free' },
        site.context.clock,
        site.context.random,
      )
      const before = await findKey(site.context.state, id)
      const reply = await site.request(`/console/keys/${id}`, { method: 'POST', cookie, body })
      assert.equal(reply.status, 400)
      assert.equal(reply.json<{ error: { code: string } }>().error.code, 'input.invalid')
      assert.deepEqual(await findKey(site.context.state, id), before)
    })
  }
})

describe('POST /console/keys/{id}/secret', () => {
  test('200: the new key is returned once, and the old one stops working; 400: revoked; 404: unknown key', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    const before = await createKey(
      site.context.state,
      { name: 'a', plan: 'enterprise' },
      site.context.clock,
      site.context.random,
    )
    const { id } = before
    const rotate = (body: object, of = id) =>
      site.request(`/console/keys/${of}/secret`, { method: 'POST', cookie, body })
    // 404 means that the key was accepted.
    const statusOf = async (key: string) =>
      (await site.request('/v0/eth/validators/1', { headers: { authorization: `Bearer ${key}` } })).status
    assert.equal(await statusOf(before.key), 404)
    const reply = await rotate({})
    assert.equal(reply.status, 200)
    const after = reply.json<NewKeyReply>()
    assert.equal(after.id, id)
    assert.deepEqual([await statusOf(before.key), await statusOf(after.key)], [401, 404])
    await revokeKey(site.context.state, id, site.context.clock)
    const refused = await rotate({})
    assert.equal(refused.status, 400)
    assert.match(refused.body, /restore is required for a revoked key/)
    const restored = (await rotate({ restore: true })).json<NewKeyReply>()
    assert.deepEqual([await statusOf(after.key), await statusOf(restored.key)], [401, 404])
    assert.equal((await rotate({}, 'unknown')).status, 404)
    assert.ok(site.lines.every((line) => !line.includes(splitKey(after.key)?.secret ?? '-')))
  })
})

describe('POST /console/keys/{id}/secret with oldSecretUntil', () => {
  test('200: both secrets work until that time, which the list shows; then only the new one', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    const { state, clock, random } = site.context
    const { id, key } = await createKey(state, { name: 'a', plan: 'enterprise' }, clock, random)
    const rotate = (body: object) => site.request(`/console/keys/${id}/secret`, { method: 'POST', cookie, body })
    // 404 means that the key was accepted.
    const statusOf = async (text: string) =>
      (await site.request('/v0/eth/validators/1', { headers: { authorization: `Bearer ${text}` } })).status
    const listed = async () => (await site.request('/console/keys', { cookie })).json<KeyList>().keys[0]
    const oldSecretUntil = new Date(testNowMs + 3_600_000).toISOString()
    const reply = (await rotate({ oldSecretUntil })).json<NewKeyReply>()
    assert.equal(reply.oldSecretUntil, oldSecretUntil)
    assert.deepEqual([await statusOf(key), await statusOf(reply.key)], [404, 404])
    assert.equal((await listed())?.oldSecretUntil, oldSecretUntil)
    site.clock.advance(3_599_999)
    assert.equal(await statusOf(key), 404)
    site.clock.advance(1)
    assert.deepEqual([await statusOf(key), await statusOf(reply.key)], [401, 404])
    assert.equal((await listed())?.oldSecretUntil, null)

    const again = (
      await rotate({ oldSecretUntil: new Date(site.clock.now() + 1000).toISOString() })
    ).json<NewKeyReply>()
    await revokeKey(state, id, clock)
    assert.deepEqual([await statusOf(reply.key), await statusOf(again.key)], [401, 401])
  })

  test('400: a time in the past, too far ahead, or without a time zone', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    const { state, clock, random } = site.context
    const { id } = await createKey(state, { name: 'a', plan: 'free' }, clock, random)
    for (const oldSecretUntil of ['2020-01-01T00:00:00Z', '2027-11-15T00:00:00Z', '2026-11-16T00:00:00', 'tomorrow']) {
      const body = { oldSecretUntil }
      const reply = await site.request(`/console/keys/${id}/secret`, { method: 'POST', cookie, body })
      assert.equal(reply.status, 400, oldSecretUntil)
      assert.match(reply.body, /oldSecretUntil/)
    }
  })
})

describe('DELETE /console/keys/{id}', () => {
  test('200: the key stops working at once; 404: unknown key', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    const { id } = await createKey(
      site.context.state,
      { name: 'a', plan: 'free' },
      site.context.clock,
      site.context.random,
    )
    const reply = await site.request(`/console/keys/${id}`, { method: 'DELETE', cookie })
    assert.deepEqual([reply.status, reply.json()], [200, { id, revoked: true }])
    assert.equal((await findKey(site.context.state, id))?.revokedAtMs, testNowMs)
    assert.equal((await site.request('/console/keys/unknown', { method: 'DELETE', cookie })).status, 404)
  })
})

describe('GET /console/keys/{id}/usage', () => {
  test('200: calls by day and endpoint, newest day first, with the range of days', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    const { state } = site.context
    const { id } = await createKey(state, { name: 'a', plan: 'free' }, site.context.clock, site.context.random)
    const today = dayOf(testNowMs)
    const endpoint = 'markets.bySlug'
    const counts = [
      { day: today, keyId: id, endpoint, outcome: 'accepted', calls: 3 },
      { day: today, keyId: id, endpoint, outcome: 'limit.second', calls: 1 },
      { day: today - 1, keyId: id, endpoint, outcome: 'accepted', calls: 5 },
      { day: today - 40, keyId: id, endpoint, outcome: 'accepted', calls: 9 },
      { day: today, keyId: 'other', endpoint, outcome: 'accepted', calls: 9 },
    ] as const
    await addUsage(state, counts, new Map())
    const reply = await site.request(`/console/keys/${id}/usage?days=30`, { cookie })
    const usage = reply.json<KeyUsage>()
    assert.deepEqual([usage.id, usage.from, usage.to], [id, '2026-10-17', '2026-11-15'])
    assert.deepEqual(
      usage.days.map(({ day, accepted }) => [day, accepted]),
      [
        ['2026-11-15', 3],
        ['2026-11-14', 5],
      ],
    )
    assert.equal(usage.days[0]?.endpoints['markets.bySlug']?.refused['limit.second'], 1)
    assert.equal((await site.request('/console/keys/anonymous/usage', { cookie })).status, 200)
  })

  test('400: more days than are stored; 404: unknown key', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    for (const days of ['0', '401', '-1', 'x', '1.5', '']) {
      assert.equal((await site.request(`/console/keys/anonymous/usage?days=${days}`, { cookie })).status, 400, days)
    }
    assert.equal((await site.request('/console/keys/anonymous/usage?days=400', { cookie })).status, 200)
    assert.equal((await site.request('/console/keys/unknown/usage', { cookie })).status, 404)
  })
})

test('GET /console/plans 200: the current limits, lowest plan first', async () => {
  await using site = await openConsole({ plans: { free: { perSecond: 1 } } })
  const { plans } = (await site.request('/console/plans', { cookie: await site.signIn() })).json<PlanList>()
  assert.deepEqual(plans[0], { name: 'free', perSecond: 1, perDay: 100_000 })
  assert.deepEqual(plans.at(-1), { name: 'enterprise', perSecond: 0, perDay: 0 })
})
