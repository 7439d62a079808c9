// Finds the endpoint of a request. Some paths have several endpoints, selected by the query parameters `module` and
// `action` (behaviour/explorer.md#order-of-checks).
import type { ErrorFormat } from '#api/contract/error-formats.ts'
import type { FaultCode } from '#api/contract/faults.ts'
import { Fault } from '#core/fault.ts'
import type { Handler, RawQuery } from './handler.ts'

/** All handlers of one path and method. */
export interface RouteHandlers {
  readonly path: string
  readonly errorFormat: ErrorFormat
  readonly handlers: readonly [Handler, ...Handler[]]
  /** For the `allow` header. */
  readonly methods: readonly string[]
}

export function groupHandlersByRoute(handlers: readonly Handler[]): readonly RouteHandlers[] {
  const byRoute = Map.groupBy(handlers, ({ endpoint }) => `${endpoint.method} ${endpoint.path}`)
  return [...byRoute.values()].map((atRoute) => {
    const handlers = atRoute as [Handler, ...Handler[]]
    const [first] = handlers
    return { path: first.endpoint.path, errorFormat: first.errorFormat, handlers, methods: methodsOf(first) }
  })
}

/** Endpoints with the key in the query also accept parameters as a form (behaviour/explorer.md#parameters). */
function methodsOf(handler: Handler): readonly string[] {
  if (handler.endpoint.method === 'POST') return ['POST']
  return handler.endpoint.auth === 'apikey' ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD']
}

/**
 * A fault if the parameters select no endpoint. Uses the query only if it selects the endpoint, because it is parsed when
 * it is first used.
 */
export function chooseHandler(route: RouteHandlers, request: { readonly query: RawQuery }): Handler | Fault {
  const [first] = route.handlers
  if (!first.endpoint.selectedBy) return first
  const { query } = request
  const [module, action] = [lowerText(query.module), lowerText(query.action)]
  const inModule = ({ endpoint }: Handler) => endpoint.selectedBy?.module === module
  const chosen = route.handlers.find((handler) => inModule(handler) && handler.endpoint.selectedBy?.action === action)
  if (chosen) return chosen
  // An interface that selects endpoints by parameters has a fault for each of the two.
  return new Fault(`${first.endpoint.group}.${route.handlers.some(inModule) ? 'action' : 'module'}` as FaultCode)
}

const lowerText = (value: RawQuery[string]): string => (typeof value === 'string' ? value.toLowerCase() : '')

/**
 * The route that shares the longest start of its path, in whole segments. It decides the error format of unknown and of
 * malformed paths. Undefined if there is none, or if routes of several groups share it.
 */
export function findNearestRoute(routes: readonly RouteHandlers[], path: string): RouteHandlers | undefined {
  const segments = segmentsOf(path)
  let nearest: RouteHandlers[] = []
  let length = 1
  for (const route of routes) {
    const shared = countShared(segmentsOf(route.path), segments)
    if (shared > length) [nearest, length] = [[], shared]
    if (shared === length) nearest.push(route)
  }
  const [first, ...others] = nearest
  const group = first?.handlers[0].endpoint.group
  return others.every(({ handlers }) => handlers[0].endpoint.group === group) ? first : undefined
}

/** After the first slash. */
const segmentsOf = (path: string): string[] => path.split('/', segmentsMax).slice(1)
/** More than any route has. */
const segmentsMax = 12

/** A parameter shares every segment. */
function countShared(route: readonly string[], path: readonly string[]): number {
  const different = route.findIndex((segment, at) => !segment.includes('{') && segment !== path[at])
  return Math.min(different < 0 ? route.length : different, path.length)
}
