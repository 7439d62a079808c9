// An error that a caller, an operator or a source can cause. `publicMessage` is sent to callers; `detail` is only logged.
// Bugs are other errors, which callers get as `server.internal`.
import type { Problem, RaisedFault } from '#api/contract/error-formats.ts'
import { type FaultCode, faults } from '#api/contract/faults.ts'

export type { Problem }

export interface FaultOptions {
  /** Replaces the public message of the table. */
  readonly message?: string
  /** For the log only. Default: the problems, or the public message. */
  readonly detail?: string
  readonly problems?: readonly Problem[]
  readonly retryAfterMs?: number
  readonly textValues?: RaisedFault['textValues']
  /** Additional response headers, such as `allow`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

export class Fault extends Error implements RaisedFault {
  readonly code: FaultCode
  readonly publicMessage: string
  readonly detail: string
  readonly problems: readonly Problem[]
  readonly retryAfterMs: number | undefined
  readonly textValues: RaisedFault['textValues']
  readonly headers: Readonly<Record<string, string>>

  constructor(code: FaultCode, options: FaultOptions = {}) {
    const { problems = [], message = faults[code].message } = options
    const problemTexts = problems.map(({ at, message: text }) => `${at.join('.')} ${text}`)
    const detail = options.detail ?? (problemTexts.join('; ') || message)
    super(`${code}: ${detail}`, { cause: options.cause })
    this.name = 'Fault'
    this.code = code
    this.publicMessage = message
    this.detail = detail
    this.problems = problems
    this.retryAfterMs = options.retryAfterMs
    this.textValues = options.textValues ?? {}
    this.headers = options.headers ?? {}
  }

  get status(): number {
    return faults[this.code].status
  }
}

/** A fault about one input. */
export const invalid = (at: readonly string[], message: string, value?: unknown): Fault =>
  new Fault('input.invalid', { problems: [{ at, message, value }] })
