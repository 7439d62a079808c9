// What a caller, an operator or an upstream can cause. It has two voices: `says` may be shown to anyone, `detail` goes
// to the log only. A broken belief of ours is not a Fault but an assertion, and is answered as `server.internal`.
import { type FaultCode, faults } from '#api/faults.ts'

/** One thing wrong with one input. `at` is the path to it, `['query', 'size']`. */
export interface Problem {
  readonly at: readonly string[]
  readonly message: string
  /** What the caller sent, when it is safe and short enough to repeat. */
  readonly value?: unknown
}

export interface FaultOptions {
  /** Replaces the table's public words. */
  readonly message?: string
  /** For the log only. */
  readonly detail?: string
  readonly problems?: readonly Problem[]
  readonly retryAfterMs?: number
  /** Figures a group may put into its own words: the limit that was hit, the plan that is needed. */
  readonly terms?: Readonly<Record<string, string | number>>
  /** Response headers that go with it, such as `allow`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

export class Fault extends Error {
  readonly code: FaultCode
  readonly publicMessage: string
  readonly problems: readonly Problem[]
  readonly retryAfterMs: number | undefined
  readonly terms: Readonly<Record<string, string | number>>
  readonly headers: Readonly<Record<string, string>>

  constructor(code: FaultCode, options: FaultOptions = {}) {
    const message = options.message ?? faults[code].message
    super(`${code}: ${options.detail ?? message}`, { cause: options.cause })
    this.name = 'Fault'
    this.code = code
    this.publicMessage = message
    this.problems = options.problems ?? []
    this.retryAfterMs = options.retryAfterMs
    this.terms = options.terms ?? {}
    this.headers = options.headers ?? {}
  }

  get status(): number {
    return faults[this.code].status
  }
}

/** A fault about one input. */
export const invalid = (at: readonly string[], message: string, value?: unknown): Fault =>
  new Fault('input.invalid', { problems: [{ at, message, value }], detail: `${at.join('.')}: ${message}` })
