// The stages of one request: match, authorize, parse, handle, render. Errors are rendered in the format of the group.
// Independent of node:http.
import type { ErrorFormat, RaisedFault } from '#api/contract/error-formats.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import { type Awaitable, whenReady } from '#core/awaitable.ts'
import { Fault } from '#core/fault.ts'
import { failureFields } from '#runtime/failure-fields.ts'
import { type Aliases, createAliases } from './aliases.ts'
import { type Authorizer, requiresKey } from './authorize.ts'
import type { Context } from './context.ts'
import { CallerGone, type Deadline, type Deadlines, type OnCallerGone, openDeadlines } from './deadline.ts'
import type { Caller, Handler, HandlerResult, RequestInfo } from './handler.ts'
import { choose, groupHandlersByRoute, type HandlerGroup } from './handler-groups.ts'
import { createOpenPathLimit, type OpenPathLimit } from './open-path-limit.ts'
import { parser, type RequestParts } from './parse.ts'
import { type ApiResponse, render, renderFault, serializer } from './render.ts'
import { faultOutcome, isLogged, logRequest, openRequestLog, type RequestLog } from './request-log.ts'

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

export interface App extends RequestLog {
  readonly handlerGroups: readonly HandlerGroup[]
  readonly authorizer: Authorizer
  readonly deadlines: Deadlines
  readonly aliases: Aliases
  readonly openPathLimit: OpenPathLimit
  readonly meter: RequestMeter
  readonly compiled: ReadonlyMap<Handler, CompiledEndpoint>
  /** Aborts when the server closes, to end streams. */
  readonly stopping: AbortController
}

/** Parser and serializer of an endpoint. */
interface CompiledEndpoint {
  readonly parse: ReturnType<typeof parser>
  readonly write: ReturnType<typeof serializer>
  readonly requiresKey: boolean
}

export function createApp<C extends Context>(
  context: C,
  handlers: readonly Handler<Endpoint, NoInfer<C>>[],
  authorizer: Authorizer,
  meter: RequestMeter,
): App {
  return {
    ...openRequestLog(context),
    handlerGroups: groupHandlersByRoute(handlers),
    authorizer,
    deadlines: openDeadlines(context.clock, context.settings.server.responseTimeoutMs),
    aliases: createAliases(context.settings.aliases),
    openPathLimit: createOpenPathLimit(context),
    meter,
    compiled: new Map(handlers.map((handler) => [handler, compile(handler, context)])),
    stopping: new AbortController(),
  }
}

const compile = ({ endpoint }: Handler, { settings }: Context): CompiledEndpoint => ({
  parse: parser(endpoint),
  write: serializer(endpoint),
  requiresKey: requiresKey(endpoint, settings),
})

/** Returns without a promise if nothing had to be waited for. */
export function respond(app: App, group: HandlerGroup, request: ApiRequest): Awaitable<ApiResponse> {
  app.aliases.conditions?.read(request.headers)
  const call = new EndpointCall(app, group, request)
  try {
    const result = call.start()
    if (!(result instanceof Promise)) return call.succeed(result)
    return result.then((value) => call.succeed(value)).catch((error: unknown) => call.fail(error))
  } catch (error) {
    return call.fail(error)
  }
}

class EndpointCall {
  readonly #app: App
  readonly #group: HandlerGroup
  readonly #request: ApiRequest
  readonly #startMs: number
  #handler: Handler | undefined

  constructor(app: App, group: HandlerGroup, request: ApiRequest) {
    this.#app = app
    this.#group = group
    this.#request = request
    this.#startMs = app.context.clock.monotonicMs()
  }

  start(): Awaitable<HandlerResult<unknown>> {
    checkGroupServed(this.#app, this.#group, this.#request)
    const handler = choose(this.#group, this.#request)
    this.#handler = handler
    const caller = this.#app.authorizer.authorize(handler, this.#request)
    return whenReady(caller, (authorized) => this.#handle(handler, authorized))
  }

  #handle(handler: Handler, caller: Caller): Awaitable<HandlerResult<unknown>> {
    const input = compiledFor(this.#app, handler).parse(this.#request)
    return this.#app.deadlines.within(
      (deadline) => handler.handle(input, this.#app.context, new AuthorizedRequest(this.#request, caller, deadline)),
      this.#request.onCallerGone,
    )
  }

  succeed(result: HandlerResult<unknown>): ApiResponse {
    const handler = this.#handler as Handler
    const response = render(handler, compiledFor(this.#app, handler), result)
    return this.#report(response, outcomeLabelOf(result))
  }

  fail(error: unknown): ApiResponse {
    const fault = toFault(this.#app, error, this.#request)
    const outcome = faultOutcome(fault)
    // Log the private detail with the request, so that operators find the cause.
    const reason =
      fault.status >= 500 && outcome === fault.code
        ? fault.message.slice(fault.code.length + 2, fault.code.length + 2 + reasonMax)
        : undefined
    const response = renderFault(this.#group.errorFormat, fault, this.#handler?.endpoint.auth ?? 'open')
    return this.#report(response, outcome, reason)
  }

  #report(response: ApiResponse, outcome: string, reason?: string): ApiResponse {
    const endpoint = this.#handler?.endpoint.id
    const tookMs = this.#app.context.clock.monotonicMs() - this.#startMs
    this.#app.meter.request(endpoint ?? 'none', outcome, tookMs)
    if (isLogged(this.#app, outcome)) {
      const entry = { endpoint, status: response.status, outcome, tookMs: Math.round(tookMs * 1000) / 1000 }
      logRequest(this.#app, this.#request, reason === undefined ? entry : { ...entry, reason })
    }
    return applyFieldAliases(this.#app, response)
  }
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

  get headers(): RequestInfo['headers'] {
    return this.#request.headers
  }

  get query(): RequestInfo['query'] {
    return this.#request.query
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
  const { endpoint } = handlerGroup.handlers[0]
  const { enabled, host } = app.context.settings.groups[endpoint.group]
  if (!enabled) throw new Fault('route.disabled')
  if (host !== '' && host.toLowerCase() !== request.hostname.toLowerCase()) throw new Fault('route.unknown')
}

function compiledFor(app: App, handler: Handler): CompiledEndpoint {
  const compiled = app.compiled.get(handler)
  if (!compiled) throw new Error(`endpoint ${handler.endpoint.id} was not compiled`)
  return compiled
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

/** The outcome of a response in the log and in the metrics. */
const outcomeLabelOf = ({ is }: HandlerResult<unknown>): string =>
  is === 'nothing' ? 'not_found' : is === 'unchanged' ? is : 'ok'

/** Renames and removes fields in JSON by the configured aliases. Compressed and other bodies stay unchanged. */
export function applyFieldAliases(app: App, response: ApiResponse): ApiResponse {
  const { changeFields, conditions } = app.aliases
  if (!changeFields || !conditions) return response
  const changed = { ...response, headers: conditions.write(response.headers) }
  if (response.status === 304 || !isPlainJson(response)) return changed
  const { chunks } = response
  if (chunks) return { ...changed, chunks: (signal) => mapChunks(chunks(signal), changeFields) }
  const text = typeof response.body === 'string' ? response.body : new TextDecoder().decode(response.body)
  return { ...changed, body: changeFields(text), isShared: false }
}

const isPlainJson = ({ headers }: ApiResponse): boolean =>
  headers['content-encoding'] === undefined && /json|event-stream/.test(headers['content-type'] ?? '')

async function* mapChunks(chunks: AsyncIterable<string>, change: (text: string) => string): AsyncGenerator<string> {
  for await (const chunk of chunks) yield change(chunk)
}

const formatFaultMessage = ({ publicMessage, problems }: RaisedFault): string =>
  [publicMessage, ...problems.map((problem) => `${problem.at.join('.')} ${problem.message}.`)].join(' ')

/** For paths that belong to no group. */
export const defaultErrorFormat: ErrorFormat = {
  renderFault: (fault) => ({
    status: fault.status,
    body: { error: { code: fault.code, message: formatFaultMessage(fault) } },
  }),
  renderNotFound: () => ({ status: 404, body: { error: { code: 'record.not_found', message: 'Not found.' } } }),
}
