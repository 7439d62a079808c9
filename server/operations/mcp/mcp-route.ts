// The path /mcp: the Model Context Protocol over streamable HTTP.
//
// 1. Tools go through the same pipeline as any other request, so keys, plans, limits, deadlines, logs and metrics are the
//    same. The caller's key and address are passed on.
// 2. There are no sessions: a POST is answered completely by one response. Nothing is kept between requests.
// 3. Messages that call no tool need no key. They and messages without a key are limited by the caller's network address.
// 4. A page of another origin is refused, as the protocol requires against DNS rebinding.
import { createClient } from '#api/client.ts'
import type { Endpoint } from '#api/kit.ts'
import { Fault } from '#core/fault.ts'
import type { ApiRequest, App } from '#http/pipeline.ts'
import { readQuery } from '#http/query.ts'
import type { ApiResponse } from '#http/render.ts'
import { createRoutes, type ExtraRoute, type HttpRoute } from '#http/routes.ts'

const mcpPath = '/mcp'

export function mcpRoute(app: App, version: string): ExtraRoute {
  const { context } = app
  // As in the router, a fixed path wins over a path with a parameter.
  const routes = createRoutes(app, []).toSorted((a, b) => countParameters(a) - countParameters(b))
  return {
    path: mcpPath,
    sameOrigin: true,
    isUnlimited: true,
    change: {
      POST: async (request) => {
        if (request.headers.origin !== undefined && request.headers.origin !== request.origin)
          throw new Fault('console.origin')
        const countMessage = () => app.openPathLimit(mcpPath, request.address)
        const key = keyOf(request)
        if (key === undefined) countMessage()
        const message = readMessage(request)
        if (key !== undefined && !isToolCall(message)) countMessage()
        // Imported with the first message, because the library takes time and memory.
        const { answerMessage } = await import('./answer-message.ts')
        return answerMessage(message, request, {
          version,
          client: createClient({
            baseUrl: 'http://mcp.invalid',
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
  return message
}

const isToolCall = (message: object): boolean => 'method' in message && message.method === 'tools/call'

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
