// Converts a request that was routed to an `ApiRequest`.
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { withoutKeys } from '#core/key.ts'
import type { Random } from '#runtime/random.ts'
import type { Settings } from '#runtime/settings.ts'
import { CallerGone, type OnCallerGone } from './deadline.ts'
import type { RawQuery } from './handler.ts'
import type { ApiRequest, App } from './pipeline.ts'
import { type QueryRules, readQuery } from './query.ts'
import type { HttpRoute } from './routes.ts'

const requestIdPattern = /^[\x21-\x7e]{1,128}$/
const hostPattern = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** A request with the route that was found. */
export interface RoutedRequest {
  readonly raw: IncomingMessage
  readonly id: string
  readonly params: Readonly<Record<string, string>>
  /** Not parsed. */
  readonly query: string
  readonly body: Uint8Array | undefined
  readonly onCallerGone: OnCallerGone
}

/** Throws CallerGone when the connection has been reset. */
export function readRequest(app: App, { query }: HttpRoute, request: RoutedRequest): ApiRequest {
  const address = addressOf(request.raw, app.context.settings.server.proxyHops)
  // Node does not know the address of a connection that was reset.
  if (address === undefined) throw new CallerGone()
  return new ReadRequest(app, request, address, query)
}

/** A class, because an object with getters of its own takes several microseconds to create. */
class ReadRequest implements ApiRequest {
  readonly #app: App
  readonly #raw: IncomingMessage
  readonly requestId: string
  readonly address: string
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly #queryText: string
  readonly #queryRules: QueryRules
  #query: RawQuery | undefined
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly contentType: string
  readonly body: Uint8Array | undefined
  readonly onCallerGone: OnCallerGone

  constructor(app: App, request: RoutedRequest, address: string, queryRules: QueryRules) {
    const { raw, id, params, query, body, onCallerGone } = request
    this.#app = app
    this.#raw = raw
    this.requestId = id
    this.address = address
    this.path = pathOfUrl(raw)
    this.params = params
    this.#queryText = query
    this.#queryRules = queryRules
    this.headers = raw.headers as Record<string, string | undefined>
    this.contentType = raw.headers['content-type'] ?? ''
    this.body = body
    this.onCallerGone = onCallerGone
  }

  /**
   * Parsed when it is first used: a request without a valid key is refused before, if the key is not in the query
   * (behaviour/http.md#order-of-checks). Throws a Fault if it exceeds its limits.
   */
  get query(): RawQuery {
    this.#query ??= readQuery(this.#queryTexts(), this.#queryRules)
    return this.#query
  }

  /** Explorer endpoints also accept parameters as a form (behaviour/explorer.md#parameters). */
  #queryTexts(): string[] {
    const isForm = this.#queryRules.anyCase && this.body !== undefined && formPattern.test(this.contentType)
    return isForm ? [this.#queryText, new TextDecoder().decode(this.body)] : [this.#queryText]
  }

  get origin(): string {
    return originOf(this.#app, this.#raw)
  }

  get hostname(): string {
    return hostnameIn(hostOf(this.#raw, this.#app.context.settings.server.proxyHops))
  }
}

/** The caller: the address that the outermost own proxy saw. Each proxy appends one address to the header. */
export function addressOf({ socket, headers }: IncomingMessage, proxyHops: number): string | undefined {
  const forwarded = headers['x-forwarded-for']
  if (proxyHops === 0 || forwarded === undefined) return socket.remoteAddress
  const all = [socket.remoteAddress, ...String(forwarded).split(',').reverse()]
  return all[Math.min(proxyHops, all.length - 1)]?.trim()
}

/** Host and port that the caller used, as the proxy reports it. */
function hostOf({ headers }: IncomingMessage, proxyHops: number): string {
  return (proxyHops > 0 && lastOf(headers['x-forwarded-host'])) || (headers.host ?? '')
}

const protocolOf = ({ headers }: IncomingMessage, proxyHops: number): string =>
  (proxyHops > 0 && lastOf(headers['x-forwarded-proto'])) || 'http'

/** The value of the nearest proxy, if the header was sent several times. */
const lastOf = (header: string | string[] | undefined): string | undefined =>
  header === undefined ? undefined : String(header).split(',').at(-1)?.trim()

const hostnameIn = (host: string): string =>
  host.startsWith('[') ? host.slice(0, host.indexOf(']') + 1) : (host.split(':', 1)[0] as string)

const formPattern = /^application\/x-www-form-urlencoded\s*(;|$)/i

/**
 * Scheme and authority for absolute links. Without `publicUrl`, the Host header is used only if it cannot be the name of
 * another server: an IP address, localhost, or the host name of a group. Otherwise, it is the address of this server.
 */
function originOf(app: App, raw: IncomingMessage): string {
  const { settings } = app.context
  const { publicUrl, proxyHops } = settings.server
  if (publicUrl !== '') return publicUrl
  const host = hostOf(raw, proxyHops)
  const protocol = protocolOf(raw, proxyHops)
  if (hostPattern.test(host) && isOwnHost(settings, hostnameIn(host).toLowerCase())) return `${protocol}://${host}`
  const { localAddress = settings.server.host, localPort = settings.server.port } = raw.socket
  const ownAddress = `${protocol}://${isIP(localAddress) === 6 ? `[${localAddress}]` : localAddress}:${localPort}`
  warnHourly(app, unknownHost)
  return ownAddress
}

/** For warnings that any caller can cause: logged once an hour, with a count. */
export function warnHourly({ context, logThrottle }: App, text: string): void {
  const count = logThrottle.countToLog(text, 3_600_000)
  if (count !== undefined) context.log.warn({ count }, text)
}

const unknownHost =
  'links contain the address of this server, because the host name of the request is not configured; set server.publicUrl'

function isOwnHost({ groups }: Settings, hostname: string): boolean {
  if (isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0 || hostname === 'localhost') return true
  return Object.values(groups).some(({ host }) => host.toLowerCase() === hostname)
}

export type RequestIds = ReturnType<typeof openRequestIds>

export function openRequestIds(random: Random) {
  const run = Buffer.from(random.bytes(6)).toString('base64url')
  let count = 0
  /** A new, unique id. */
  const next = (): string => {
    count += 1
    return `${run}-${count.toString(36)}`
  }
  return {
    next,
    /** The id that the caller sent if it is valid, otherwise a new one. */
    of(raw: IncomingMessage): string {
      const id = raw.headers['x-request-id']
      return typeof id === 'string' && requestIdPattern.test(id) && id === withoutKeys(id) ? id : next()
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
