// The door to the network. The only file that names the HTTP framework: it routes, reads bodies within a limit and
// keeps time-outs; everything after that is the pipeline's. Replies are written straight to the socket, since the
// pipeline has already decided every header and byte.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Fault } from '#core/fault.ts'
import { arrivalOf, headerBytes, openRequestIds, pathOf, type RequestIds } from './arrival.ts'
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

/** Room for the longest request line any endpoint takes (4.5) beside ordinary headers. */
const headBytesMax = 1_048_576 + 65_536
const slowCheckMs = 1000
/** A connection on which nothing moves for so long is cut, whoever was to speak. */
const silentMs = 120_000
const idleSweepMs = 50

export async function openDoor(house: House, extras: readonly Extra[]): Promise<Door> {
  const { server: settings } = house.desk.settings
  const ids = openRequestIds(house.desk.random)
  const ways = waysOf(house, extras)
  const common = commonHeaders(house.desk.settings)
  const app = Fastify({
    bodyLimit: settings.bodyBytesMax,
    requestTimeout: settings.requestTimeoutMs,
    connectionTimeout: silentMs,
    trustProxy: settings.proxyHops > 0 && ((_address, hop) => hop < settings.proxyHops),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: {
      maxHeaderSize: headBytesMax,
      headersTimeout: settings.headersTimeoutMs,
      connectionsCheckingInterval: slowCheckMs,
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: settings.urlBytesMax },
    genReqId: (raw) => ids.of(raw),
    rewriteUrl: (raw) => translate(house, raw),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, ids),
    frameworkErrors: (error, request, reply) =>
      refuse(
        house,
        common,
        request as FastifyRequest,
        reply as FastifyReply,
        urlFault(house, error, pathOf(request.raw)),
      ),
  })
  // Bodies reach the pipeline unread: a caller without a key is not told what is wrong with its JSON.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  for (const way of ways) mount(app, house, way, commonHeaders(house.desk.settings, way))
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request.raw)
    const way = request.method === 'OPTIONS' && settings.cors ? ways.find(({ fits }) => fits.test(path)) : undefined
    if (way && !way.sameOrigin) return send(reply, request.id, common, preflight(house.desk.settings, way))
    refuse(house, common, request, reply, strayFault(ways, path))
  })
  app.setErrorHandler((error, request, reply) =>
    refuse(house, common, request, reply, bodyFault(house, error, request)),
  )
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

function mount(app: FastifyInstance, house: House, way: Way, common: Record<string, string>): void {
  const { headerBytesMax } = house.desk.settings.server
  app.route({
    method: [...way.methods],
    url: way.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: async (request, reply) => {
      const { raw } = request
      if ((raw.url?.length ?? 0) > way.urlBytesMax) {
        return refuse(house, common, request, reply, new Fault('input.url_too_long'))
      }
      if (headerBytes(raw) > headerBytesMax) {
        return refuse(house, common, request, reply, new Fault('input.headers_too_large'))
      }
      const whenGone = (leave: () => void) => void reply.raw.once('close', leave)
      const departure = await way.respond(arrivalOf(house, way.place, request, whenGone), request.method)
      if (departure.chunks && request.method !== 'HEAD')
        pour(house, reply, { ...common, 'x-request-id': request.id }, departure)
      else if (departure.pieces && request.method !== 'HEAD')
        deliver(reply, { ...common, 'x-request-id': request.id }, departure, departure.pieces)
      else send(reply, request.id, common, departure)
    },
  })
}

function translate(house: House, raw: IncomingMessage): string {
  house.aliases.requestHeaders(raw.headers)
  return house.aliases.path(raw.url ?? '/')
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
  const { desk, stopping } = house
  pourInto(reply.raw, departure.chunks ?? async function* () {}, desk.clock, stopping.signal).catch((error) =>
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
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Fault('body.too_large')
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
  const late = house.desk.clock.sleep(stopTimeoutMs, cut.signal).then(() => {
    if (!cut.signal.aborted) app.server.closeAllConnections()
  })
  house.stopping.abort()
  // A connection that was busy when closing began is kept alive by its client once it is idle.
  const sweep = house.desk.clock.every(idleSweepMs, () => app.server.closeIdleConnections())
  await app.close()
  sweep()
  cut.abort()
  await late
  house.deadlines.close()
}
