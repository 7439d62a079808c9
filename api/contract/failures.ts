// An example of each fault in the format of each group, for the OpenAPI document, the endpoint pages and the checks of
// other servers.
import { errorFormatOf, type Problem, type RenderedError } from './error-formats.ts'
import { commonFaults, type FaultCode, faults, keyFaults } from './faults.ts'
import type { Endpoint } from './kit.ts'
import type { Group, Route } from './routes.ts'
import { ExplorerFailure } from './wire/explorer.ts'
import { FxFailure } from './wire/fx.ts'
import { MarketsFailure } from './wire/markets.ts'
import { ValidatorsFailure } from './wire/validators.ts'

/** The error format of each group. */
export const failureSchemas = {
  explorer: ExplorerFailure,
  fx: FxFailure,
  validators: ValidatorsFailure,
  markets: MarketsFailure,
} as const

export interface FailureExample extends RenderedError {
  readonly code: FaultCode
}

/** Every fault of this endpoint, in the order of the table. */
export function faultsOf(endpoint: Endpoint): readonly FaultCode[] {
  const raised = new Set<FaultCode>([...commonFaults, ...keyFaults, ...endpoint.faults])
  if (endpoint.plan === 'free') raised.delete('plan.too_low')
  if (endpoint.group === 'explorer') raised.delete('input.unknown')
  if (endpoint.perSecond !== undefined) raised.add('limit.unavailable')
  return (Object.keys(faults) as FaultCode[]).filter((code) => raised.has(code))
}

export const failuresOf = (endpoint: Endpoint): readonly FailureExample[] =>
  faultsOf(endpoint).map((code) => failureExample(endpoint, code))

type FailingRoute = Pick<Route, 'group' | 'path' | 'plan' | 'perSecond' | 'selectedBy'>

export function failureExample(route: FailingRoute, code: FaultCode): FailureExample {
  const { plan, perSecond = 3 } = route
  const { status, message } = faults[code]
  const rendered = errorFormatOf(route).renderFault({
    code,
    status,
    publicMessage: message,
    problems: exampleProblem(route, code),
    textValues: { limit: perSecond, plan },
  })
  return { code, ...rendered }
}

function exampleProblem(route: FailingRoute, code: FaultCode): Problem[] {
  if (code === 'input.unknown') return [{ at: ['query', 'Limit'], message: 'is not known; did you mean limit?' }]
  return code === 'input.invalid' ? [invalidProblems[route.group](route)] : []
}

/** A problem that calls of the group can have. */
const invalidProblems: Readonly<Record<Group, (route: FailingRoute) => Problem>> = {
  explorer: ({ selectedBy }) =>
    selectedBy?.action === 'getlabelmasterlist'
      ? { at: ['query', 'format'], message: 'must be one of csv, json' }
      : { at: ['query', 'address'], message: 'is required' },
  fx: () => ({ at: ['body', 'tenor'], message: 'must be one of instant, hourly, daily', value: 'weekly' }),
  validators: () => ({ at: ['header', 'x-validator-network'], message: 'must be one of mainnet, hoodi, holesky' }),
  markets: ({ path }) => ({ at: ['path', path.includes('/{id}') ? 'id' : 'slug'], message: 'is malformed' }),
}
