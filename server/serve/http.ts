// The door to the network. The only file that names the HTTP framework: it routes, reads bodies within a limit and
// keeps time-outs; everything after that is the pipeline's. Replies are written straight to the socket, since the
// pipeline has already decided every header and byte.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Fault, invalid } from '#core/fault.ts'
import { arrivalOf, headerBytes, pathOf, requestIds } from './arrival.ts'
import { nearest, type Place } from './match.ts'
import { type House, houseShape, type Request, respond, toFault } from './pipeline.ts'
import { type Departure, renderFault } from './render.ts'
import { pourInto } from './stream.ts'

/** A path outside the contract: health, metrics, documents, downloads. */
export interface Extra {
  readonly path: string
  readonly reply: (request: Request) => Promise<Departure>
}

export interface Door {
  readonly url: string
  /** No new requests; those in flight finish within the configured time. */
  close(): Promise<void>
  /** A request without a socket, for tests. */
  readonly inject: FastifyInstance['inject']
}

/** Room for the longest request line any endpoint takes (4.5) beside ordinary headers. */
const headBytesMax = 1_048_576 + 65_536
const slowCheckMs = 1000
const idleSweepMs = 50

const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'x-request-id, retry-after, etag, last-modified, content-location, x-tetrad-as-of, x-tetrad-finality, x-tetrad-coverage',
} as const

export async function openDoor(house: House, extras: readonly Extra[]): Promise<Door> {
  const { server: settings } = house.desk.settings
  const app = Fastify({
    bodyLimit: settings.bodyBytesMax,
    requestTimeout: settings.requestTimeoutMs,
    trustProxy: settings.trustProxy,
    forceCloseConnections: 'idle',
    http: {
      maxHeaderSize: headBytesMax,
      headersTimeout: settings.headersTimeoutMs,
      connectionsCheckingInterval: slowCheckMs,
    },
    routerOptions: { maxParamLength: settings.urlBytesMax },
    genReqId: requestIds(house),
    rewriteUrl: (raw) => translate(house, raw),
    clientErrorHandler: refuseConnection,
    frameworkErrors: (_error, request, reply) =>
      refuse(house, request as FastifyRequest, reply as FastifyReply, badUrl(house, request.url)),
  })
  const common = { ...securityHeaders, ...(settings.cors && corsHeaders) }
  // Bodies reach the pipeline unread: a caller without a key is not told what is wrong with its JSON.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  for (const place of house.places) mount(app, house, place, common)
  for (const extra of extras) {
    app.route({
      method: ['GET', 'HEAD'],
      url: extra.path,
      handler: async (request, reply) => send(reply, request.id, common, await settle(house, request, extra)),
    })
  }
  app.setNotFoundHandler((request, reply) => refuse(house, request, reply, strayFault(house, request, extras)))
  app.setErrorHandler((error, request, reply) => refuse(house, request, reply, bodyFault(house, error, request)))
  await app.listen({ host: settings.host, port: settings.port })
  return {
    url: urlOf(app, settings.host),
    inject: app.inject.bind(app),
    close: () => close(app, settings.stopTimeoutMs, house),
  }
}

function mount(app: FastifyInstance, house: House, place: Place, common: Record<string, string>): void {
  const { server: settings } = house.desk.settings
  const urlBytesMax = Math.max(settings.urlBytesMax, ...place.answers.map((one) => one.endpoint.urlBytesMax ?? 0))
  app.route({
    method: [...place.methods],
    url: place.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: async (request, reply) => {
      const { raw } = request
      if ((raw.url?.length ?? 0) > urlBytesMax) return refuse(house, request, reply, new Fault('input.url_too_long'))
      if (headerBytes(raw) > settings.headerBytesMax) {
        return refuse(house, request, reply, new Fault('input.headers_too_large'))
      }
      const departure = await respond(house, place, arrivalOf(house, place, request))
      if (departure.chunks && request.method !== 'HEAD')
        pour(house, reply, { ...common, 'x-request-id': request.id }, departure)
      else send(reply, request.id, common, departure)
    },
  })
}

async function settle(house: House, request: FastifyRequest, extra: Extra): Promise<Departure> {
  const arrival = arrivalOf(house, undefined, request)
  try {
    return await extra.reply(arrival)
  } catch (error) {
    return renderFault(houseShape, toFault(house.desk, error, arrival), 'open')
  }
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
    ...departure.headers,
    ...(departure.status !== 304 && { 'content-length': length }),
  })
  raw.end(body)
}

/** An answer without an end: until the caller leaves, reads too slowly, or the server stops. */
function pour(house: House, reply: FastifyReply, headers: Record<string, string>, departure: Departure): void {
  reply.hijack()
  reply.raw.writeHead(departure.status, { 'cache-control': 'no-store', ...headers, ...departure.headers })
  const { desk, stopping } = house
  pourInto(reply.raw, departure.chunks ?? async function* () {}, desk.clock, stopping.signal).catch((error) =>
    toFault(desk, error, { requestId: reply.request.id, path: pathOf(reply.request.raw) }),
  )
}

/** A request that never reached an endpoint, answered in the shape of the group its path points to. */
function refuse(house: House, request: FastifyRequest, reply: FastifyReply, fault: Fault): void {
  const path = pathOf(request.raw)
  const place = nearest(house.places, path)
  const { cors } = house.desk.settings.server
  if (request.method === 'OPTIONS' && cors && place) {
    preflight(reply, place)
    return
  }
  house.meter.request('none', fault.code, 0)
  const auth = place?.answers[0]?.endpoint.auth ?? 'open'
  const common = { ...securityHeaders, ...(cors && corsHeaders) }
  send(reply, request.id, common, renderFault(place?.shape ?? houseShape, fault, auth))
}

function preflight(reply: FastifyReply, place: Place): void {
  reply.hijack()
  reply.raw.writeHead(204, {
    ...corsHeaders,
    'access-control-allow-methods': place.methods.join(', '),
    'access-control-allow-headers':
      'authorization, content-type, idempotency-key, x-request-id, x-validator-network, if-none-match',
    'access-control-max-age': '86400',
  })
  reply.raw.end()
}

/** Unknown path, or a known one asked with the wrong method. */
function strayFault(house: House, request: FastifyRequest, extras: readonly Extra[]): Fault {
  const path = pathOf(request.raw)
  const fits = (template: string) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/[{:]\w+\}?/g, '[^/]+')}$`).test(path)
  const place = house.places.find((one) => fits(one.path))
  const methods = place?.methods ?? (extras.some((one) => fits(one.path)) ? ['GET', 'HEAD'] : undefined)
  if (!methods) return new Fault('route.unknown')
  return new Fault('route.method', { headers: { allow: [...methods, 'OPTIONS'].join(', ') } })
}

/** The problem is told of the path parameter that could not be read. */
function badUrl(house: House, url: string): Fault {
  const name = /\{(\w+)\}/.exec(nearest(house.places, url)?.path ?? '')?.[1] ?? 'url'
  return invalid(['path', name], 'has a malformed percent-encoding')
}

/** What the framework says about a body, in our words. */
function bodyFault(house: House, error: unknown, request: FastifyRequest): Fault {
  const code = (error as { code?: string }).code ?? ''
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Fault('body.too_large')
  if (code.startsWith('FST_ERR_CTP')) return new Fault('body.unreadable', { detail: code })
  return toFault(house.desk, error, { requestId: request.id, path: pathOf(request.raw) })
}

/** Bytes that are no HTTP request, heads that are too large, callers that are too slow. */
function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const [status, words] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request head is too large.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request took too long to arrive.']
        : ['400 Bad Request', 'This is not a well-formed HTTP request.']
  const body = JSON.stringify({ error: { code: 'request.malformed', message: words } })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
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
