// The errors that the client throws: one class per group, because each group has its own error format, and one for
// connection problems. No message contains a key, although group A's key is in the URL.
import type { FaultCode } from '../contract/faults.ts'
import type { AnyId, Group } from '../contract/routes.ts'
import type { FxFailure } from '../contract/wire/fx.ts'
import type { ValidatorsFailure } from '../contract/wire/validators.ts'

/** A code of the error table, or one of a newer server. */
export type ErrorCode = FaultCode | (string & Record<never, never>)

/** What every error has. */
export interface FailureContext {
  readonly group: Group
  readonly endpoint: AnyId
  /** HTTP status; 0 without a response. Group A fails with 200 (behaviour/explorer.md#error-responses). */
  readonly status: number
  /** The code of the error (docs/errors.md). Undefined without a response, and from servers that do not send it. */
  readonly fault: ErrorCode | undefined
  /** The server logs the request under this id. */
  readonly requestId: string | undefined
  /** How long the server asks the caller to wait. */
  readonly retryAfterMs: number | undefined
}

export class TetradError extends Error implements FailureContext {
  override readonly name: string = 'TetradError'
  readonly group: Group
  readonly endpoint: AnyId
  readonly status: number
  readonly fault: ErrorCode | undefined
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined
  /** The same call may succeed later. */
  readonly retryable: boolean
  /** The record does not exist. False for a disabled interface or a wrong URL. */
  readonly notFound: boolean

  constructor(
    context: FailureContext,
    message: string,
    traits: { readonly retryable?: boolean; readonly notFound?: boolean } = {},
  ) {
    super(`${context.endpoint}: ${message}`)
    this.group = context.group
    this.endpoint = context.endpoint
    this.status = context.status
    this.fault = context.fault
    this.requestId = context.requestId
    this.retryAfterMs = context.retryAfterMs
    this.retryable = traits.retryable ?? retryableStatuses.has(context.status)
    this.notFound = traits.notFound ?? false
  }
}

/** No usable response: the network failed, the time limit was reached, or the response is not of this interface. */
export class TransportError extends TetradError {
  override readonly name: string = 'TransportError'
  readonly reason: 'network' | 'timeout' | 'unreadable'

  constructor(context: FailureContext, reason: TransportError['reason'], message: string) {
    super(context, message, { retryable: reason !== 'unreadable' || retryableStatuses.has(context.status) })
    this.reason = reason
  }
}

/** Group A: the envelope's `message` and `result`. */
export class ExplorerError extends TetradError {
  override readonly name: string = 'ExplorerError'
  readonly result: string

  constructor(context: FailureContext, message: string, result: string) {
    const notFound = message === noDataFound
    const retryable =
      context.retryAfterMs !== undefined || retryableText.test(result) || retryableStatuses.has(context.status)
    super(context, result || message, { retryable: retryable && !notFound, notFound })
    this.result = result
  }
}

/** Group B: the code, and one entry per parameter problem. */
export class FxError extends TetradError {
  override readonly name: string = 'FxError'
  readonly code: number
  readonly errors: NonNullable<FxFailure['errors']>

  constructor(context: FailureContext, failure: FxFailure) {
    const problems = (failure.errors ?? []).map((problem) => problem.message)
    const notFound = context.status === 404 && failure.message === 'Not found.'
    super(context, `${[failure.message, ...problems].join('; ')} (code ${failure.code})`, { notFound })
    this.code = failure.code
    this.errors = failure.errors ?? []
  }
}

/** Group C: one text, or one entry per parameter problem. */
export class ValidatorsError extends TetradError {
  override readonly name: string = 'ValidatorsError'
  readonly detail: ValidatorsFailure['detail']

  constructor(context: FailureContext, detail: ValidatorsFailure['detail']) {
    const problems = typeof detail === 'string' ? [detail] : detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
    super(context, problems.join('; '), { notFound: context.status === 404 && detail === 'Not found.' })
    this.detail = detail
  }
}

/** Group D: the type of the error and its text. */
export class MarketsError extends TetradError {
  override readonly name: string = 'MarketsError'
  readonly type: string
  readonly error: string

  constructor(context: FailureContext, type: string, error: string) {
    super(context, `${error} (${type})`, { notFound: context.status === 404 && /^(slug|id) not found$/.test(error) })
    this.type = type
    this.error = error
  }
}

export const noDataFound = 'No data found'

/**
 * Statuses of temporary errors in groups B, C and D, and 502, which a proxy may return. A test checks them against the
 * fault table.
 */
export const retryableStatuses: ReadonlySet<number> = new Set([429, 500, 502, 503, 504])

/** Texts of temporary errors in group A, which returns 200. A test checks them against the fault table. */
const retryableText = /rate limit|try again|temporarily|at the moment|took too long|not been read|^Internal error/i

/** The group's own error for a failure body. Undefined: the body does not have the group's format. */
export function toGroupError(at: FailureContext, body: unknown): TetradError | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const failure = body as Record<string, unknown>
  switch (at.group) {
    case 'explorer':
      if (failure.status !== '0' || typeof failure.message !== 'string') return undefined
      return new ExplorerError(at, failure.message, typeof failure.result === 'string' ? failure.result : '')
    case 'fx':
      if (typeof failure.code !== 'number' || typeof failure.message !== 'string') return undefined
      return new FxError(at, failure as unknown as FxFailure)
    case 'validators':
      if (typeof failure.detail !== 'string' && !Array.isArray(failure.detail)) return undefined
      return new ValidatorsError(at, failure.detail as ValidatorsFailure['detail'])
    case 'markets':
      if (typeof failure.type !== 'string' || typeof failure.error !== 'string') return undefined
      return new MarketsError(at, failure.type, failure.error)
  }
}
