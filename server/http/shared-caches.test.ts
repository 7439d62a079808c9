// Which responses a shared cache may keep: none of an endpoint that requires a key (behaviour/http.md#response-headers).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import { everyone } from '#test/authorization.ts'
import { openContext } from '#test/context.ts'
import { openDemoServer } from '#test/demo-server.ts'
import { inject } from '#test/inject.ts'
import { createHandler, type HandlerResult } from './handler.ts'
import { createApp, respond } from './pipeline.ts'

const endpoints: readonly Endpoint[] = [...Object.values<Endpoint>(contract), ...Object.values<Endpoint>(extensions)]
const headers = { etag: '"a"', 'cache-control': 'public, max-age=5', vary: 'accept-encoding' }
const bytes = new TextEncoder().encode('{}')
const results: readonly HandlerResult<never>[] = [
  { is: 'bytes', bytes, headers },
  { is: 'bytes', bytes, headers, rendered: {} },
  { is: 'unchanged', headers },
]

/** Cache headers of every endpoint, for each result, rendered twice. */
async function collectHeaders(requireKey: boolean) {
  await using context = await openContext({ markets: { requireKey } })
  const collected: { id: string; auth: string; group: string; cacheControl?: string; vary?: string }[] = []
  for (const endpoint of endpoints) {
    for (const result of results) {
      // The input is not what this test is about.
      const open = { ...endpoint, input: { type: 'object', properties: {} } } as unknown as Endpoint
      const handlerResult = structuredClone(result)
      const handler = createHandler(open, async () => handlerResult)
      const app = createApp(context, [handler], everyone, { request: () => {} })
      const [route] = app.routes
      assert.ok(route)
      for (let times = 0; times < 2; times++) {
        const response = await respond(app, route, {
          ...{ requestId: 'a', address: '192.0.2.1', origin: '', hostname: '', path: endpoint.path, params: {} },
          ...{ query: { ...endpoint.selectedBy }, headers: {}, contentType: 'application/json', body: bytes },
        })
        const { 'cache-control': cacheControl = '', vary = '' } = response.headers
        collected.push({ id: endpoint.id, auth: endpoint.auth, group: endpoint.group, cacheControl, vary })
      }
      app.deadlines.close()
    }
  }
  return collected
}

test('responses of endpoints that require a key are private and depend on the key', async () => {
  for (const { id, auth, group, cacheControl, vary } of await collectHeaders(true)) {
    const isOpen = auth === 'open' && group !== 'markets'
    assert.equal(cacheControl, isOpen ? 'public, max-age=5' : 'private, max-age=5', id)
    const inHeader = !isOpen && auth !== 'apikey'
    assert.equal(vary, inHeader ? 'accept-encoding, authorization' : 'accept-encoding', id)
  }
})

test('responses of open endpoints may be kept by shared caches', async () => {
  for (const { id, auth, cacheControl, vary } of await collectHeaders(false)) {
    if (auth !== 'open') continue
    assert.deepEqual([cacheControl, vary], ['public, max-age=5', 'accept-encoding'], id)
  }
})

test('no market path of a server that requires a key sends a public response', async () => {
  await using demo = await openDemoServer((settings) => ({
    markets: { ...(settings as { markets: object }).markets, requireKey: true },
  }))
  const authorization = `Bearer ${demo.key}`
  const read = (url: string, more = {}) => inject(demo.server, { url, headers: { authorization, ...more } })
  const { slug } = demo.samples
  const market = await read(`/markets/slug/${slug}`)
  const { id } = market.json()
  for (const url of [`/markets/slug/${slug}`, `/markets/${id}`, '/markets', '/events', '/series', '/tags']) {
    let response = await read(url)
    assert.equal(response.statusCode, 200, url)
    let unchanged = await read(url, { 'if-none-match': response.headers.etag })
    // The feed of the demo may change a record between two requests.
    for (let tries = 0; unchanged.statusCode === 200 && tries < 5; tries++) {
      response = unchanged
      unchanged = await read(url, { 'if-none-match': response.headers.etag })
    }
    assert.equal(unchanged.statusCode, 304, url)
    for (const { headers: sent } of [response, unchanged]) {
      assert.match(String(sent['cache-control']), /^private, max-age=\d+$/, url)
      assert.match(String(sent.vary), /\bauthorization\b/, url)
    }
    assert.equal((await inject(demo.server, url)).headers['cache-control'], 'no-store', url)
  }
})
