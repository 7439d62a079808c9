// The door to the network. The only file that names the HTTP framework: it routes, reads bodies within a limit and
// keeps time-outs; everything after that is the pipeline's. Replies are written straight to the socket, since the
// pipeline has already decided every header and byte.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Fault } from '#core/fault.ts'
import { arrivalOf, headerBytes, openRequestIds, pathOf, type RequestIds, warnHourly } from './arrival.ts'
import { CallerGone } from './deadline.ts'
import { type House, toFault } from './pipeline.ts'
import type { Departure } from './render.ts'
import { pourInto } from './stream.ts'
import { commonHeaders, type Extra, preflight, refusal, strayFault, urlFault, type Way, waysOf } from './ways.ts'

export interface Door {
  readonly url: string
  /** From here on every answer ends its connection, so that its caller is on none when the door closes (decision 0169). */
  leave(): void
  /** No new requests; those in flight finish within the configured time. */
  close(): Promise<void>
  /** A request without a socket, for tests. */
  readonly inject: FastifyInstance['inject']
}

/** Of a request line that is too long, this much of the path is kept for the log and for finding the group. */
const keptPathChars = 256
const slowCheckMs = 1000
/** A connection on which nothing moves for so long is cut, whoever was to speak. */
const silentMs = 120_000
const idleSweepMs = 50

export async function openDoor(house: House, extras: readonly Extra[]): Promise<Door> {
  const { server: settings } = house.context.settings
  const ids = openRequestIds(house.context.random)
  const ways = waysOf(house, extras)
  const common = commonHeaders(house.context.settings)
  const tooLong: TooLong = new WeakSet()
  const app = Fastify({
    bodyLimit: settings.bodyBytesMax,
    requestTimeout: settings.requestTimeoutMs,
    connectionTimeout: silentMs,
    trustProxy: settings.proxyHops > 0 && ((_address, hop) => hop < settings.proxyHops),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: {
      // For the whole head of any request; each path's own limits are checked before it is routed.
      maxHeaderSize: Math.max(...ways.map((way) => way.urlBytesMax)) + 2 * settings.headerBytesMax,
      headersTimeout: settings.headersTimeoutMs,
      connectionsCheckingInterval: slowCheckMs,
      requireHostHeader: false,
    },
    // The query stays text until the path's limits are known (query.ts).
    routerOptions: { maxParamLength: settings.urlBytesMax, querystringParser: asText },
    genReqId: (raw) => ids.of(raw),
    rewriteUrl: (raw) => translate(house, ways, raw, tooLong),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, ids),
    frameworkErrors: (error, request, reply) =>
      refuse(
        house,
        common,
        request as FastifyRequest,
        reply as FastifyReply,
        tooLong.has(request.raw) ? new Fault('input.url_too_long') : urlFault(house, error, pathOf(request.raw)),
      ),
  })
  // Bodies reach the pipeline unread: a caller without a key is not told what is wrong with its JSON.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  for (const way of ways) mount(app, house, way, commonHeaders(house.context.settings, way), tooLong)
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request.raw)
    const way = request.method === 'OPTIONS' && settings.cors ? ways.find(({ fits }) => fits.test(path)) : undefined
    if (way && !way.sameOrigin) return send(reply, request.id, common, preflight(house.context.settings, way))
    refuse(
      house,
      common,
      request,
      reply,
      tooLong.has(request.raw) ? new Fault('input.url_too_long') : strayFault(house, ways, path),
    )
  })
  app.setErrorHandler((error, request, reply) =>
    refuse(
      house,
      common,
      request,
      reply,
      // A body that cannot be read does not matter where nothing would read it.
      request.is404 ? strayFault(house, ways, pathOf(request.raw)) : bodyFault(house, error, request),
    ),
  )
  // Node would answer this header with a bare 417, without our headers. It may be ignored (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.server.maxConnections = settings.connectionsMax
  app.server.on('drop', () => warnHourly(house, 'Connections are refused: server.connectionsMax is reached.'))
  await app.listen({ host: settings.host, port: settings.port })
  return {
    url: urlOf(app, settings.host),
    inject: app.inject.bind(app),
    leave: () =>
      void app.server.prependListener('request', (_request, response) => {
        response.shouldKeepAlive = false
      }),
    close: () => close(app, settings.stopTimeoutMs, house),
  }
}

function mount(app: FastifyInstance, house: House, way: Way, common: Record<string, string>, tooLong: TooLong): void {
  const { headerBytesMax, proxyHops } = house.context.settings.server
  app.route({
    method: [...way.methods],
    url: way.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    // Before the body is read.
    onRequest: (request, reply, done) => {
      const { raw } = request
      if (tooLong.has(raw)) return refuse(house, common, request, reply, new Fault('input.url_too_long'))
      if (headerBytes(raw) > headerBytesMax) {
        return refuse(house, common, request, reply, new Fault('input.headers_too_large'))
      }
      if (proxyHops === 0 && raw.headers['x-forwarded-for'] !== undefined) warnHourly(house, unknownProxy)
      done()
    },
    handler: async (request, reply) => {
      const whenGone = (leave: () => void) => void reply.raw.once('close', leave)
      const arrival = read(house, () => arrivalOf(house, way, request, whenGone), request)
      if (arrival instanceof Fault) return refuse(house, common, request, reply, arrival)
      const departure = await way.respond(arrival, request.method)
      if (departure.chunks && request.method !== 'HEAD')
        pour(house, reply, { ...common, 'x-request-id': request.id }, departure)
      else if (departure.pieces && request.method !== 'HEAD')
        deliver(reply, { ...common, 'x-request-id': request.id }, departure, departure.pieces)
      else send(reply, request.id, common, departure)
    },
  })
}

/** Requests whose request line is longer than their path allows. */
type TooLong = WeakSet<IncomingMessage>

const asText = (query: string) => query as unknown as Record<string, unknown>

const unknownProxy =
  'A request has x-forwarded-for, but server.proxyHops is 0: all callers behind that proxy count as one address. Set server.proxyHops if the proxy is yours.'

function read<T>(house: House, make: () => T, { id, raw }: FastifyRequest): T | Fault {
  try {
    return make()
  } catch (error) {
    return toFault(house, error, { requestId: id, path: pathOf(raw) })
  }
}

/** Runs before routing, so that a request line which is too long costs neither a search for its route nor a long log line. */
function translate(house: House, ways: readonly Way[], raw: IncomingMessage, tooLong: TooLong): string {
  house.aliases.requestHeaders(raw.headers)
  const { url = '/' } = raw
  const { urlBytesMax } = house.context.settings.server
  if (url.length <= urlBytesMax) return house.aliases.path(url)
  const path = house.aliases.path(pathOf(raw).slice(0, urlBytesMax))
  if (ways.some((way) => url.length <= way.urlBytesMax && way.fits.test(path))) return house.aliases.path(url)
  tooLong.add(raw)
  return path.slice(0, keptPathChars)
}

function send(reply: FastifyReply, requestId: string, common: Record<string, string>, departure: Departure): void {
  reply.hijack()
  const { raw } = reply
  const { body } = departure
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
  raw.writeHead(departure.status, {
    'cache-control': 'no-store',
    ...common,
    'x-request-id': requestId,
    ...(departure.status !== 304 && departure.status !== 204 && { 'content-length': length }),
    ...departure.headers,
  })
  raw.end(body)
}

/** A long answer: whoever leaves halfway, or takes nothing for too long, gets no more of it. */
function deliver(
  reply: FastifyReply,
  headers: Record<string, string>,
  departure: Departure,
  pieces: Iterable<Uint8Array>,
): void {
  reply.hijack()
  reply.raw.writeHead(departure.status, { 'cache-control': 'no-store', ...headers, ...departure.headers })
  pipeline(Readable.from(pieces), reply.raw).catch(() => reply.raw.destroy())
}

/** An answer without an end: until the caller leaves, reads too slowly, or the server stops. */
function pour(house: House, reply: FastifyReply, headers: Record<string, string>, departure: Departure): void {
  reply.hijack()
  reply.raw.writeHead(departure.status, { 'cache-control': 'no-store', ...headers, ...departure.headers })
  const { context, stopping } = house
  pourInto(reply.raw, departure.chunks ?? async function* () {}, context.clock, stopping.signal).catch((error) =>
    toFault(house, error, { requestId: reply.request.id, path: pathOf(reply.request.raw) }),
  )
}

function refuse(
  house: House,
  common: Record<string, string>,
  request: Pick<FastifyRequest, 'id' | 'raw'>,
  reply: FastifyReply,
  fault: Fault,
): void {
  send(reply, request.id, common, refusal(house, { requestId: request.id, path: pathOf(request.raw) }, fault))
}

/** What the framework says about a body, in our words. */
function bodyFault(house: House, error: unknown, request: FastifyRequest): Fault {
  const code = (error as { code?: string }).code ?? ''
  if (request.raw.destroyed && !request.raw.complete) return new CallerGone()
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Fault('body.too_large')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new Fault('body.type')
  if (code.startsWith('FST_ERR_CTP')) return new Fault('body.unreadable', { detail: code })
  return toFault(house, error, { requestId: request.id, path: pathOf(request.raw) })
}

/** Bytes that are no HTTP request, heads that are too large, callers that are too slow. */
function refuseConnection(error: Error & { code?: string }, socket: Socket, ids: RequestIds): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const [status, words] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request head is too large.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request took too long to arrive.']
        : ['400 Bad Request', 'This is not a well-formed HTTP request.']
  const body = JSON.stringify({ error: { code: 'request.malformed', message: words } })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nx-request-id: ${ids.next()}\r\nconnection: close\r\n\r\n${body}`,
  )
}

function urlOf(app: FastifyInstance, host: string): string {
  const address = app.server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function close(app: FastifyInstance, stopTimeoutMs: number, house: House): Promise<void> {
  const cut = new AbortController()
  const late = house.context.clock.sleep(stopTimeoutMs, cut.signal).then(() => {
    if (!cut.signal.aborted) app.server.closeAllConnections()
  })
  house.stopping.abort()
  // A connection that was busy when closing began is kept alive by its client once it is idle.
  const sweep = house.context.clock.every(idleSweepMs, () => app.server.closeIdleConnections())
  await app.close()
  sweep()
  cut.abort()
  await late
  house.deadlines.close()
}
