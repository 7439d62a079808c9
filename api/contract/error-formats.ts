// The error format of each group: status and body of an error. The server renders its errors with them, and failures.ts
// the examples of the documentation. Existing clients match on these texts, so they must not change.
import type { FaultCode } from './faults.ts'
import { type Group, plans, type Route } from './routes.ts'
import type { ExplorerFailure } from './wire/explorer.ts'
import type { FxFailure } from './wire/fx.ts'
import type { MarketsFailure } from './wire/markets.ts'
import type { ValidatorsFailure } from './wire/validators.ts'

/** A problem with one input. `at` is its path, such as `['query', 'size']`. */
export interface Problem {
  readonly at: readonly string[]
  readonly message: string
  /** What the caller sent, if it is safe and short enough to repeat. */
  readonly value?: unknown
}

/** What an error is rendered from. */
export interface RaisedFault {
  readonly code: FaultCode
  readonly status: number
  readonly publicMessage: string
  readonly problems: readonly Problem[]
  /** Values that the texts of a format name: the limit that was reached, the plan that is needed. */
  readonly textValues: Readonly<Record<string, string | number>>
}

export interface RenderedError {
  readonly status: number
  readonly body: unknown
}

/** Renders errors in the format of a group. */
export interface ErrorFormat {
  renderFault(fault: RaisedFault): RenderedError
  renderNotFound(): RenderedError
}

const createFormat = (renderFault: ErrorFormat['renderFault']): ErrorFormat => ({
  renderFault,
  renderNotFound: () => renderFault(notFound),
})

const notFound: RaisedFault = {
  code: 'record.not_found',
  status: 404,
  publicMessage: 'Not found.',
  problems: [],
  textValues: {},
}

/** Texts that are not the message of the fault. */
type Texts = Readonly<Partial<Record<FaultCode, string>>>

/** All other errors of group A have status 200 (behaviour/explorer.md#error-responses). */
const keepsStatus: ReadonlySet<FaultCode> = new Set([
  'route.unknown',
  'route.method',
  'route.disabled',
  'explorer.link',
])

const explorerTexts: Texts = {
  'key.missing': 'Missing/Invalid API Key',
  'key.invalid': 'Invalid API Key',
  'key.throttled': 'Too many invalid api key attempts, please try again later',
  'limit.day': 'Max daily rate limit reached',
  'explorer.module': 'Error! Missing Or invalid Module name',
  'explorer.action': 'Error! Missing Or invalid Action name',
  'explorer.chain_unsupported': 'Missing or unsupported chainid parameter',
}

function explorerText({ code, publicMessage, problems: [problem], textValues: { limit, plan } }: RaisedFault): string {
  if (code === 'limit.second') return `Max calls per sec rate limit reached (${limit}/sec)`
  if (code === 'plan.too_low')
    return `This endpoint needs the ${plan} plan${plan === plans.at(-1) ? '' : ' or a higher one'}`
  if (code !== 'input.invalid' || !problem) return explorerTexts[code] ?? publicMessage
  const name = problem.at.at(-1)
  return name === 'address' ? 'Error! Invalid address format' : `Error! ${name} ${problem.message}`
}

export const explorerErrorFormat = createFormat((fault) => {
  const { code, status } = fault
  const isNotFound = code === 'record.not_found'
  const body: ExplorerFailure = {
    status: '0',
    message: isNotFound ? 'No data found' : 'NOTOK',
    result: isNotFound ? [] : explorerText(fault),
  }
  return { status: keepsStatus.has(code) ? status : 200, body }
})

/** Numbers of group B that are not derived from the status (behaviour/fx.md#error-codes). */
const fxNumbers: Readonly<Partial<Record<FaultCode, number>>> = {
  'fx.amount_range': 3005,
  'fx.pair_unknown': 3008,
  'fx.rate_stale': 3010,
  'fx.rate_disputed': 3010,
  'fx.stopped': 3010,
}

const fxNumber = (status: number): number => (status === 400 ? 2 : status === 403 ? 3 : status >= 500 ? -1 : status)

function fxProblem({ at, message, value }: Problem): NonNullable<FxFailure['errors']>[number] {
  const location = at.join('.')
  return {
    error: message.startsWith('is required') ? 'required' : 'invalid',
    message: `${location} ${message}`,
    location,
    ...(value !== undefined && { invalidValue: value }),
  }
}

export const fxErrorFormat = createFormat(({ code, status, publicMessage, problems }) => {
  const body: FxFailure = { code: fxNumbers[code] ?? fxNumber(status), message: publicMessage }
  if (problems.length > 0) body.errors = problems.map(fxProblem)
  return { status, body }
})

const validatorsTexts: Texts = {
  'key.missing': 'Not authenticated',
  'key.invalid': 'Could not validate access token.',
  'key.throttled': 'Too many requests',
  'limit.second': 'Too many requests',
  'limit.day': 'Too many requests',
  'route.unknown': 'Not found.',
  'server.internal': 'Internal server error.',
}

export const validatorsErrorFormat = createFormat(({ code, status, publicMessage, problems }) => {
  const entries = problems.map(({ at, message }) => ({ loc: [...at], msg: message, type: 'value_error' }))
  const detail = entries.length > 0 ? entries : (validatorsTexts[code] ?? publicMessage)
  return { status, body: { detail } satisfies ValidatorsFailure }
})

/** For endpoints of group D that look a record up by this input (behaviour/markets.md#errors). */
const createMarketsFormat = (key: 'slug' | 'id' | 'market'): ErrorFormat =>
  createFormat((fault) => {
    switch (fault.code) {
      case 'record.not_found':
        return marketsFailure(404, 'not found error', `${key} not found`)
      case 'input.invalid':
        return marketsFailure(422, 'validation error', marketsInputText(fault))
      case 'input.unknown':
        return marketsFailure(400, 'request error', marketsInputText(fault))
      case 'server.internal':
        return marketsFailure(500, 'internal error', 'cannot get the information')
      default:
        return marketsFailure(fault.status, marketsType(fault.status), fault.publicMessage)
    }
  })

const marketsFailure = (status: number, type: string, error: string): RenderedError => ({
  status,
  body: { type, error } satisfies MarketsFailure,
})

function marketsType(status: number): string {
  if (status === 401 || status === 403) return 'authorization error'
  if (status === 404) return 'not found error'
  if (status === 429) return 'rate limit error'
  return status < 500 ? 'request error' : 'availability error'
}

/** Slug and id have a fixed text; of a list, the item at fault is shown. */
function marketsInputText({ problems: [problem], publicMessage }: RaisedFault): string {
  if (!problem) return publicMessage
  const [, name, item] = problem.at
  if (name === 'slug' || name === 'id') return `${name} is invalid`
  return item === undefined
    ? `${name} ${problem.message}`
    : `${name}: ${JSON.stringify(problem.value)} ${problem.message}`
}

const marketsErrorFormat = createMarketsFormat('slug')
const marketByIdErrorFormat = createMarketsFormat('id')
const pricesErrorFormat = createMarketsFormat('market')

const errorFormats: Readonly<Record<Group, ErrorFormat>> = {
  explorer: explorerErrorFormat,
  fx: fxErrorFormat,
  validators: validatorsErrorFormat,
  markets: marketsErrorFormat,
}

export function errorFormatOf({ group, path }: Pick<Route, 'group' | 'path'>): ErrorFormat {
  if (group !== 'markets') return errorFormats[group]
  // A token, a condition or an id.
  if (path === '/prices-history') return pricesErrorFormat
  return path.includes('/{id}') ? marketByIdErrorFormat : marketsErrorFormat
}
