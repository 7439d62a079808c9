// Finds the endpoint of a request. Some paths have several endpoints, selected by the query parameters `module` and
// `action` (behaviour/explorer.md#order-of-checks).
import type { ErrorFormat } from '#api/contract/error-formats.ts'
import type { FaultCode } from '#api/contract/faults.ts'
import { Fault } from '#core/fault.ts'
import type { Handler, RawQuery } from './handler.ts'

/** All handlers of one path and method. */
export interface HandlerGroup {
  readonly path: string
  readonly errorFormat: ErrorFormat
  readonly handlers: readonly [Handler, ...Handler[]]
  /** For the `allow` header. */
  readonly methods: readonly string[]
}

export function groupHandlersByRoute(handlers: readonly Handler[]): readonly HandlerGroup[] {
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

/** Uses the query only if it selects the endpoint, because it is parsed when it is first used. */
export function choose(group: HandlerGroup, request: { readonly query: RawQuery }): Handler {
  const [first] = group.handlers
  if (!first.endpoint.selectedBy) return first
  const { query } = request
  const [module, action] = [lowerText(query.module), lowerText(query.action)]
  const inModule = ({ endpoint }: Handler) => endpoint.selectedBy?.module === module
  const chosen = group.handlers.find((handler) => inModule(handler) && handler.endpoint.selectedBy?.action === action)
  if (chosen) return chosen
  // Groups that selectedBy by parameters have a fault for each of them.
  throw new Fault(`${first.endpoint.group}.${group.handlers.some(inModule) ? 'action' : 'module'}` as FaultCode)
}

const lowerText = (value: RawQuery[string]): string => (typeof value === 'string' ? value.toLowerCase() : '')

/** The group whose path has the same start, so that errors of malformed paths have the format of their group. */
export function findNearestGroup(groups: readonly HandlerGroup[], path: string): HandlerGroup | undefined {
  let best: HandlerGroup | undefined
  let length = 1
  for (const group of groups) {
    const [fixed = '', parameter] = group.path.split('{')
    const inside = parameter === undefined ? path === fixed || path.startsWith(`${fixed}/`) : path.startsWith(fixed)
    if (inside && fixed.length > length) [best, length] = [group, fixed.length]
  }
  return best
}
