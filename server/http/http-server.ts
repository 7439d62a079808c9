// The HTTP server: node:http with a router. It enforces sizes and timeouts, reads the request and writes the response
// that the pipeline has created (decisions/use-node-http-with-a-router.md).
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import createRouter, { type HTTPMethod } from 'find-my-way'
import { whenReady } from '#core/awaitable.ts'
import { Fault } from '#core/fault.ts'
import { createServer } from '#runtime/node-http.ts'
import { readBody } from './body.ts'
import { createCloser } from './close-server.ts'
import { Connections } from './connections.ts'
import type { CommonHeaders } from './header-list.ts'
import { type ApiRequest, type App, toFault } from './pipeline.ts'
import {
  addressOf,
  headerBytes,
  openRequestIds,
  pathOfUrl,
  type RequestIds,
  type RoutedRequest,
  readRequest,
  warnHourly,
} from './read-request.ts'
import type { ApiResponse } from './render.ts'
import {
  badUrlFault,
  commonHeaders,
  createRoutes,
  type ExtraRoute,
  findPathMethods,
  type HttpRoute,
  isMistypedAddress,
  type NotFoundPage,
  noRouteFault,
  preflight,
  refusal,
} from './routes.ts'
import { type Exchange, send, sendResponse } from './send-response.ts'
import type { ResponseWriter } from './write-response.ts'

/** Paths of request lines that are too long are cut to this length. */
const keptPathChars = 256
const slowCheckMs = 1000
/** Connections without traffic for this time are closed, also in the middle of a request. */
const idleTimeoutMs = 120_000
const keepAliveTimeoutMs = 72_000
/** So short that not much more than the limit arrives meanwhile. */
const unfinishedCheckMs = 100

export type HttpServer = Awaited<ReturnType<typeof startHttpServer>>

export async function startHttpServer(app: App, extraRoutes: readonly ExtraRoute[], notFoundPage?: NotFoundPage) {
  const { server: settings } = app.context.settings
  const ids = openRequestIds(app.context.random)
  const routes = createRoutes(app, extraRoutes)
  const connections = new Connections(settings.unsentBytesMax, () => warnHourly(app, unreadResponses))
  const listener = createListener(app, routes, { ids, connections, notFoundPage })
  const server = createServer(
    {
      // The limit for all paths. Those of each path are checked before routing.
      maxHeaderSize: Math.max(...routes.map((route) => route.urlBytesMax)) + 2 * settings.headerBytesMax,
      requestTimeout: settings.requestTimeoutMs,
      // Node refuses more than the time for the whole request.
      headersTimeout: Math.min(settings.headersTimeoutMs, settings.requestTimeoutMs),
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: slowCheckMs,
      requireHostHeader: false,
    },
    (raw, response) => connections.handleInTurn(listener, raw, response),
  )
  server.timeout = idleTimeoutMs
  server.on('clientError', (error, socket) => refuseConnection(connections, error, socket as Socket, ids))
  // Node would answer an `expect` header with a 417 without our headers. It may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connection', (socket) => connections.open(socket))
  const stopChecking = app.context.clock.every(unfinishedCheckMs, () => {
    if (connections.closeUnfinished() > 0) warnHourly(app, unfinishedRequests)
  })
  server.on('close', stopChecking)
  server.maxConnections = settings.connectionsMax
  server.on('drop', () => warnHourly(app, 'connections refused: server.connectionsMax is reached'))
  const closeServer = createCloser(server, app)
  server.listen({ host: settings.host, port: settings.port })
  await once(server, 'listening')
  return {
    url: urlOf(server, settings.host),
    /** Handles one request; tests call it without a socket. */
    listener,
    /**
     * From now on, every response closes its connection, so that none is open when the server closes
     * (behaviour/operations.md#stopping).
     */
    drain: () =>
      void server.prependListener('request', (_request, response) => {
        response.shouldKeepAlive = false
      }),
    /** Accepts no new requests. Those in flight may finish within `server.stopTimeoutMs`. */
    close: () => closeServer(settings.stopTimeoutMs),
  }
}

/** A route with its headers, prepared once. */
interface MountedRoute {
  readonly route: HttpRoute
  readonly common: CommonHeaders
}

interface ListenerParts {
  readonly ids: RequestIds
  readonly connections: Connections
  readonly notFoundPage: NotFoundPage | undefined
}

function createListener(
  app: App,
  routes: readonly HttpRoute[],
  { ids, connections, notFoundPage }: ListenerParts,
): RequestListener {
  const { settings } = app.context
  const router = createRouter({
    maxParamLength: settings.server.urlBytesMax,
    // The query is parsed when the limits of the path are known (query.ts).
    querystringParser: (query) => query,
    onBadUrl: noop,
    onMaxParamLength: noop,
  })
  for (const route of routes) {
    const mounted: MountedRoute = { route, common: Object.entries(commonHeaders(settings, route)) }
    for (const method of route.methods)
      router.on(method as HTTPMethod, route.path.replaceAll(/\{(\w+)\}/g, ':$1'), noop, mounted)
  }
  const common = Object.entries(commonHeaders(settings))
  const writer: ResponseWriter = {
    clock: app.context.clock,
    keepUnsent: (response, bytes) => connections.keepUnsent(response, bytes),
  }
  return (raw, response) => {
    const method = raw.method as HTTPMethod
    const id = ids.of(raw)
    const isTooLong = translateUrl(app, routes, raw)
    const found = router.find(method, raw.url ?? '/')
    // A malformed URL is found without a route.
    const mounted = found?.store as MountedRoute | null | undefined
    const exchange: Exchange = { app, raw, response, id, common: mounted?.common ?? common, writer }
    if (isTooLong) return refuse(exchange, new Fault('input.url_too_long'))
    if (found && mounted) return handleRequest(exchange, mounted.route, found.params, found.searchParams)
    const path = pathOfUrl(raw)
    if (found) return refuse(exchange, badUrlFault(app, path))
    if (method === 'OPTIONS' && settings.server.cors) {
      const route = findPathMethods(routes, path)
      if (route && !route.sameOrigin) return send(exchange, preflight(settings, route))
    }
    const fault = noRouteFault(app, routes, path)
    const isMistyped = isMistypedAddress(app, fault, { method, path, accept: raw.headers.accept })
    if (!notFoundPage || !isMistyped) return refuse(exchange, fault)
    notFoundPage(raw.headers as ApiRequest['headers'])
      .then((page) => refuse(exchange, fault, page))
      .catch((error: unknown) => fail(exchange, error))
  }
}

const noop = () => {}

const unfinishedRequests =
  'connections closed: requests that arrive slowly take more than 64 MiB together; limit connections per address in a proxy or firewall'
const unreadResponses = 'connections closed: callers do not read their responses, and server.unsentBytesMax is reached'

function handleRequest(exchange: Exchange, route: HttpRoute, params: object, query: unknown): void {
  const { app, raw, response, id } = exchange
  const { headerBytesMax, proxyHops, bodyBytesMax } = app.context.settings.server
  const method = raw.method as string
  try {
    if (headerBytes(raw) > headerBytesMax) throw new Fault('input.headers_too_large')
    if (proxyHops === 0 && raw.headers['x-forwarded-for'] !== undefined) warnHourly(app, unknownProxy)
    const handle = (body: Uint8Array | undefined) => {
      const routed: RoutedRequest = {
        raw,
        id,
        params: params as Record<string, string>,
        query: query as string,
        body,
        onCallerGone: (leave) => {
          if (response.closed) leave()
          else response.once('close', leave)
        },
      }
      return route.handle(readRequest(app, route, routed), method)
    }
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const apiResponse = hasBody ? whenReady(readBody(raw, bodyBytesMax), handle) : handle(undefined)
    if (apiResponse instanceof Promise) {
      apiResponse.then((ready) => sendResponse(exchange, ready)).catch((error: unknown) => fail(exchange, error))
    } else sendResponse(exchange, apiResponse)
  } catch (error) {
    fail(exchange, error)
  }
}

function fail(exchange: Exchange, error: unknown): void {
  const { app, raw, response, id } = exchange
  const fault = toFault(app, error, { requestId: id, path: pathOfUrl(raw) })
  if (response.headersSent) response.destroy()
  else refuse(exchange, fault)
}

const unknownProxy =
  'request with x-forwarded-for, but server.proxyHops is 0: all callers behind the proxy count as one address. If the proxy is yours, set server.proxyHops'

/**
 * Applies the aliases. True if the request line is longer than its path allows; it is then cut, so that it is not logged
 * in full.
 */
function translateUrl(app: App, routes: readonly HttpRoute[], raw: IncomingMessage): boolean {
  app.aliases.addHeaders(raw.headers)
  const { url = '/' } = raw
  const { urlBytesMax } = app.context.settings.server
  const path = url.length <= urlBytesMax ? undefined : app.aliases.resolvePath(pathOfUrl(raw).slice(0, urlBytesMax))
  const isTooLong =
    path !== undefined && !routes.some((route) => url.length <= route.urlBytesMax && route.pattern.test(path))
  raw.url = isTooLong ? path.slice(0, keptPathChars) : app.aliases.resolvePath(url)
  return isTooLong
}

function refuse(exchange: Exchange, fault: Fault, page?: ApiResponse): void {
  const { app, raw, id } = exchange
  const address = addressOf(raw, app.context.settings.server.proxyHops)
  send(exchange, refusal(app, { requestId: id, path: pathOfUrl(raw), address }, fault, page))
}

/** Not in the table of faults, because no endpoint is involved. */
const malformedCode = 'request.malformed'

/** For invalid HTTP, too large heads and too slow callers. */
function refuseConnection(
  connections: Connections,
  error: Error & { code?: string },
  socket: Socket,
  ids: RequestIds,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const [status, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request headers are too large.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request took too long to arrive.']
        : ['400 Bad Request', 'This is not a valid HTTP request.']
  const body = JSON.stringify({ error: { code: malformedCode, message } })
  // Earlier requests of the connection are answered first.
  connections.endInTurn(socket, () =>
    socket.end(
      `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nx-request-id: ${ids.next()}\r\nx-tetrad-fault: ${malformedCode}\r\nconnection: close\r\n\r\n${body}`,
    ),
  )
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
