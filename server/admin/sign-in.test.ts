import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { Fault } from '#core/fault.ts'
import { splitKey } from '#core/key.ts'
import { createKey, editKey, findKey, keyRevision, listKeys, revokeKey, rotateKey } from '#storage/keys.ts'
import { openConsole, ownOrigin } from '#test/console.ts'
import { createLink, findSession, linkMs, sessionMs, signIn, signOutAll } from './sessions.ts'

const codeOf = (reply: { json: <T>() => T }) => reply.json<{ error: { code: string } }>().error.code

describe('POST /console/session', () => {
  test('200: a link is exchanged for a cookie of 12 hours that scripts and other sites cannot read', async () => {
    await using site = await openConsole()
    const { token } = await createLink(site.context)
    const reply = await site.request('/console/session', { method: 'POST', body: { token } })
    assert.equal(reply.status, 200)
    const { signedIn, expiresAt } = reply.json()
    assert.deepEqual([signedIn, expiresAt], [true, new Date(site.clock.now() + sessionMs).toISOString()])
    const cookie = String(reply.headers['set-cookie'])
    assert.match(
      cookie,
      /^tetrad-session=tetrad:session-[0-9a-f]{16}:[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    )
    assert.equal(reply.headers['access-control-allow-origin'], undefined)
    assert.equal(reply.headers['cache-control'], 'no-store')
  })

  test('200: with a public https URL, the cookie is Secure', async () => {
    await using site = await openConsole({ server: { publicUrl: 'https://data.example' } })
    const { token } = await createLink(site.context)
    const reply = await site.request('/console/session', { method: 'POST', body: { token } })
    assert.match(String(reply.headers['set-cookie']), /; Secure$/)
  })

  test('401: a link works once, also with concurrent requests', async () => {
    await using site = await openConsole()
    const { token } = await createLink(site.context)
    const request = () => site.request('/console/session', { method: 'POST', body: { token } })
    const both = await Promise.all([request(), request()])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 401])
    const late = await request()
    assert.deepEqual([late.status, codeOf(late)], [401, 'console.link'])
  })

  test('401: a link expires after 15 minutes', async () => {
    await using site = await openConsole()
    const { token } = await createLink(site.context)
    site.clock.advance(linkMs)
    assert.equal((await site.request('/console/session', { method: 'POST', body: { token } })).status, 401)
    const { token: next } = await createLink(site.context)
    site.clock.advance(linkMs - 1)
    assert.equal((await site.request('/console/session', { method: 'POST', body: { token: next } })).status, 200)
  })

  test('401: a wrong secret with a valid id is rejected, and the link stays valid', async () => {
    await using site = await openConsole()
    const { token } = await createLink(site.context)
    const wrong = token.replace(/.{3}$/, 'AAA')
    assert.equal((await site.request('/console/session', { method: 'POST', body: { token: wrong } })).status, 401)
    assert.equal((await site.request('/console/session', { method: 'POST', body: { token } })).status, 200)
  })

  test('429: invalid links are throttled together with invalid keys; a valid link still works', async () => {
    await using site = await openConsole()
    const { token } = await createLink(site.context)
    const attempt = (body: object) => site.request('/console/session', { method: 'POST', body })
    const credentials = { headers: { authorization: 'Bearer tetrad:no:body' }, address: '127.0.0.1', query: {} }
    const metadata = { endpoint: contract['validators.metadata'], errorFormat: {}, handle: {} } as never
    for (let tries = 0; tries < 3; tries++)
      await assert.rejects(async () => site.authorizer.authorize(metadata, credentials), Fault)
    for (let tries = 0; tries < 2; tries++) assert.equal((await attempt({ token: 'x' })).status, 401)
    const sixth = await attempt({ token: 'x' })
    assert.deepEqual([sixth.status, codeOf(sixth)], [429, 'key.throttled'])
    assert.ok(Number(sixth.headers['retry-after']) > 0)
    assert.equal((await attempt({ token })).status, 200)
    assert.equal((await attempt({ token })).status, 429)
  })

  test('400: a body without a token is rejected', async () => {
    await using site = await openConsole()
    const reply = await site.request('/console/session', { method: 'POST', body: { tokn: 1 } })
    assert.deepEqual([reply.status, codeOf(reply)], [400, 'input.invalid'])
    assert.match(reply.body, /token is required/)
    assert.equal((await site.request('/console/session', { method: 'POST', body: '{' })).status, 400)
    assert.equal((await site.request('/console/session', { method: 'POST', body: '['.repeat(1025) })).status, 413)
  })
})

describe('a change must come from the same origin', () => {
  const cases: readonly [description: string, headers: Record<string, string>, status: number][] = [
    ['our own origin', { origin: ownOrigin }, 200],
    ['the same host behind a proxy that hides https', { origin: 'https://console.test' }, 200],
    ['the browser says so itself', { origin: '', 'sec-fetch-site': 'same-origin' }, 200],
    ['another origin', { origin: 'https://evil.example' }, 403],
    ['another port', { origin: 'http://console.test:8081' }, 403],
    ['no page at all', { origin: 'null' }, 403],
    ['neither header', { origin: '' }, 403],
    ['another site, whatever origin it claims', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a sister host', { 'sec-fetch-site': 'same-site' }, 403],
    ['typed into the address bar', { 'sec-fetch-site': 'none' }, 403],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['a form in disguise', { 'content-type': 'text/plain' }, 415],
  ]
  for (const [description, headers, status] of cases) {
    test(`${status}: ${description}`, async () => {
      await using site = await openConsole()
      const cookie = await site.signIn()
      const { token } = await createLink(site.context)
      const { id } = await createKey(site.context.state, { name: 'a', plan: 'free' }, site.clock, site.context.random)
      const changes = [
        ['POST', '/console/session', { token }],
        ['POST', '/console/key', {}],
        ['POST', '/console/keys', { name: 'a', plan: 'free' }],
        ['POST', `/console/keys/${id}`, { name: 'b' }],
        ['POST', `/console/keys/${id}/secret`, {}],
      ] as const
      for (const [method, url, body] of changes) {
        assert.equal((await site.request(url, { method, body, cookie, headers })).status, status, `${method} ${url}`)
      }
    })
  }

  test('405: a page of another origin gets no CORS headers', async () => {
    await using site = await openConsole()
    const reply = await site.request('/console/keys', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example' },
    })
    assert.deepEqual([reply.status, reply.headers.allow], [405, 'GET, HEAD, POST'])
    assert.equal(reply.headers['access-control-allow-methods'], undefined)
  })
})

describe('GET and DELETE /console/session', () => {
  test('200: returns whether the operator is signed in, and the groups', async () => {
    await using site = await openConsole({
      ...{ groups: { fx: { enabled: false }, markets: { host: 'markets.example' } } },
      validators: { networks: { devnet: {} } },
    })
    const before = (await site.request('/console/session')).json()
    assert.equal(before.signedIn, false)
    assert.equal('expiresAt' in before, false)
    const groups = before.groups as Record<string, { enabled: boolean; host: string }>
    assert.deepEqual([groups.fx?.enabled, groups.markets?.host], [false, 'markets.example'])
    assert.deepEqual(before.chains, [
      { id: '1', name: 'Ethereum' },
      { id: '137', name: 'Polygon' },
    ])
    assert.deepEqual(before.networks, [
      { name: 'mainnet', chain: '1' },
      { name: 'hoodi', chain: '560048' },
      { name: 'holesky', chain: '17000' },
      { name: 'devnet', chain: null },
    ])
    const cookie = await site.signIn()
    assert.equal((await site.request('/console/session', { cookie })).json().signedIn, true)
    assert.equal((await site.request('/console/session', { cookie: `a=b; ${cookie}; c=d` })).json().signedIn, true)
  })

  test('200: a session ends after 12 hours, with or without activity', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    site.clock.advance(sessionMs - 1)
    assert.equal((await site.request('/console/session', { cookie })).json().signedIn, true)
    site.clock.advance(1)
    assert.equal((await site.request('/console/session', { cookie })).json().signedIn, false)
    assert.equal((await site.request('/console/keys', { cookie })).status, 401)
  })

  test('200: signing out ends only this session, deletes the cookie, and can be repeated', async () => {
    await using site = await openConsole()
    const [cookie, other] = [await site.signIn(), await site.signIn()]
    const out = await site.request('/console/session', { method: 'DELETE', cookie })
    assert.equal(out.status, 200)
    assert.match(String(out.headers['set-cookie']), /^tetrad-session=; .*Max-Age=0$/)
    assert.equal((await site.request('/console/keys', { cookie })).status, 401)
    assert.equal((await site.request('/console/keys', { cookie: other })).status, 200)
    assert.equal((await site.request('/console/session', { method: 'DELETE', cookie })).status, 200)
  })
})

describe('POST /console/key', () => {
  test('200: a key for all groups, the same in every tab, which ends with the session', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    const request = async () =>
      (await site.request('/console/key', { method: 'POST', cookie })).json<{ key: string; expiresAt: string }>()
    const { key, expiresAt } = await request()
    assert.equal(expiresAt, new Date(site.clock.now() + sessionMs).toISOString())
    assert.deepEqual(await request(), { key, expiresAt })
    const credentials = { headers: { authorization: `Bearer ${key}` }, address: '10.0.0.1', query: {} }
    const metadata = { endpoint: contract['validators.metadata'], errorFormat: {}, handle: {} } as never
    const id = key.split(':')[1] ?? ''
    assert.deepEqual(await site.authorizer.authorize(metadata, credentials), { keyId: id, plan: 'enterprise' })
    assert.deepEqual(
      (await listKeys(site.context.state)).map(({ name, admin }) => [name, admin]),
      [['console', false]],
    )
    await site.request('/console/session', { method: 'DELETE', cookie })
    await assert.rejects(async () => site.authorizer.authorize(metadata, credentials), { code: 'key.invalid' })
    assert.equal(await findKey(site.context.state, id), undefined)
  })

  test('200: a repeated request writes nothing, so cached keys stay valid', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    const request = async () =>
      (await site.request('/console/key', { method: 'POST', cookie })).json<{ key: string }>().key
    const key = await request()
    await editKey(site.context.state, splitKey(key)?.id ?? '', { plan: 'lite' }, site.clock)
    const revision = await keyRevision(site.context.state)
    assert.equal(await request(), key)
    assert.equal(await keyRevision(site.context.state), revision)
    assert.equal((await findKey(site.context.state, splitKey(key)?.id ?? ''))?.plan, 'lite')
  })

  test('403: a revoked or rotated key stays so, and the next session has another key', async () => {
    await using site = await openConsole()
    const { state, random } = site.context
    const ends = [
      (id: string) => revokeKey(state, id, site.clock),
      (id: string) => rotateKey(state, { id }, site.clock, random),
    ]
    for (const end of ends) {
      const cookie = await site.signIn()
      const request = () => site.request('/console/key', { method: 'POST', cookie })
      const { id = '' } = splitKey((await request()).json<{ key: string }>().key) ?? {}
      await end(id)
      const ended = await findKey(state, id)
      const reply = await request()
      assert.deepEqual([reply.status, codeOf(reply)], [403, 'console.key'])
      assert.match(reply.body, /Sign out and sign in again/)
      assert.deepEqual(await findKey(state, id), ended)
      assert.equal((await site.request('/console/keys', { cookie })).status, 200)
      const next = await site.signIn()
      assert.equal((await site.request('/console/key', { method: 'POST', cookie: next })).status, 200)
    }
  })

  test('200: it expires exactly with the session', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    site.clock.advance(3_600_000)
    const { key } = (await site.request('/console/key', { method: 'POST', cookie })).json<{ key: string }>()
    const record = await findKey(site.context.state, key.split(':')[1] ?? '')
    assert.equal(record?.expiresAtMs, site.clock.now() - 3_600_000 + sessionMs)
  })
})

describe('operator routes need a session', () => {
  const forAll = new Set([
    'GET /console/session',
    'HEAD /console/session',
    'POST /console/session',
    'DELETE /console/session',
  ])

  test('401: every path under /console with every method, in the same error format', async () => {
    await using site = await openConsole()
    const stale = await site.signIn()
    await signOutAll(site.context)
    let walked = 0
    for (const { path, read: reply, change: changes } of site.paths.filter(({ path }) => path.startsWith('/console'))) {
      const methods = [...(reply ? (['GET', 'HEAD'] as const) : []), ...Object.keys(changes ?? {})] as (
        | 'GET'
        | 'POST'
      )[]
      for (const method of methods.filter((one) => !forAll.has(`${one} ${path}`))) {
        for (const cookie of [undefined, stale, 'tetrad-session=', 'tetrad-session=tetrad:session-1:x', 'other=1']) {
          const url = path.replace('{id}', 'anonymous')
          const response = await site.request(url, { method, ...(cookie !== undefined && { cookie }) })
          assert.equal(response.status, 401, `${method} ${path} ${cookie}`)
          // These pages are for visitors with a key, too.
          const code = /^\/console\/(explorer|validators)\//.test(path) ? 'key.missing' : 'console.session'
          if (method !== ('HEAD' as string)) assert.equal(codeOf(response), code, `${method} ${path}`)
          assert.equal(response.headers['access-control-allow-origin'], undefined)
          walked += 1
        }
      }
    }
    assert.ok(walked >= 8 * 5, `${walked} walked`)
  })

  test('404: a disabled console has no routes', async () => {
    await using site = await openConsole({ console: { enabled: false } })
    for (const url of ['/', '/docs', '/assets/index-one.js', '/console/session', '/console/overview']) {
      assert.equal((await site.request(url)).status, 404, url)
    }
  })
})

test('tokens, cookies and keys are never logged', async () => {
  await using site = await openConsole()
  const { token } = await createLink(site.context)
  const signedIn = await site.request('/console/session', { method: 'POST', body: { token } })
  const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? ''
  const { key } = (await site.request('/console/key', { method: 'POST', cookie })).json<{ key: string }>()
  await site.request('/console/session', { method: 'POST', body: { token } })
  await site.request('/console/keys', { method: 'POST', cookie, body: { name: 'x', plan: 'free' } })
  await site.request(`/console/keys/${encodeURIComponent(token)}`, { method: 'DELETE', cookie })
  await site.request(`/console/keys/${encodeURIComponent(cookie)}/usage`, { cookie })
  site.context.log.warn({ token, cookie, key }, 'somebody forgot')
  assert.ok(site.lines.length >= 7, `${site.lines.length} lines`)
  const secrets = [token, cookie, key].map((text) => text.split(/:|link_/).at(-1) ?? '')
  assert.deepEqual(
    secrets.map(({ length }) => length),
    [22, 43, 43],
  )
  for (const secret of secrets) assert.ok(!site.lines.join('').includes(secret))
})

describe('storage', () => {
  test('keeps the newest 16 links and 64 sessions, and deletes the keys of deleted sessions', async () => {
    await using site = await openConsole()
    const { context } = site
    const count = async (table: string) =>
      (await context.state.get<{ count: number }>(`select count(*) as count from ${table}`))?.count
    const links: string[] = []
    for (let made = 0; made < 20; made++) {
      links.push((await createLink(context)).token)
      context.clock.advance(1)
    }
    assert.equal(await count('console_links'), 16)
    assert.equal(await signIn(context, links[0] ?? ''), undefined)
    assert.ok(await signIn(context, links[19] ?? ''))
    const first = await site.signIn()
    await site.request('/console/key', { method: 'POST', cookie: first })
    assert.equal((await listKeys(context.state)).length, 1)
    for (let made = 0; made < 64; made++) {
      context.clock.advance(1)
      await site.signIn()
    }
    assert.equal(await count('console_sessions'), 64)
    assert.deepEqual(await listKeys(context.state), [])
    context.clock.advance(sessionMs)
    await site.signIn()
    assert.deepEqual([await count('console_sessions'), await count('console_links')], [1, 0])
  })

  test('stores only digests, no secrets', async () => {
    await using site = await openConsole()
    const { token } = await createLink(site.context)
    const rows = await site.context.state.all<{ id: string; digest: Uint8Array }>('select * from console_links')
    assert.equal(rows.length, 1)
    const secret = token.replace('link_', '')
    assert.equal(JSON.stringify(rows).includes(secret), false)
    assert.equal(Buffer.from(rows[0]?.digest ?? []).includes(Buffer.from(secret, 'base64url')), false)
  })

  test('a link cannot be used as a session, nor a session as a link', async () => {
    await using site = await openConsole()
    const { token } = await createLink(site.context)
    assert.equal(await findSession(site.context, token), undefined)
    const session = await signIn(site.context, token)
    assert.equal(await signIn(site.context, session?.token ?? ''), undefined)
  })
})
