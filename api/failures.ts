// Example bodies of each fault in the format of each group, for the OpenAPI document and the endpoint pages. A test
// checks them against the error formats of the server.
import { commonFaults, type FaultCode, type FaultRule, faults, keyFaults } from './faults.ts'
import type { Endpoint } from './kit.ts'
import { type Group, plans, type Route } from './routes.ts'
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

export interface FailureExample {
  readonly code: FaultCode
  readonly status: number
  readonly body: ExplorerFailure | FxFailure | ValidatorsFailure | MarketsFailure
}

/** Every fault of this endpoint, in the order of the table. */
export function faultsOf(endpoint: Endpoint): readonly FaultCode[] {
  const raised = new Set<FaultCode>([...commonFaults, ...keyFaults, ...endpoint.faults])
  if (endpoint.plan === 'free') raised.delete('plan.too_low')
  if (endpoint.perSecond !== undefined) raised.add('limit.unavailable')
  return (Object.keys(faults) as FaultCode[]).filter((code) => raised.has(code))
}

export const failuresOf = (endpoint: Endpoint): readonly FailureExample[] =>
  faultsOf(endpoint).map((code) => failureExample(endpoint, code))

export function failureExample(
  route: Pick<Route, 'group' | 'path' | 'plan' | 'perSecond' | 'select'>,
  code: FaultCode,
): FailureExample {
  return { code, ...writers[route.group](code, faults[code], route) }
}

type Writer = (
  code: FaultCode,
  rule: FaultRule,
  route: Pick<Route, 'path' | 'plan' | 'perSecond' | 'select'>,
) => Omit<FailureExample, 'code'>

/** Group A returns HTTP 200 except if no endpoint was reached (behaviour/explorer.md#error-responses). */
const explorerKeepsStatus: ReadonlySet<FaultCode> = new Set([
  'route.unknown',
  'route.method',
  'route.disabled',
  'explorer.link',
])

const explorer: Writer = (code, rule, { plan, perSecond = 3, select }) => {
  const message: Partial<Record<FaultCode, string>> = {
    'key.missing': 'Missing/Invalid API Key',
    'key.invalid': 'Invalid API Key',
    'key.throttled': 'Too many invalid api key attempts, please try again later',
    'limit.second': `Max calls per sec rate limit reached (${perSecond}/sec)`,
    'limit.day': 'Max daily rate limit reached',
    'plan.too_low': `This endpoint needs the ${plan} plan${plan === plans.at(-1) ? '' : ' or a higher one'}`,
    'explorer.module': 'Error! Missing Or invalid Module name',
    'explorer.action': 'Error! Missing Or invalid Action name',
    'explorer.chain_unsupported': 'Missing or unsupported chainid parameter',
    'input.invalid':
      select?.action === 'getlabelmasterlist'
        ? 'Error! format must be one of csv, json'
        : 'Error! Invalid address format',
  }
  const status = explorerKeepsStatus.has(code) ? rule.status : 200
  const isError = code !== 'record.not_found'
  return {
    status,
    body: {
      status: '0',
      message: isError ? 'NOTOK' : 'No data found',
      result: isError ? (message[code] ?? rule.message) : [],
    },
  }
}

const fx: Writer = (code, { status, message: faultMessage }) => {
  const special: Partial<Record<FaultCode, number>> = {
    'fx.amount_range': 3005,
    'fx.pair_unknown': 3008,
    'fx.rate_stale': 3010,
    'fx.rate_disputed': 3010,
  }
  const usual = status === 400 ? 2 : status === 403 ? 3 : status >= 500 ? -1 : status
  const body: FxFailure = { code: special[code] ?? usual, message: faultMessage }
  if (code !== 'input.invalid') return { status, body }
  const location = 'body.tenor'
  const message = `${location} must be one of instant, hourly, daily`
  return { status, body: { ...body, errors: [{ error: 'invalid', message, location, invalidValue: 'weekly' }] } }
}

const validators: Writer = (code, { status, message: faultMessage }) => {
  const message: Partial<Record<FaultCode, string>> = {
    'key.throttled': 'Too many requests',
    'limit.second': 'Too many requests',
    'limit.day': 'Too many requests',
    'key.missing': 'Not authenticated',
    'key.invalid': 'Could not validate access token.',
    'record.not_found': 'Not found.',
    'route.unknown': 'Not found.',
    'server.internal': 'Internal server error.',
  }
  const detail: ValidatorsFailure['detail'] =
    code === 'input.invalid'
      ? [
          {
            loc: ['header', 'x-validator-network'],
            msg: 'must be one of mainnet, hoodi, holesky',
            type: 'value_error',
          },
        ]
      : (message[code] ?? faultMessage)
  return { status, body: { detail } }
}

const markets: Writer = (code, { status, message }, { path }) => {
  const key = path.includes('/{id}') ? 'id' : 'slug'
  switch (code) {
    case 'record.not_found':
      return { status, body: { type: 'not found error', error: `${key} not found` } }
    case 'input.invalid':
      return { status: 422, body: { type: 'validation error', error: `${key} is invalid` } }
    case 'server.internal':
      return { status, body: { type: 'internal error', error: 'cannot get the information' } }
    default:
      return { status, body: { type: marketsType(status), error: message } }
  }
}

function marketsType(status: number): string {
  if (status === 429) return 'rate limit error'
  if (status === 401 || status === 403) return 'authorization error'
  if (status === 404) return 'not found error'
  return status >= 500 ? 'availability error' : 'request error'
}

const writers: Readonly<Record<Group, Writer>> = { explorer, fx, validators, markets }
