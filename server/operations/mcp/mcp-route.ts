// The path /mcp: the Model Context Protocol over streamable HTTP.
//
// 1. Tools go through the same pipeline as any other request, so keys, plans, limits, deadlines, logs and metrics are the
//    same. The caller's key and address are passed on.
// 2. There are no sessions: a POST is answered completely by one response. Nothing is kept between requests.
// 3. Messages that call no tool need no key. All messages are limited: by key, or by network address without a valid key,
//    because a call with wrong inputs does not reach the pipeline.
// 4. The library, which takes half a second to load, is loaded and used once at the start. Otherwise the first message
//    would stop all other requests for that time.
// 5. A page of another origin is refused, as the protocol requires against DNS rebinding.
import { createClient } from '#api/client/client.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import { Fault } from '#core/fault.ts'
import { networkOf } from '#http/caller-network.ts'
import { createKeyFinder } from '#http/key-cache.ts'
import type { ApiRequest, App } from '#http/pipeline.ts'
import { readQuery } from '#http/query.ts'
import type { ApiResponse } from '#http/render.ts'
import { createRoutes, type ExtraRoute, type HttpRoute } from '#http/routes.ts'
import type { KeyRecord } from '#storage/keys.ts'

const mcpPath = '/mcp'
const baseUrl = 'http://mcp.invalid'
/**
 * More than any endpoint needs. The library takes long to report each unknown input, and for deeply nested values and
 * lists of objects. No input of an endpoint contains lists or objects.
 */
const membersMax = 64
const depthMax = 32
const containersMax = 128
const firstMessage = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const messageHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

export async function openMcpRoute(app: App, version: string): Promise<ExtraRoute> {
  const { context } = app
  const { answerMessage } = await import('./answer-message.ts')
  await answerMessage(firstMessage, { headers: messageHeaders }, { version, client: createClient({ baseUrl }) })
  const findKey = createKeyFinder(context)
  // As in the router, a fixed path wins over a path with a parameter.
  const routes = createRoutes(app, []).toSorted((a, b) => countParameters(a) - countParameters(b))
  return {
    path: mcpPath,
    sameOrigin: true,
    isUnlimited: true,
    endsCalls: true,
    change: {
      POST: async (request) => {
        if (request.headers.origin !== undefined && request.headers.origin !== request.origin)
          throw new Fault('console.origin')
        const key = keyOf(request)
        countMessage(app, request, key === undefined ? undefined : await findKey(key))
        return answerMessage(readMessage(request), request, {
          version,
          client: createClient({
            baseUrl,
            key,
            fetch: callInProcess(routes, request),
            retries: 0,
            // The pipeline has its own time limit.
            timeoutMs: 2 * context.settings.server.responseTimeoutMs,
          }),
          isOffered: ({ group }: Endpoint) => {
            const { enabled, host } = context.settings.groups[group]
            return enabled && (host === '' || host.toLowerCase() === request.hostname.toLowerCase())
          },
        })
      },
    },
  }
}

/** A key may send as many messages as its plan allows calls, and at least as many as a caller without a key. */
function countMessage({ context, limitKeylessPath }: App, { address }: ApiRequest, key: KeyRecord | undefined): void {
  const { anonymousPerSecond } = context.settings.server
  const perSecond = key ? context.settings.plans[key.plan].perSecond : anonymousPerSecond
  const isUnlimited = perSecond === 0 || anonymousPerSecond === 0
  const caller = key ? `key ${key.id}` : networkOf(address)
  limitKeylessPath(mcpPath, caller, isUnlimited ? 0 : Math.max(perSecond, anonymousPerSecond))
}

function readMessage({ contentType, body }: ApiRequest): object {
  if (!/^application\/json\s*(;|$)/i.test(contentType)) throw new Fault('body.type')
  let message: unknown
  try {
    message = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw new Fault('body.invalid_json', { cause })
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    throw new Fault('input.invalid', { message: 'The body must be one JSON-RPC message. Batches are not supported.' })
  if (isTooComplex(message))
    throw new Fault('input.invalid', {
      message: `The message has more than ${containersMax} objects and lists, an object has more than ${membersMax} members, or values are nested deeper than ${depthMax} levels.`,
    })
  return message
}

function isTooComplex(message: object): boolean {
  let level: readonly object[] = [message]
  let containers = 0
  for (let depth = 0; level.length > 0; depth++) {
    containers += level.length
    if (containers > containersMax || depth > depthMax) return true
    if (level.some((value) => !Array.isArray(value) && Object.keys(value).length > membersMax)) return true
    level = level.flatMap((value) => Object.values(value).filter((member) => typeof member === 'object' && member))
  }
  return false
}

const keyOf = ({ headers }: ApiRequest): string | undefined =>
  /^bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1]

const countParameters = ({ path }: HttpRoute): number => path.split('{').length

/** A `fetch` for the client that hands the request to the pipeline, on behalf of the caller of /mcp. */
function callInProcess(routes: readonly HttpRoute[], outer: ApiRequest): typeof fetch {
  return async (url, { headers, signal } = {}) => {
    const { pathname, search } = new URL(String(url))
    const route = routes.find(({ pattern }) => pattern.test(pathname))
    if (!route) throw new Error(`no route for ${pathname}`)
    const params = Object.entries(route.pattern.exec(pathname)?.groups ?? {})
    const response = await route.handle(
      {
        requestId: outer.requestId,
        address: outer.address,
        // Computing it may log a warning, so only for handlers that use it.
        get origin() {
          return outer.origin
        },
        hostname: outer.hostname,
        path: pathname,
        params: Object.fromEntries(params.map(([name, value]) => [name, decodeURIComponent(value)])),
        query: readQuery([search.slice(1)], route.query),
        headers: headers as Record<string, string>,
        contentType: '',
        body: undefined,
        onCallerGone: (leave) => {
          outer.onCallerGone?.(leave)
          if (signal?.aborted) leave()
          else signal?.addEventListener('abort', leave, { once: true })
        },
      },
      'GET',
    )
    return toFetchResponse(response)
  }
}

const toFetchResponse = ({ status, headers, body }: ApiResponse): Response =>
  new Response(typeof body === 'string' ? body : new Uint8Array(body), { status, headers })
