// Converts a request of the HTTP framework to an `ApiRequest`.
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { withoutKeys } from '#core/key.ts'
import type { Random } from '#runtime/random.ts'
import type { Settings } from '#runtime/settings.ts'
import { CallerGone, type OnCallerGone } from './deadline.ts'
import type { ApiRequest, App } from './pipeline.ts'
import { readQuery } from './query.ts'
import type { HttpRoute } from './routes.ts'

const requestIdShape = /^[\x21-\x7e]{1,128}$/
const hostShape = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Throws a Fault for a query that exceeds its limits, and CallerGone when the connection has been reset. */
export function readRequest(
  app: App,
  { query }: HttpRoute,
  request: FastifyRequest,
  onCallerGone: OnCallerGone,
): ApiRequest {
  // Node does not know the address of a connection that was reset.
  const address = request.ip as string | undefined
  if (address === undefined) throw new CallerGone()
  const contentType = request.headers['content-type'] ?? ''
  const body = request.body as Uint8Array | undefined
  // The router does not parse the query (http-server.ts).
  const texts = [request.query as string]
  // These endpoints also accept parameters as a form (behaviour/explorer.md#parameters).
  if (query.anyCase && body && formShape.test(contentType)) texts.push(new TextDecoder().decode(body))
  return {
    requestId: request.id,
    address,
    get origin() {
      return originOf(app, request)
    },
    hostname: request.hostname ?? '',
    path: pathOfUrl(request.raw),
    params: request.params as Record<string, string>,
    query: readQuery(texts, query),
    headers: request.headers as Record<string, string | undefined>,
    contentType,
    body,
    onCallerGone,
  }
}

const formShape = /^application\/x-www-form-urlencoded\s*(;|$)/i

/**
 * Scheme and authority for absolute links. Without `publicUrl`, the Host header is used only if it cannot be the name of
 * another server: an IP address, localhost, or the host name of a group. Otherwise, it is the address of this server.
 */
function originOf(app: App, { host = '', hostname = '', protocol, raw }: FastifyRequest): string {
  const { settings } = app.context
  if (settings.server.publicUrl !== '') return settings.server.publicUrl
  if (hostShape.test(host) && isOwnHost(settings, hostname.toLowerCase())) return `${protocol}://${host}`
  const { localAddress = settings.server.host, localPort = settings.server.port } = raw.socket
  const ownAddress = `${protocol}://${isIP(localAddress) === 6 ? `[${localAddress}]` : localAddress}:${localPort}`
  warnHourly(app, unknownHost)
  return ownAddress
}

/** For warnings that any caller can cause: logged once an hour, with a count. */
export function warnHourly({ context, logThrottle }: App, text: string): void {
  const count = logThrottle.due(text, 3_600_000)
  if (count !== undefined) context.log.warn({ count }, text)
}

const unknownHost =
  'links contain the address of this server, because the host name of the request is not configured; set server.publicUrl'

function isOwnHost({ groups }: Settings, hostname: string): boolean {
  if (isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0 || hostname === 'localhost') return true
  return Object.values(groups).some(({ host }) => host.toLowerCase() === hostname)
}

export interface RequestIds {
  /** The id that the caller sent if it is valid, otherwise a new one. */
  of(raw: IncomingMessage): string
  /** A new, unique id. */
  next(): string
}

export function openRequestIds(random: Random): RequestIds {
  const run = Buffer.from(random.bytes(6)).toString('base64url')
  let count = 0
  const next = () => {
    count += 1
    return `${run}-${count.toString(36)}`
  }
  return {
    next,
    of(raw) {
      const id = raw.headers['x-request-id']
      return typeof id === 'string' && requestIdShape.test(id) && id === withoutKeys(id) ? id : next()
    },
  }
}

export function headerBytes(raw: IncomingMessage): number {
  let bytes = 0
  for (const part of raw.rawHeaders) bytes += part.length
  return bytes
}

export function pathOfUrl({ url = '/' }: { url?: string | undefined }): string {
  const mark = url.indexOf('?')
  return mark < 0 ? url : url.slice(0, mark)
}
