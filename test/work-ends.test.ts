// The work of a request ends with its caller: after the caller has left, and after the time limit, at most one more unit of
// work begins, and none once the response is settled (behaviour/http.md#when-a-request-ends). For every endpoint: one without a
// call in endpoint-calls.ts does not compile.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Client, createClient } from '#api/client/client.ts'
import { allEndpoints } from '#api/contract/extensions.ts'
import type { AnyId } from '#api/contract/routes.ts'
import type { Authorizer } from '#http/authorize.ts'
import type { Caller } from '#http/handler.ts'
import { type ApiRequest, createApp } from '#http/pipeline.ts'
import { readQuery } from '#http/query.ts'
import type { ApiResponse } from '#http/render.ts'
import { createRoutes, type HttpRoute } from '#http/routes.ts'
import { type Clock, nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { createContext } from '#server/context.ts'
import { endpoints } from '#server/endpoints.ts'
import { extensions } from '#server/extensions.ts'
import { UnitCounter } from './count-units.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { createCalls, withPushSource } from './endpoint-calls.ts'

interface SentRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: Uint8Array | undefined
}

type Ending = 'the caller leaves' | 'the time limit is reached'

let world: DemoServer
let lastRequest: SentRequest
let calls: ReturnType<typeof createCalls>
/** The quotes of the calls are theirs. */
let caller: Caller

before(async () => {
  world = await openDemoServer(withPushSource)
  const fetchAndKeep: typeof fetch = (url, init = {}) => {
    const { method = 'GET', headers, body } = init
    lastRequest = {
      url: new URL(String(url)),
      method,
      headers: new Headers(headers),
      body: body == null ? undefined : Buffer.from(String(body)),
    }
    return fetch(url, init)
  }
  const key = await world.keyFor('enterprise', { admin: true })
  caller = { keyId: key.split(':')[1] ?? '', plan: 'enterprise' }
  const client: Client = createClient({ baseUrl: world.url, key, fetch: fetchAndKeep })
  calls = createCalls(client, world)
})
after(() => world[Symbol.asyncDispose]())

const authorizer = { authorize: () => caller, close: async () => {} } as unknown as Authorizer

/** A server of its own on the databases of the demo, with empty caches. */
function openCounted() {
  const { context: shared } = world.server
  const units = new UnitCounter()
  let lateByMs = 0
  const sweeps: (() => void)[] = []
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + lateByMs,
    every(_, work) {
      sweeps.push(work)
      return () => {}
    },
  }
  const { random, log, settings } = shared
  const state = units.state(shared.state)
  const ingest = shared.ingest === shared.state ? state : units.state(shared.ingest)
  const context = createContext({ state, ingest, duties: units.duties(shared.duties), random, log, settings, clock })
  const app = units.serializers(createApp(context, [...endpoints, ...extensions], authorizer, { request() {} }))
  return {
    units,
    routes: createRoutes(app, []),
    reachTimeLimit() {
      lateByMs += settings.server.responseTimeoutMs + 1
      for (const sweep of sweeps) sweep()
    },
  }
}

function toApiRequest({ url, headers, body }: SentRequest, route: HttpRoute, onLeave: (leave: () => void) => void) {
  const params = Object.entries(route.pattern.exec(url.pathname)?.groups ?? {})
  const request: ApiRequest = {
    requestId: 'test',
    address: '127.0.0.1',
    origin: url.origin,
    hostname: url.hostname,
    path: url.pathname,
    params: Object.fromEntries(params.map(([name, value]) => [name, decodeURIComponent(value)])),
    query: readQuery([url.search.slice(1)], route.query),
    headers: Object.fromEntries(headers),
    contentType: headers.get('content-type') ?? '',
    body,
    onCallerGone: onLeave,
  }
  return request
}

/** Sends the request. It ends when unit `endAt` begins, or the first one after its time limit has begun; 0: never. */
async function send(sent: SentRequest, endAt: number, ending: Ending) {
  const { units, routes, reachTimeLimit } = openCounted()
  const matching = routes.filter(
    ({ pattern, methods }) => pattern.test(sent.url.pathname) && methods.includes(sent.method),
  )
  const route = matching.toSorted((a, b) => a.path.split('{').length - b.path.split('{').length)[0] as HttpRoute
  let isTimed = false
  let endedAt: number | undefined
  const leavers: (() => void)[] = []
  const streamStop = new AbortController()
  units.onUnit = (count) => {
    if (endAt === 0 || count < endAt || endedAt !== undefined) return
    if (ending === 'the time limit is reached' && !isTimed) return
    endedAt = count
    streamStop.abort()
    if (ending === 'the time limit is reached') return reachTimeLimit()
    for (const leave of leavers) leave()
  }
  const request = toApiRequest(sent, route, (leave) => (endedAt === undefined ? leavers.push(leave) : leave()))
  const responding = route.handle(request, sent.method)
  isTimed = true
  const response = await responding
  if (response.chunks) await readStream(response.chunks, streamStop)
  const total = units.count
  for (let turn = 0; turn < turnsAfter; turn++) await nextEventLoopTurn()
  return { response, total, endedAt, afterEnd: total - (endedAt ?? total), afterResponse: units.count - total }
}

async function readStream(chunks: NonNullable<ApiResponse['chunks']>, stop: AbortController): Promise<void> {
  try {
    for await (const chunk of chunks(stop.signal)) if (chunk.includes('event: change')) stop.abort()
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
}

/** What was not stopped would go on within so many turns of the event loop. */
const turnsAfter = 20
/** At which units a request is ended: the first ones, the last ones and some in between. */
function unitsToEndAt(total: number): readonly number[] {
  const parts = [1, 2, 3, Math.ceil(total / 4), Math.ceil(total / 2), total - 1, total]
  return [...new Set(parts)].filter((unit) => unit >= 1 && unit <= total)
}

describe('the work of a request ends with its caller', () => {
  for (const id of Object.keys(allEndpoints) as AnyId[])
    test(id, async () => {
      await calls[id]()
      const sent = lastRequest
      const whole = await send(sent, 0, 'the caller leaves')
      assert.equal(whole.response.status, 200, String(whole.response.body))
      assert.equal(whole.afterResponse, 0, 'work goes on after the response')
      for (const ending of ['the caller leaves', 'the time limit is reached'] as const)
        for (const endAt of unitsToEndAt(whole.total)) {
          const { response, endedAt = whole.total, afterEnd, afterResponse } = await send(sent, endAt, ending)
          const when = `${ending} in unit ${endedAt} of ${whole.total}`
          assert.ok(afterEnd <= 1, `${afterEnd} more units began: ${when}`)
          assert.equal(afterResponse, 0, `${afterResponse} units began after the response: ${when}`)
          if (endedAt < whole.total && !response.chunks)
            assert.equal(response.headers['x-tetrad-fault'], 'server.timeout', when)
        }
    })
})
