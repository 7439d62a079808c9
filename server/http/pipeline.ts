// The stages of one request: match, authorize, parse, handle, render. Errors are rendered in the format of the group.
// Independent of node:http.

import type { Endpoint } from '#api/contract/kit.ts'
import { withNetworks } from '#api/contract/with-networks.ts'
import { type Awaitable, whenReady } from '#core/awaitable.ts'
import { Fault } from '#core/fault.ts'
import { failureFields } from '#runtime/failure-fields.ts'
import { networksOf } from '#runtime/settings/validators.ts'
import { type Aliases, createAliases } from './aliases.ts'
import { type Authorizer, requiresKey } from './authorize.ts'
import type { Context } from './context.ts'
import { CallerGone, type Deadline, type Deadlines, type OnCallerGone, openDeadlines } from './deadline.ts'
import { applyFieldAliases } from './field-aliases.ts'
import type { Caller, Handler, HandlerResult, RequestInfo } from './handler.ts'
import { createKeylessPathLimit, type KeylessPathLimit } from './keyless-path-limit.ts'
import { parser, type RequestParts } from './parse.ts'
import { type ApiResponse, render, renderFault, serializer } from './render.ts'
import { type CreateRequestContext, openRequestContexts } from './request-context.ts'
import { faultOutcome, isLogged, logRequest, openRequestLog, type RequestLog, resultOutcome } from './request-log.ts'
import { chooseHandler, groupHandlersByRoute, type RouteHandlers } from './route-handlers.ts'
import { ignoredHeader, type NameCheck, nameCheck } from './unknown-names.ts'

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
  /** `tookMs`: undefined if the request was refused before its route was known. */
  request(endpoint: string, outcome: string, tookMs?: number): void
}

export interface App extends RequestLog {
  /** Of the contract. Other paths are in routes.ts. */
  readonly routes: readonly RouteHandlers[]
  readonly authorizer: Authorizer
  readonly deadlines: Deadlines
  readonly aliases: Aliases
  /** Limits paths outside the contract (routes.ts). */
  readonly limitKeylessPath: KeylessPathLimit
  readonly meter: RequestMeter
  readonly compiled: ReadonlyMap<Handler, CompiledEndpoint>
  readonly createRequestContext: CreateRequestContext
  /** Aborts when the server closes, to end streams. */
  readonly stopping: AbortController
}

/** Parser and serializer of an endpoint. */
interface CompiledEndpoint {
  readonly checkNames: NameCheck | undefined
  readonly parse: ReturnType<typeof parser>
  readonly serialize: ReturnType<typeof serializer>
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
    routes: groupHandlersByRoute(handlers),
    authorizer,
    deadlines: openDeadlines(context.clock, context.settings.server.responseTimeoutMs),
    aliases: createAliases(context.settings.aliases),
    limitKeylessPath: createKeylessPathLimit(context),
    meter,
    compiled: new Map(handlers.map((handler) => [handler, compile(handler, context)])),
    createRequestContext: openRequestContexts(context),
    stopping: new AbortController(),
  }
}

const compile = ({ endpoint }: Handler, { settings }: Context): CompiledEndpoint => ({
  checkNames: nameCheck(endpoint, settings),
  parse: parser(withNetworks(endpoint, networksOf(settings))),
  serialize: serializer(endpoint),
  requiresKey: requiresKey(endpoint, settings),
})

/** Not `async`: a response for which no stage waits, such as most cached ones, is returned without a promise. */
export function respond(app: App, route: RouteHandlers, request: ApiRequest): Awaitable<ApiResponse> {
  app.aliases.etags?.restoreIn(request.headers)
  const call = new EndpointCall(app, route, request)
  try {
    const result = call.run()
    if (!(result instanceof Promise)) return call.succeed(result)
    return result.then((value) => call.succeed(value)).catch((error: unknown) => call.fail(error))
  } catch (error) {
    return call.fail(error)
  }
}

class EndpointCall {
  readonly #app: App
  readonly #route: RouteHandlers
  readonly #request: ApiRequest
  readonly #startMs: number
  #handler: Handler | undefined
  /** Names of the request that have no effect. */
  #ignored: readonly string[] = []

  constructor(app: App, route: RouteHandlers, request: ApiRequest) {
    this.#app = app
    this.#route = route
    this.#request = request
    this.#startMs = app.context.clock.monotonicMs()
  }

  run(): Awaitable<HandlerResult<unknown>> {
    checkGroupServed(this.#app, this.#route, this.#request)
    const handler = chooseHandler(this.#route, this.#request)
    if (handler instanceof Fault) return this.#refuse(handler)
    this.#handler = handler
    const caller = this.#app.authorizer.authorize(handler, this.#request)
    return whenReady(caller, (authorized) => this.#handle(handler, authorized))
  }

  /** A wrong key is reported first, whatever else is wrong (behaviour/explorer.md#order-of-checks). */
  async #refuse(fault: Fault): Promise<never> {
    await this.#app.authorizer.refuseWrongKey(this.#route.handlers[0].endpoint, this.#request)
    throw fault
  }

  #handle(handler: Handler, caller: Caller): Awaitable<HandlerResult<unknown>> {
    const { deadlines, createRequestContext } = this.#app
    const { checkNames, parse } = compiledFor(this.#app, handler)
    if (checkNames) this.#ignored = checkNames(this.#request)
    const input = parse(this.#request)
    return deadlines.within((deadline) => {
      const context = createRequestContext(deadline)
      return handler.handle(input, context, new AuthorizedRequest(this.#request, caller, deadline))
    }, this.#request.onCallerGone)
  }

  succeed(result: HandlerResult<unknown>): ApiResponse {
    const handler = this.#handler as Handler
    const response = render(handler, compiledFor(this.#app, handler), result)
    this.#report(response.status, resultOutcome(result))
    return this.#finish(result.is === 'stream' ? { ...response, chunks: this.#chunksOf(result) } : response)
  }

  #chunksOf(result: HandlerResult<unknown> & { is: 'stream' }): NonNullable<ApiResponse['chunks']> {
    return (signal) => result.chunks(signal, this.#app.createRequestContext({ signal }) as never)
  }

  fail(error: unknown): ApiResponse {
    const fault = toFault(this.#app, error, this.#request)
    const response = renderFault(this.#route.errorFormat, fault, this.#handler?.endpoint.auth ?? 'open')
    this.#report(response.status, faultOutcome(fault), reasonOf(fault))
    return this.#finish(response)
  }

  #finish(response: ApiResponse): ApiResponse {
    const finished = applyFieldAliases(this.#app.aliases, response)
    if (this.#ignored.length === 0) return finished
    // A response that is sent many times has the names of other requests, or none.
    const { once: _, ...own } = finished
    return { ...own, headers: { ...own.headers, 'x-tetrad-ignored': ignoredHeader(this.#ignored) } }
  }

  /** To the metrics and the log. */
  #report(status: number, outcome: string, reason?: string): void {
    const endpoint = this.#handler?.endpoint.id
    const tookMs = this.#app.context.clock.monotonicMs() - this.#startMs
    this.#app.meter.request(endpoint ?? 'none', outcome, tookMs)
    if (!isLogged(this.#app, outcome)) return
    const entry = { endpoint, status, outcome, tookMs: Math.round(tookMs * 1000) / 1000 }
    logRequest(this.#app, this.#request, reason === undefined ? entry : { ...entry, reason })
  }
}

const reasonMax = 500

/** The private detail of a failure of the server, which the log shows with the request. */
function reasonOf(fault: Fault): string | undefined {
  if (fault.status < 500 || fault instanceof CallerGone) return undefined
  return fault.detail.slice(0, reasonMax)
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

/** An interface can be disabled, or be served only under its own host name (behaviour/http.md#hosts-and-groups). */
function checkGroupServed(app: App, route: RouteHandlers, request: ApiRequest): void {
  const { endpoint } = route.handlers[0]
  const { enabled, host } = app.context.settings.groups[endpoint.group]
  if (!enabled) throw new Fault('route.disabled')
  if (host !== '' && host.toLowerCase() !== request.hostname.toLowerCase()) throw new Fault('route.unknown')
}

function compiledFor(app: App, handler: Handler): CompiledEndpoint {
  const compiled = app.compiled.get(handler)
  if (!compiled) throw new Error(`endpoint ${handler.endpoint.id} was not compiled`)
  return compiled
}

/** While the database or Redis is down, every call gets one of these. They are logged once a minute, with a count. */
const codesOfOutages: ReadonlySet<string> = new Set(['store.unavailable', 'limit.unavailable'])

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
    const count = codesOfOutages.has(error.code) ? logThrottle.countToLog(error.message) : 1
    if (count !== undefined) context.log.warn(count === 1 ? fields : { ...fields, count }, 'request failed')
    return error
  }
  context.log.error({ requestId: request.requestId, path: request.path, ...failureFields(error) }, 'unexpected failure')
  return new Fault('server.internal', { cause: error })
}
