// What the client throws: one class per group, because each group words its failures differently, and one for the way
// there. No message ever holds a key, although group A's key is in the URL.
import type { AnyId, Group } from './routes.ts'
import type { FxFailure } from './wire/fx.ts'
import type { ValidatorsFailure } from './wire/validators.ts'

/** What is known about any failure, whatever its wording. */
export interface Circumstances {
  readonly group: Group
  readonly endpoint: AnyId
  /** HTTP status; 0 when no response came. Group A fails with 200 (decision 0016). */
  readonly status: number
  /** Names the request in the server's log. */
  readonly requestId: string | undefined
  /** How long the server asks the caller to wait. */
  readonly retryAfterMs: number | undefined
}

export class TetradError extends Error implements Circumstances {
  override readonly name: string = 'TetradError'
  readonly group: Group
  readonly endpoint: AnyId
  readonly status: number
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined
  /** The same call may succeed later without any change. */
  readonly retryable: boolean
  /** There is no such record; an interface that is switched off or a wrong address is not that. */
  readonly notFound: boolean

  constructor(
    at: Circumstances,
    says: string,
    traits: { readonly retryable?: boolean; readonly notFound?: boolean } = {},
  ) {
    super(`${at.endpoint}: ${says}`)
    this.group = at.group
    this.endpoint = at.endpoint
    this.status = at.status
    this.requestId = at.requestId
    this.retryAfterMs = at.retryAfterMs
    this.retryable = traits.retryable ?? retryableStatuses.has(at.status)
    this.notFound = traits.notFound ?? false
  }
}

/** No usable answer came: the network failed, time ran out, or what came is not an answer of this interface. */
export class TransportError extends TetradError {
  override readonly name: string = 'TransportError'
  readonly reason: 'network' | 'timeout' | 'unreadable'

  constructor(at: Circumstances, reason: TransportError['reason'], says: string) {
    super(at, says, { retryable: reason !== 'unreadable' || retryableStatuses.has(at.status) })
    this.reason = reason
  }
}

/** Group A: the envelope's `message`, and the words of its `result`. */
export class ExplorerError extends TetradError {
  override readonly name: string = 'ExplorerError'
  readonly result: string

  constructor(at: Circumstances, message: string, result: string) {
    const notFound = message === noDataFound
    const busy = at.retryAfterMs !== undefined || passing.test(result) || retryableStatuses.has(at.status)
    super(at, result || message, { retryable: busy && !notFound, notFound })
    this.result = result
  }
}

/** Group B: the code, and one entry per parameter problem. */
export class FxError extends TetradError {
  override readonly name: string = 'FxError'
  readonly code: number
  readonly errors: NonNullable<FxFailure['errors']>

  constructor(at: Circumstances, failure: FxFailure) {
    const problems = (failure.errors ?? []).map((problem) => problem.message)
    const notFound = at.status === 404 && failure.message === 'Not found.'
    super(at, `${[failure.message, ...problems].join('; ')} (code ${failure.code})`, { notFound })
    this.code = failure.code
    this.errors = failure.errors ?? []
  }
}

/** Group C: one text, or one entry per parameter problem. */
export class ValidatorsError extends TetradError {
  override readonly name: string = 'ValidatorsError'
  readonly detail: ValidatorsFailure['detail']

  constructor(at: Circumstances, detail: ValidatorsFailure['detail']) {
    const problems = typeof detail === 'string' ? [detail] : detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
    super(at, problems.join('; '), { notFound: at.status === 404 && detail === 'Not found.' })
    this.detail = detail
  }
}

/** Group D: the kind of failure and its words. */
export class MarketsError extends TetradError {
  override readonly name: string = 'MarketsError'
  readonly type: string
  readonly error: string

  constructor(at: Circumstances, type: string, error: string) {
    super(at, `${error} (${type})`, { notFound: at.status === 404 && error === 'slug not found' })
    this.type = type
    this.error = error
  }
}

export const noDataFound = 'No data found'

/**
 * Statuses whose faults pass with time in groups B, C and D, and 502, which a proxy in between answers with. A test holds
 * them against the fault table.
 */
export const retryableStatuses: ReadonlySet<number> = new Set([429, 500, 502, 503, 504])

/** Group A says the same in words only. A test holds these against the fault table. */
const passing =
  /rate limit|try again later|temporarily|at the moment|shutting down|took too long|not been read completely|broke on our side/i

/** The group's own error for a failure body. Undefined: the body is not of the group's shape. */
export function toGroupError(at: Circumstances, body: unknown): TetradError | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const said = body as Record<string, unknown>
  switch (at.group) {
    case 'explorer':
      if (said.status !== '0' || typeof said.message !== 'string') return undefined
      return new ExplorerError(at, said.message, typeof said.result === 'string' ? said.result : '')
    case 'fx':
      if (typeof said.code !== 'number' || typeof said.message !== 'string') return undefined
      return new FxError(at, said as unknown as FxFailure)
    case 'validators':
      if (typeof said.detail !== 'string' && !Array.isArray(said.detail)) return undefined
      return new ValidatorsError(at, said.detail as ValidatorsFailure['detail'])
    case 'markets':
      if (typeof said.type !== 'string' || typeof said.error !== 'string') return undefined
      return new MarketsError(at, said.type, said.error)
  }
}
