// Sends requests whose units of work are counted, and ends them at a certain unit.
import assert from 'node:assert/strict'
import { subscribe } from 'node:diagnostics_channel'
import type { ClientRequest } from 'node:http'
import type { Authorizer } from '#http/authorize.ts'
import { type ApiRequest, type App, createApp } from '#http/pipeline.ts'
import { readQuery } from '#http/query.ts'
import type { ApiResponse } from '#http/render.ts'
import { createRoutes, type ExtraRoute, type HttpRoute } from '#http/routes.ts'
import { type Clock, nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { type AppContext, createContext } from '#server/context.ts'
import { endpoints } from '#server/endpoints.ts'
import { extensions } from '#server/extensions.ts'
import { UnitCounter } from './count-units.ts'

export interface SentRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: Uint8Array | undefined
}

type Ending = 'the caller leaves' | 'the time limit is reached'

/** Paths outside the contract. */
export type OpenExtras = (context: AppContext, app: App) => Promise<readonly ExtraRoute[]>

export type CountedServer = Awaited<ReturnType<typeof openCounted>>

/** Where requests to these nodes are counted: by the server that was opened last. */
let countedNodes: { readonly hosts: readonly string[]; readonly units: UnitCounter } | undefined

subscribe('http.client.request.start', (message) => {
  const host = String((message as { request: ClientRequest }).request.getHeader('host'))
  if (countedNodes?.hosts.includes(host)) countedNodes.units.begin()
})

export interface CountedOptions {
  readonly openExtras?: OpenExtras
  /** URLs of nodes. Only servers that are opened here may use them. */
  readonly nodes?: readonly string[]
}

/** A server of its own on the databases of the demo, with empty caches. */
export async function openCounted(
  shared: AppContext,
  authorizer: Authorizer,
  { openExtras = async () => [], nodes = [] }: CountedOptions = {},
) {
  const units = new UnitCounter()
  countedNodes = { hosts: nodes.map((url) => new URL(url).host), units }
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
    ...{ units, context },
    routes: createRoutes(app, await openExtras(context, app)),
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
export async function send(server: CountedServer, sent: SentRequest, endAt: number, ending: Ending) {
  const { units, routes, reachTimeLimit } = server
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

/** `nextRequest` returns the same call each time. Returns the whole response. */
export async function checkWorkEnds(
  open: () => Promise<CountedServer>,
  nextRequest: () => Promise<SentRequest>,
  isRefused = ({ headers }: ApiResponse) => headers['x-tetrad-fault'] === 'server.timeout',
): Promise<void> {
  const whole = await send(await open(), await nextRequest(), 0, 'the caller leaves')
  assert.equal(whole.response.status, 200, String(whole.response.body))
  assert.equal(whole.afterResponse, 0, 'work goes on after the response')
  for (const ending of ['the caller leaves', 'the time limit is reached'] as const)
    for (const endAt of unitsToEndAt(whole.total)) {
      const sent = await nextRequest()
      const { response, endedAt = whole.total, afterEnd, afterResponse } = await send(await open(), sent, endAt, ending)
      const when = `${ending} in unit ${endedAt} of ${whole.total}`
      assert.ok(afterEnd <= 1, `${afterEnd} more units began: ${when}`)
      assert.equal(afterResponse, 0, `${afterResponse} units began after the response: ${when}`)
      if (endedAt < whole.total && !response.chunks) assert.ok(isRefused(response), when)
    }
}
