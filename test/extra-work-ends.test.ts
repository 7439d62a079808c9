// As work-ends.test.ts, for the paths outside the contract: the console, its API, downloads, monitoring and MCP. A path
// without a call here fails.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { createProgressBoard } from '#admin/progress.ts'
import { createLink } from '#admin/sessions.ts'
import { createClient } from '#api/client/client.ts'
import type { Authorizer } from '#http/authorize.ts'
import { createBadKeyThrottle } from '#http/bad-key-throttle.ts'
import type { App } from '#http/pipeline.ts'
import { recentCoverage } from '#operations/coverage.ts'
import { openMetrics } from '#runtime/metrics.ts'
import type { AppContext } from '#server/context.ts'
import { createHealth } from '#server/start/create-health.ts'
import { createRoutes } from '#server/start/create-routes.ts'
import { WriteHealth } from '#storage/write-health.ts'
import { testWebhook } from './alerts-network.ts'
import { type CountedServer, checkWorkEnds, openCounted, type SentRequest, send } from './count-work.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { createDemoQuote } from './endpoint-calls.ts'

let world: DemoServer
let calls: Readonly<Record<string, () => Promise<SentRequest>>>

before(async () => {
  world = await openDemoServer((settings) => {
    const { validators } = settings as { validators: object }
    return { validators: { ...validators, webhooks: [testWebhook({})] }, mcp: { enabled: true } }
  })
  calls = await createCalls()
})
after(() => world[Symbol.asyncDispose]())

const authorizer = {
  authorize: () => ({ keyId: 'test', plan: 'enterprise' }),
  close: async () => {},
} as unknown as Authorizer

/** Paths whose work is shared by all callers and done at most once a second, so it does not end with one of them. */
const sharedPaths = ['/readyz', '/metrics', '/coverage', '/console/overview']
/** Paths that serve files of the build, or a constant. They use no database. */
const filePaths =
  /^\/(healthz|openapi\.json|favicon\.svg|assets\/.*|docs.*|explorer.*|fx.*|validators.*|market.*|overview|keys.*|sign-in)?$/

async function openExtras(context: AppContext, app: App) {
  const coverage = recentCoverage(context)
  const metrics = openMetrics({ process: false })
  const ingest = { findings: async () => [] } as never
  const hasSharedLimits = () => true
  const writeHealth = new WriteHealth(context.clock)
  const { all } = await createRoutes(context, app, {
    version: 'test',
    url: () => world.url,
    health: createHealth(context, { metrics, writeHealth, ingest, hasSharedLimits, coverage }),
    authorization: { authorizer, badKeyThrottle: createBadKeyThrottle(context.settings) } as never,
    coverage,
    progressBoard: createProgressBoard(context.clock),
    // The real one reads in the background.
    metricsHistory: { read: async () => ({}), stop() {} } as never,
    demoKey: undefined,
  })
  return all
}

const open = (): Promise<CountedServer> => openCounted(world.server.context, authorizer, { openExtras })

async function createCalls() {
  const { context } = world.server
  const client = createClient({ baseUrl: world.url, key: world.key })
  const post = async (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${world.url}${path}`, {
      method: 'POST',
      headers: { origin: world.url, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const signIn = async () => {
    const reply = await post('/console/session', { token: (await createLink(context)).token })
    return (reply.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  }
  const session = await signIn()
  const call = (method: string, path: string, body?: object, cookie = session): SentRequest => ({
    url: new URL(path, world.url),
    method,
    headers: new Headers({ cookie, origin: world.url, 'content-type': 'application/json', accept: '*/*' }),
    body: body && Buffer.from(JSON.stringify(body)),
  })
  const quote = await createDemoQuote(client)
  const taker = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  const trade = { quoteId: quote.id, address: taker.address, signature: await client.fx.signQuote(quote, taker) }
  const { id: tradeId } = await client.fx.createTrade(trade)
  const report = { status: 'settled', settlementTransactionHash: `0x${'ab'.repeat(32)}` }
  const { address } = world.samples
  const { tx } = await findFunding(context)
  const newKeyId = async () => (await world.keyFor('free')).split(':')[1] ?? ''
  const download = async () => {
    const { result } = await client.explorer.labelListV2({ chainid: '1', format: 'csv' } as never)
    return call('GET', String(result))
  }
  const trail = { name: 'explorer_trail', arguments: { address } }
  return {
    'GET /exports/{chain}/labelmasterlist_latest.{format}': download,
    'POST /mcp': async () => ({
      ...call('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: trail }),
      headers: new Headers({
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${world.key}`,
      }),
    }),
    'GET /console/session': async () => call('GET', '/console/session'),
    'POST /console/session': async () => call('POST', '/console/session', { token: (await createLink(context)).token }),
    'DELETE /console/session': async () => call('DELETE', '/console/session', undefined, await signIn()),
    'POST /console/key': async () => call('POST', '/console/key', {}, await signIn()),
    'GET /console/keys': async () => call('GET', '/console/keys'),
    'POST /console/keys': async () => call('POST', '/console/keys', { name: 'new', plan: 'free', groups: ['fx'] }),
    'POST /console/keys/{id}': async () => call('POST', `/console/keys/${await newKeyId()}`, { name: 'other' }),
    'DELETE /console/keys/{id}': async () => call('DELETE', `/console/keys/${await newKeyId()}`),
    'POST /console/keys/{id}/secret': async () => call('POST', `/console/keys/${await newKeyId()}/secret`, {}),
    'GET /console/keys/{id}/usage': async () => call('GET', `/console/keys/${await newKeyId()}/usage`),
    'GET /console/plans': async () => call('GET', '/console/plans'),
    'GET /console/history': async () => call('GET', '/console/history'),
    'GET /console/quotes': async () => call('GET', '/console/quotes'),
    'GET /console/quotes/{id}': async () => call('GET', `/console/quotes/${quote.id}`),
    'GET /console/fx/overrides': async () => call('GET', '/console/fx/overrides'),
    'POST /console/fx/overrides': async () => call('POST', '/console/fx/overrides', { pair: 'all', spreadBps: '5' }),
    'GET /console/fx/trades': async () => call('GET', '/console/fx/trades'),
    'GET /console/fx/trades/{id}': async () => call('GET', `/console/fx/trades/${tradeId}`),
    'POST /console/fx/trades/{id}': async () => call('POST', `/console/fx/trades/${tradeId}`, report),
    'GET /console/alerts': async () => call('GET', '/console/alerts'),
    // Its request to the webhook ends too: server/admin/alerts.test.ts.
    'POST /console/alerts/{webhook}/test': async () => call('POST', '/console/alerts/ops/test', {}),
    'GET /console/explorer/entities/{slug}': async () =>
      call('GET', `/console/explorer/entities/${await findEntity(context)}`),
    'GET /console/explorer/labels/{chain}': async () => call('GET', '/console/explorer/labels/1'),
    'GET /console/explorer/transactions/{hash}': async () => call('GET', `/console/explorer/transactions/${tx}`),
    'GET /console/validators/{network}/{validator}/entity': async () =>
      call('GET', '/console/validators/mainnet/80/entity'),
    ...Object.fromEntries(sharedPaths.map((path) => [`GET ${path}`, async () => call('GET', path)])),
  }
}

const findFunding = async ({ ingest }: AppContext) =>
  (await ingest.get<{ tx: string }>("select '0x' || lower(hex(tx)) as tx from fundings limit 1")) ?? { tx: '' }

const findEntity = async ({ ingest }: AppContext) =>
  (await ingest.get<{ slug: string }>("select slug from labels where chain = '1' order by slug limit 1"))?.slug

test('every path outside the contract serves files, or has a call here', async () => {
  const { routes } = await open()
  const { routes: ofContract } = await openCounted(world.server.context, authorizer)
  const extras = routes
    .slice(ofContract.length)
    .flatMap(({ path, methods }) => methods.filter((method) => method !== 'HEAD').map((method) => [method, path]))
  const others = extras.filter(([method, path]) => method !== 'GET' || !filePaths.test(path as string))
  assert.deepEqual(others.map((words) => words.join(' ')).sort(), Object.keys(calls).sort())
  for (const [, path] of extras.filter((extra) => !others.includes(extra))) {
    const url = new URL(String(path).replaceAll(/\{\w+\}/g, 'none'), world.url)
    const sent = { url, method: 'GET', headers: new Headers(), body: undefined }
    assert.equal((await send(await open(), sent, 0, 'the caller leaves')).total, 0, String(path))
  }
})

/** The library renders what a message has come to. */
const hasOwnErrors = () => true

test('the work of a request outside the contract ends with its caller', async (t) => {
  for (const [name, nextRequest] of Object.entries(calls))
    if (!sharedPaths.some((path) => name === `GET ${path}`))
      await t.test(name, () => checkWorkEnds(open, nextRequest, name === 'POST /mcp' ? hasOwnErrors : undefined))
})

describe('what is shared by all callers is done once, however many leave', () => {
  for (const path of sharedPaths)
    test(path, async () => {
      const nextRequest = calls[`GET ${path}`] as () => Promise<SentRequest>
      const once = await send(await open(), await nextRequest(), 0, 'the caller leaves')
      assert.equal(once.response.status, 200, String(once.response.body))
      const server = await open()
      const leaving = await Promise.all(
        [1, 2, 3].map(async () => send(server, await nextRequest(), 1, 'the caller leaves')),
      )
      assert.ok(leaving.every(({ total }) => total <= once.total + sessionUnits * leaving.length))
    })
})

/** The session of the operator is found for each request. */
const sessionUnits = 1
