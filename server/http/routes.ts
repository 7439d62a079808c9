// All paths of the server: the endpoints of the contract, and extra routes (health, OpenAPI, downloads, console). Size
// limits, time limits, logging and metrics apply to both. Extra routes need no key. Their calls are limited by network
// address.
import { allRoutes } from '#api/contract/routes.ts'
import type { Awaitable } from '#core/awaitable.ts'
import { Fault, invalid } from '#core/fault.ts'
import type { Settings } from '#runtime/settings.ts'
import { pathPattern } from './aliases.ts'
import { networkOf } from './caller-network.ts'
import type { Context } from './context.ts'
import { defaultErrorFormat } from './default-error-format.ts'
import { applyFieldAliases } from './field-aliases.ts'
import { type ApiRequest, type App, respond, toFault } from './pipeline.ts'
import { prefersHtml } from './prefers-html.ts'
import { type QueryRules, valuesPerNameMax } from './query.ts'
import { type ApiResponse, renderFault } from './render.ts'
import { faultOutcome, type LoggedRequest, logRequest } from './request-log.ts'
import { findNearestRoute, type RouteHandlers } from './route-handlers.ts'

/** `C` is the context of the group, with its caches. The databases of the context end with the request. */
type ExtraHandler<C> = (request: ApiRequest, context: C) => Promise<ApiResponse>

/** A path outside the contract; `{name}` is one segment or a part of it. */
export interface ExtraRoute<C extends Context = never> {
  readonly path: string
  /** Handles GET and HEAD. */
  readonly read?: ExtraHandler<C>
  /** Handles methods that change something. */
  readonly change?: Readonly<Partial<Record<'POST' | 'DELETE', ExtraHandler<C>>>>
  /** No cross-origin requests. */
  readonly sameOrigin?: true
  /** For health checks, which must not be refused, and for a path that counts its calls itself. */
  readonly isUnlimited?: true
  /** The handler renames and hides fields itself. */
  readonly appliesAliases?: true
  /** The calls that the handler makes have a time limit, and end with the caller. */
  readonly endsCalls?: true
}

export type ReadableRoute = ExtraRoute & { readonly read: (request: ApiRequest) => Promise<ApiResponse> }

export interface HttpRoute {
  readonly path: string
  readonly methods: readonly string[]
  readonly urlBytesMax: number
  readonly query: QueryRules
  /** With a group for each parameter of the path. */
  readonly pattern: RegExp
  readonly sameOrigin?: true
  handle(request: ApiRequest, method: string): Awaitable<ApiResponse>
}

export function createRoutes(app: App, extraRoutes: readonly ExtraRoute[]): readonly HttpRoute[] {
  const { urlBytesMax } = app.context.settings.server
  return [
    ...app.routes.map((route) => ({
      path: route.path,
      methods: route.methods,
      urlBytesMax: Math.max(urlBytesMax, ...route.handlers.map(({ endpoint }) => endpoint.urlBytesMax ?? 0)),
      query: queryRules(route),
      pattern: pathPattern(route.path),
      handle: (request: ApiRequest) => respond(app, route, request),
    })),
    ...extraRoutes.map((route) => ({
      path: route.path,
      methods: [...(route.read ? ['GET', 'HEAD'] : []), ...Object.keys(route.change ?? {})],
      urlBytesMax,
      query: { listsMax: new Map(), anyCase: false },
      pattern: pathPattern(route.path),
      ...(route.sameOrigin && { sameOrigin: route.sameOrigin }),
      handle: (request: ApiRequest, method: string) => handleExtra(app, route, request, method),
    })),
  ]
}

/** Endpoints with the key in the query match parameter names in any letter case (behaviour/explorer.md#parameters). */
const queryRules = ({ handlers }: RouteHandlers): QueryRules => ({
  listsMax: new Map(
    handlers.flatMap(({ endpoint }) =>
      Object.entries(endpoint.input.properties as Record<string, { readonly maxItems?: number }>)
        .filter(([, { maxItems = 0 }]) => maxItems > valuesPerNameMax)
        .map(([name, { maxItems = 0 }]) => [name, maxItems] as const),
    ),
  ),
  anyCase: handlers[0].endpoint.auth === 'apikey',
})

async function handleExtra(app: App, route: ExtraRoute, request: ApiRequest, method: string): Promise<ApiResponse> {
  const startMs = app.context.clock.monotonicMs()
  let response: ApiResponse
  let outcome = 'ok'
  try {
    if (!route.isUnlimited) app.limitKeylessPath(route.path, networkOf(request.address))
    const reply = route.change?.[method as 'POST' | 'DELETE'] ?? route.read
    if (!reply) throw new Error(`no handler for ${method} ${route.path}`)
    // Aliases are for existing clients, not for the pages of the console.
    const changesFields = !route.sameOrigin && !route.appliesAliases
    if (changesFields) app.aliases.etags?.restoreIn(request.headers)
    response = await runExtra(app, route, reply, request)
    if (changesFields) response = applyFieldAliases(app.aliases, response)
  } catch (error) {
    const fault = toFault(app, error, request)
    response = renderFault(defaultErrorFormat, fault, 'open')
    outcome = faultOutcome(fault)
  }
  const tookMs = app.context.clock.monotonicMs() - startMs
  app.meter.request(route.path, outcome, tookMs)
  logRequest(app, request, { endpoint: route.path, status: response.status, outcome, tookMs })
  return response
}

function runExtra(
  { context, deadlines, createRequestContext }: App,
  { endsCalls }: ExtraRoute,
  reply: ExtraHandler<never>,
  request: ApiRequest,
): Awaitable<ApiResponse> {
  if (endsCalls) return reply(request, context as never)
  return deadlines.within((deadline) => reply(request, createRequestContext(deadline) as never), request.onCallerGone)
}

/** The page for people who mistype an address; undefined: there is none. */
export type NotFoundPage = (headers: ApiRequest['headers']) => Promise<ApiResponse | undefined>

/** Whether a browser asks for a path that begins like none of an interface. */
export const isMistypedAddress = (app: App, fault: Fault, { method, path, accept }: MistypedRequest): boolean =>
  fault.code === 'route.unknown' &&
  (method === 'GET' || method === 'HEAD') &&
  prefersHtml(accept) &&
  !app.routes.some((route) => firstSegmentOf(route.path) === firstSegmentOf(path))

const firstSegmentOf = (path: string): string => path.split('/', 2)[1] ?? ''

interface MistypedRequest {
  readonly method: string | undefined
  readonly path: string
  readonly accept: string | undefined
}

/**
 * The response to a request that reached no endpoint, in the error format of the nearest route. `page` is sent in its
 * place.
 */
export function refusal(app: App, request: LoggedRequest, fault: Fault, page?: ApiResponse): ApiResponse {
  const route = findNearestRoute(app.routes, request.path)
  const auth = route?.handlers[0].endpoint.auth ?? 'open'
  const response = page ?? renderFault(route?.errorFormat ?? defaultErrorFormat, fault, auth)
  app.meter.request('none', faultOutcome(fault))
  logRequest(app, request, { status: response.status, outcome: faultOutcome(fault) })
  return route ? applyFieldAliases(app.aliases, response) : response
}

type PathMethods = Pick<HttpRoute, 'methods' | 'sameOrigin'>

/** What all routes of this path support; undefined: there is none. */
export function findPathMethods(routes: readonly HttpRoute[], path: string): PathMethods | undefined {
  const atPath = routes.filter(({ pattern }) => pattern.test(path))
  return atPath[0] && { ...atPath[0], methods: [...new Set(atPath.flatMap(({ methods }) => methods))] }
}

/** Unknown path, or wrong method. */
export function noRouteFault({ context }: App, routes: readonly HttpRoute[], path: string): Fault {
  const route = findPathMethods(routes, path)
  if (!route) return new Fault('route.unknown')
  const allow = [...route.methods, ...(route.sameOrigin || !context.settings.server.cors ? [] : ['OPTIONS'])]
  return new Fault('route.method', { headers: { allow: allow.join(', ') } })
}

/** For a malformed percent-encoding and for a parameter that is too long. */
export function badUrlFault(app: App, path: string): Fault {
  if (path.length > app.context.settings.server.urlBytesMax) return new Fault('input.url_too_long')
  const name = /\{(\w+)\}/.exec(findNearestRoute(app.routes, path)?.path ?? '')?.[1] ?? 'url'
  return invalid(['path', name], 'has a malformed percent-encoding')
}

const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'x-request-id, retry-after, etag, last-modified, content-location, x-tetrad-fault, x-tetrad-as-of, x-tetrad-finality, x-tetrad-coverage, x-tetrad-method, x-tetrad-ignored, x-tetrad-large-integers',
} as const

const allowedHeaders = new Set([
  ...['authorization', 'content-type', 'x-request-id', 'if-none-match', 'if-modified-since'],
  ...Object.values(allRoutes).flatMap(({ headers = {} }) => Object.values(headers)),
])

/** Headers of every response that has no others with these names. */
export const commonHeaders = ({ server }: Settings, route?: HttpRoute): Record<string, string> => ({
  'cache-control': 'no-store',
  ...securityHeaders,
  ...(server.cors && !route?.sameOrigin && corsHeaders),
})

/** The response to a CORS preflight request. */
export const preflight = (settings: Settings, { methods }: PathMethods): ApiResponse => ({
  status: 204,
  headers: {
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': [...allowedHeaders, ...Object.keys(settings.aliases.requestHeaders)].join(', '),
    'access-control-max-age': '86400',
  },
  body: '',
})
