// The stages of one request: match, authorize, parse, handle, render. Errors are rendered in the format of the group.
// Independent of node:http.
import type { Endpoint } from '#api/kit.ts'
import type { Group } from '#api/routes.ts'
import { Fault } from '#core/fault.ts'
import { failureFields } from '#runtime/failure-fields.ts'
import { type Aliases, aliases } from './aliases.ts'
import type { Authorizer, Credentials } from './authorize.ts'
import { networkOf } from './caller-network.ts'
import type { Context } from './context.ts'
import { CallerGone, type Deadline, type Deadlines, type OnCallerGone, openDeadlines } from './deadline.ts'
import type { Caller, ErrorFormat, Handler, HandlerResult, RequestInfo } from './handler.ts'
import { choose, groupHandlersByRoute, type HandlerGroup } from './handler-groups.ts'
import { LogThrottle } from './log-throttle.ts'
import { parser, type RequestParts } from './parse.ts'
import { type ApiResponse, render, renderFault, serializer } from './render.ts'
import { SlidingWindows } from './sliding-window.ts'

export interface ApiRequest extends RequestParts {
  readonly requestId: string
  readonly address: string
  /** Scheme and authority for absolute links. */
  readonly origin: string
  /** Host name the caller used, without port. */
  readonly hostname: string
  readonly path: string
  readonly onCallerGone?: OnCallerGone
}

export interface RequestMeter {
  /** Without a duration for requests that reached no endpoint. */
  request(endpoint: string, outcome: string, tookMs?: number): void
}

export interface App {
  readonly context: Context
  readonly handlerGroups: readonly HandlerGroup[]
  readonly authorizer: Authorizer
  readonly deadlines: Deadlines
  readonly aliases: Aliases
  readonly meter: RequestMeter
  readonly compiled: ReadonlyMap<Handler, CompiledEndpoint>
  /** For errors that occur with every call. */
  readonly logThrottle: LogThrottle
  /** Failed requests of each network that were logged. */
  readonly loggedFailures: SlidingWindows
  /** Aborts when the server closes, to end streams. */
  readonly stopping: AbortController
}

/** Parser and serializer of an endpoint. */
interface CompiledEndpoint {
  readonly parse: ReturnType<typeof parser>
  readonly write: ReturnType<typeof serializer>
}

export function createApp<C extends Context>(
  context: C,
  handlers: readonly Handler<Endpoint, NoInfer<C>>[],
  authorizer: Authorizer,
  meter: RequestMeter,
): App {
  return {
    context,
    handlerGroups: groupHandlersByRoute(handlers),
    authorizer,
    deadlines: openDeadlines(context.clock, context.settings.server.responseTimeoutMs),
    aliases: aliases(context.settings.aliases),
    meter,
    compiled: new Map(
      handlers.map((handler) => [handler, { parse: parser(handler.endpoint), write: serializer(handler.endpoint) }]),
    ),
    logThrottle: new LogThrottle(context.clock),
    loggedFailures: new SlidingWindows(failuresWindowMs, failureNetworksMax),
    stopping: new AbortController(),
  }
}

export async function respond(app: App, group: HandlerGroup, request: ApiRequest): Promise<ApiResponse> {
  const startMs = app.context.clock.monotonicMs()
  let handler: Handler | undefined
  let outcomeLabel: string
  let reason: string | undefined
  let response: ApiResponse
  try {
    checkGroupServed(app, group, request)
    const chosen = choose(group, request.query)
    handler = chosen
    const compiled = compiledFor(app, chosen)
    const caller = await app.authorizer.authorize(chosen, readCredentials(request))
    const input = compiled.parse(request)
    const result = await app.deadlines.within(
      (deadline) => chosen.handle(input, app.context, new AuthorizedRequest(request, caller, deadline)),
      request.onCallerGone,
    )
    response = render(chosen, compiled.write, result)
    outcomeLabel = outcomeLabelOf(result)
  } catch (error) {
    const fault = toFault(app, error, request)
    response = renderFault(group.errorFormat, fault, handler?.endpoint.auth ?? 'open')
    outcomeLabel = faultOutcome(fault)
    // Log the private detail with the request, so that operators find the cause.
    if (fault.status >= 500 && outcomeLabel === fault.code)
      reason = fault.message.slice(fault.code.length + 2, fault.code.length + 2 + reasonMax)
  }
  const tookMs = app.context.clock.monotonicMs() - startMs
  app.meter.request(handler?.endpoint.id ?? 'none', outcomeLabel, tookMs)
  logRequest(app, request, {
    endpoint: handler?.endpoint.id,
    status: response.status,
    outcome: outcomeLabel,
    tookMs: Math.round(tookMs * 1000) / 1000,
    ...(reason !== undefined && { reason }),
  })
  return applyFieldAliases(app, response)
}

/** `origin` is lazy, because computing it may log a warning; so is `signal`, because most handlers do not use it. */
class AuthorizedRequest implements RequestInfo {
  readonly #request: ApiRequest
  readonly #deadline: Deadline
  readonly caller: Caller

  constructor(request: ApiRequest, caller: Caller, deadline: Deadline) {
    this.#request = request
    this.caller = caller
    this.#deadline = deadline
  }

  get requestId(): string {
    return this.#request.requestId
  }

  get headers(): RequestInfo['headers'] {
    return this.#request.headers
  }

  get origin(): string {
    return this.#request.origin
  }

  get signal(): AbortSignal {
    return this.#deadline.signal
  }
}

/** A group can be disabled, or be served only under its own host name (behaviour/http.md#hosts-and-groups). */
function checkGroupServed(app: App, handlerGroup: HandlerGroup, request: ApiRequest): void {
  const group = groupOf(handlerGroup)
  const { enabled, host } = app.context.settings.groups[group]
  if (!enabled) throw new Fault('route.disabled')
  if (host !== '' && host.toLowerCase() !== request.hostname.toLowerCase()) throw new Fault('route.unknown')
}

function groupOf(handlerGroup: HandlerGroup): Group {
  const [first] = handlerGroup.handlers
  if (!first) throw new Error(`no handler for ${handlerGroup.path}`)
  return first.endpoint.group
}

function compiledFor(app: App, handler: Handler): CompiledEndpoint {
  const compiled = app.compiled.get(handler)
  if (!compiled) throw new Error(`endpoint ${handler.endpoint.id} was not compiled`)
  return compiled
}

function readCredentials({ query, headers, address }: ApiRequest): Credentials {
  const { apikey } = query
  return {
    apikey: typeof apikey === 'string' ? apikey : undefined,
    authorization: headers.authorization,
    address,
    query,
  }
}

/** Occur with every call while the database or Redis is down. */
const failEveryCall: ReadonlySet<string> = new Set(['store.unavailable', 'limit.unavailable'])

/** Errors that are not Faults are bugs: they are logged with details, and the caller gets `server.internal`. */
export function toFault(
  { context, logThrottle }: Pick<App, 'context' | 'logThrottle'>,
  error: unknown,
  request: { requestId: string; path: string },
): Fault {
  if (error instanceof Fault) {
    // Do not log "not covered yet" as a failure; the request log has it.
    if (error.status < 500 || error instanceof CallerGone || error.code.endsWith('.not_covered')) return error
    const fields = { requestId: request.requestId, fault: error.message }
    const count = failEveryCall.has(error.code) ? logThrottle.due(error.message) : 1
    if (count !== undefined) context.log.warn(count === 1 ? fields : { ...fields, count }, 'request failed')
    return error
  }
  context.log.error({ requestId: request.requestId, path: request.path, ...failureFields(error) }, 'unexpected failure')
  return new Fault('server.internal', { cause: error })
}

const reasonMax = 500

interface RequestLogEntry {
  readonly endpoint?: string | undefined
  readonly status: number
  readonly outcome: string
  readonly tookMs?: number
  readonly reason?: string
}

/** The outcome of an error in the log and in the metrics. */
export const faultOutcome = (fault: Fault): string => (fault instanceof CallerGone ? clientGone : fault.code)

const clientGone = 'client_gone'

/** The outcome of a response in the log and in the metrics. */
const outcomeLabelOf = ({ is }: HandlerResult<unknown>): string =>
  is === 'nothing' ? 'not_found' : is === 'unchanged' ? is : 'ok'

const successes: ReadonlySet<string> = new Set(['unchanged', 'ok'])

/** More lines of one network are left out, so that no caller can fill the log (behaviour/http.md#request-log). */
const failuresLoggedMax = 100
const failuresWindowMs = 60_000
const failureNetworksMax = 10_000

export interface LoggedRequest {
  readonly requestId: string
  readonly path: string
  /** Undefined: the connection was reset. */
  readonly address: string | undefined
}

/** Only the path is logged: the query may contain a key. */
export function logRequest(app: App, request: LoggedRequest, entry: RequestLogEntry): void {
  const { context, logThrottle } = app
  const { requests } = context.settings.log
  if (requests === 'none' || (requests === 'failures' && successes.has(entry.outcome))) return
  if (requests === 'failures' && isCausedByCaller(entry) && !mayLogFailure(app, request)) {
    const count = logThrottle.due(leftOut)
    if (count !== undefined) context.log.warn({ count }, leftOut)
    return
  }
  const { requestId, path } = request
  context.log.info({ requestId, path, ...entry }, 'request')
}

const isCausedByCaller = ({ status, outcome }: RequestLogEntry): boolean => status < 500 || outcome === clientGone

const leftOut = `failed requests are not logged: a caller sent more than ${failuresLoggedMax} within a minute`

function mayLogFailure({ context, loggedFailures }: App, { address }: LoggedRequest): boolean {
  const network = networkOf(address ?? '')
  const nowMs = context.clock.monotonicMs()
  return loggedFailures.waitMs(network, failuresLoggedMax, nowMs) === 0 && loggedFailures.add(network, nowMs)
}

/** Renames fields in JSON by the configured aliases. Compressed and other bodies stay unchanged. */
export function applyFieldAliases(app: App, response: ApiResponse): ApiResponse {
  const rename = app.aliases.responseFields
  if (!rename || response.status === 304 || !isPlainJson(response)) return response
  const { chunks } = response
  if (chunks) return { ...response, chunks: (signal) => mapChunks(chunks(signal), rename) }
  const text = typeof response.body === 'string' ? response.body : new TextDecoder().decode(response.body)
  return { ...response, body: rename(text) }
}

const isPlainJson = ({ headers }: ApiResponse): boolean =>
  headers['content-encoding'] === undefined && /json|event-stream/.test(headers['content-type'] ?? '')

async function* mapChunks(chunks: AsyncIterable<string>, change: (text: string) => string): AsyncGenerator<string> {
  for await (const chunk of chunks) yield change(chunk)
}

const formatFaultMessage = ({ publicMessage, problems }: Fault): string =>
  [publicMessage, ...problems.map((problem) => `${problem.at.join('.')} ${problem.message}.`)].join(' ')

/** For paths that belong to no group. */
export const defaultErrorFormat: ErrorFormat = {
  renderFault: (fault) => ({
    status: fault.status,
    body: { error: { code: fault.code, message: formatFaultMessage(fault) } },
  }),
  renderNotFound: () => ({ status: 404, body: { error: { code: 'record.not_found', message: 'Not found.' } } }),
}
