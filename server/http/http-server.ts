// The HTTP server. The framework routes requests, reads bodies up to a limit and enforces timeouts; the pipeline does
// the rest. Responses are written directly to the socket, because the pipeline has created all headers and bytes.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Fault } from '#core/fault.ts'
import { CallerGone } from './deadline.ts'
import { type App, toFault } from './pipeline.ts'
import { headerBytes, openRequestIds, pathOfUrl, type RequestIds, readRequest, warnHourly } from './read-request.ts'
import type { ApiResponse } from './render.ts'
import {
  commonHeaders,
  createRoutes,
  type ExtraRoute,
  type HttpRoute,
  noRouteFault,
  preflight,
  refusal,
  urlFault,
} from './routes.ts'
import { writeStream } from './stream.ts'

export interface HttpServer {
  readonly url: string
  /** From now on, every response closes its connection, so that none is open when the server closes (behaviour/operations.md#stopping). */
  drain(): void
  /** Accepts no new requests. Those in flight may finish within `server.stopTimeoutMs`. */
  close(): Promise<void>
  /** A request without a socket, for tests. */
  readonly inject: FastifyInstance['inject']
}

/** Paths of request lines that are too long are cut to this length. */
const keptPathChars = 256
const slowCheckMs = 1000
/** Connections without traffic for this time are closed. */
const idleTimeoutMs = 120_000
const idleSweepMs = 50

export async function startHttpServer(app: App, extraRoutes: readonly ExtraRoute[]): Promise<HttpServer> {
  const { server: settings } = app.context.settings
  const ids = openRequestIds(app.context.random)
  const routes = createRoutes(app, extraRoutes)
  const common = commonHeaders(app.context.settings)
  const tooLong: LongUrlRequests = new WeakSet()
  const fastify = Fastify({
    bodyLimit: settings.bodyBytesMax,
    requestTimeout: settings.requestTimeoutMs,
    connectionTimeout: idleTimeoutMs,
    trustProxy: settings.proxyHops > 0 && ((_address, hop) => hop < settings.proxyHops),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: {
      // The limit for all paths. Those of each path are checked before routing.
      maxHeaderSize: Math.max(...routes.map((route) => route.urlBytesMax)) + 2 * settings.headerBytesMax,
      headersTimeout: settings.headersTimeoutMs,
      connectionsCheckingInterval: slowCheckMs,
      requireHostHeader: false,
    },
    // The query is parsed when the limits of the path are known (query.ts).
    routerOptions: { maxParamLength: settings.urlBytesMax, querystringParser: asText },
    genReqId: (raw) => ids.of(raw),
    rewriteUrl: (raw) => translate(app, routes, raw, tooLong),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, ids),
    frameworkErrors: (error, request, reply) =>
      refuse(
        app,
        common,
        request as FastifyRequest,
        reply as FastifyReply,
        tooLong.has(request.raw) ? new Fault('input.url_too_long') : urlFault(app, error, pathOfUrl(request.raw)),
      ),
  })
  // The pipeline parses bodies after it has checked the key.
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  for (const route of routes) mount(fastify, app, route, commonHeaders(app.context.settings, route), tooLong)
  fastify.setNotFoundHandler((request, reply) => {
    const path = pathOfUrl(request.raw)
    const route =
      request.method === 'OPTIONS' && settings.cors ? routes.find(({ pattern }) => pattern.test(path)) : undefined
    if (route && !route.sameOrigin)
      return sendResponse(reply, request.id, common, preflight(app.context.settings, route))
    refuse(
      app,
      common,
      request,
      reply,
      tooLong.has(request.raw) ? new Fault('input.url_too_long') : noRouteFault(app, routes, path),
    )
  })
  fastify.setErrorHandler((error, request, reply) =>
    refuse(
      app,
      common,
      request,
      reply,
      // An unknown path is reported as such, even if the body is invalid.
      request.is404 ? noRouteFault(app, routes, pathOfUrl(request.raw)) : bodyFault(app, error, request),
    ),
  )
  // Node would answer an `expect` header with a 417 without our headers. It may be ignored (RFC 9110, 10.1.1).
  fastify.server.on('checkExpectation', (request, response) => fastify.server.emit('request', request, response))
  fastify.server.maxConnections = settings.connectionsMax
  fastify.server.on('drop', () => warnHourly(app, 'connections refused: server.connectionsMax is reached'))
  await fastify.listen({ host: settings.host, port: settings.port })
  return {
    url: urlOf(fastify, settings.host),
    inject: fastify.inject.bind(fastify),
    drain: () =>
      void fastify.server.prependListener('request', (_request, response) => {
        response.shouldKeepAlive = false
      }),
    close: () => close(fastify, settings.stopTimeoutMs, app),
  }
}

function mount(
  fastify: FastifyInstance,
  app: App,
  route: HttpRoute,
  common: Record<string, string>,
  tooLong: LongUrlRequests,
): void {
  const { headerBytesMax, proxyHops } = app.context.settings.server
  fastify.route({
    method: [...route.methods],
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    // Runs before the body is read.
    onRequest: (request, reply, done) => {
      const { raw } = request
      if (tooLong.has(raw)) return refuse(app, common, request, reply, new Fault('input.url_too_long'))
      if (headerBytes(raw) > headerBytesMax) {
        return refuse(app, common, request, reply, new Fault('input.headers_too_large'))
      }
      if (proxyHops === 0 && raw.headers['x-forwarded-for'] !== undefined) warnHourly(app, unknownProxy)
      done()
    },
    handler: async (request, reply) => {
      const onCallerGone = (leave: () => void) => void reply.raw.once('close', leave)
      const apiRequest = readOrFault(app, () => readRequest(app, route, request, onCallerGone), request)
      if (apiRequest instanceof Fault) return refuse(app, common, request, reply, apiRequest)
      const apiResponse = await route.handle(apiRequest, request.method)
      if (apiResponse.chunks && request.method !== 'HEAD')
        sendStream(app, reply, { ...common, 'x-request-id': request.id }, apiResponse)
      else if (apiResponse.bodyParts && request.method !== 'HEAD')
        sendParts(reply, { ...common, 'x-request-id': request.id }, apiResponse, apiResponse.bodyParts)
      else sendResponse(reply, request.id, common, apiResponse)
    },
  })
}

/** Requests whose request line is longer than their path allows. */
type LongUrlRequests = WeakSet<IncomingMessage>

const asText = (query: string) => query as unknown as Record<string, unknown>

const unknownProxy =
  'request with x-forwarded-for, but server.proxyHops is 0: all callers behind the proxy count as one address. If the proxy is yours, set server.proxyHops'

function readOrFault<T>(app: App, read: () => T, { id, raw }: FastifyRequest): T | Fault {
  try {
    return read()
  } catch (error) {
    return toFault(app, error, { requestId: id, path: pathOfUrl(raw) })
  }
}

/** Runs before routing, so that too long request lines are neither routed nor logged in full. */
function translate(app: App, routes: readonly HttpRoute[], raw: IncomingMessage, tooLong: LongUrlRequests): string {
  app.aliases.requestHeaders(raw.headers)
  const { url = '/' } = raw
  const { urlBytesMax } = app.context.settings.server
  if (url.length <= urlBytesMax) return app.aliases.path(url)
  const path = app.aliases.path(pathOfUrl(raw).slice(0, urlBytesMax))
  if (routes.some((route) => url.length <= route.urlBytesMax && route.pattern.test(path))) return app.aliases.path(url)
  tooLong.add(raw)
  return path.slice(0, keptPathChars)
}

function sendResponse(
  reply: FastifyReply,
  requestId: string,
  common: Record<string, string>,
  response: ApiResponse,
): void {
  reply.hijack()
  const { raw } = reply
  const { body } = response
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
  raw.writeHead(response.status, {
    'cache-control': 'no-store',
    ...common,
    'x-request-id': requestId,
    ...(response.status !== 304 && response.status !== 204 && { 'content-length': length }),
    ...response.headers,
  })
  raw.end(body)
}

/** Sends a long body in parts. It stops if the caller leaves or reads too slowly. */
function sendParts(
  reply: FastifyReply,
  headers: Record<string, string>,
  response: ApiResponse,
  parts: Iterable<Uint8Array>,
): void {
  reply.hijack()
  reply.raw.writeHead(response.status, { 'cache-control': 'no-store', ...headers, ...response.headers })
  pipeline(Readable.from(parts), reply.raw).catch(() => reply.raw.destroy())
}

/** Sends an endless response until the caller leaves, reads too slowly, or the server stops. */
function sendStream(app: App, reply: FastifyReply, headers: Record<string, string>, response: ApiResponse): void {
  reply.hijack()
  reply.raw.writeHead(response.status, { 'cache-control': 'no-store', ...headers, ...response.headers })
  const { context, stopping } = app
  writeStream(reply.raw, response.chunks ?? async function* () {}, context.clock, stopping.signal).catch((error) =>
    toFault(app, error, { requestId: reply.request.id, path: pathOfUrl(reply.request.raw) }),
  )
}

function refuse(
  app: App,
  common: Record<string, string>,
  request: Pick<FastifyRequest, 'id' | 'raw'>,
  reply: FastifyReply,
  fault: Fault,
): void {
  sendResponse(reply, request.id, common, refusal(app, { requestId: request.id, path: pathOfUrl(request.raw) }, fault))
}

/** Translates errors of the framework about the body. */
function bodyFault(app: App, error: unknown, request: FastifyRequest): Fault {
  const code = (error as { code?: string }).code ?? ''
  if (request.raw.destroyed && !request.raw.complete) return new CallerGone()
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Fault('body.too_large')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new Fault('body.type')
  if (code.startsWith('FST_ERR_CTP')) return new Fault('body.invalid_json', { detail: code })
  return toFault(app, error, { requestId: request.id, path: pathOfUrl(request.raw) })
}

/** For invalid HTTP, too large heads and too slow callers. */
function refuseConnection(error: Error & { code?: string }, socket: Socket, ids: RequestIds): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const [status, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request headers are too large.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request took too long to arrive.']
        : ['400 Bad Request', 'This is not a valid HTTP request.']
  const body = JSON.stringify({ error: { code: 'request.malformed', message } })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nx-request-id: ${ids.next()}\r\nconnection: close\r\n\r\n${body}`,
  )
}

function urlOf(fastify: FastifyInstance, host: string): string {
  const address = fastify.server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function close(fastify: FastifyInstance, stopTimeoutMs: number, app: App): Promise<void> {
  const cut = new AbortController()
  const late = app.context.clock.sleep(stopTimeoutMs, cut.signal).then(() => {
    if (!cut.signal.aborted) fastify.server.closeAllConnections()
  })
  app.stopping.abort()
  // Clients keep connections alive that were busy when closing started. Close them once they are idle.
  const sweep = app.context.clock.every(idleSweepMs, () => fastify.server.closeIdleConnections())
  await fastify.close()
  sweep()
  cut.abort()
  await late
  app.deadlines.close()
}
