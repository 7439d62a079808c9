// What a group hands to the pipeline: an endpoint of the contract, the shape of its group's failures, and the function
// that answers it from the context. Nothing here knows HTTP beyond headers.
import type { Endpoint, Parsed, Reply } from '#api/kit.ts'
import type { Plan } from '#api/routes.ts'
import type { Fault } from '#core/fault.ts'
import type { Context } from './context.ts'

/** Who is calling, once admitted. */
export interface Caller {
  /** `anonymous` where the group is open and no key was shown. */
  readonly keyId: string
  readonly plan: Plan
  /** Where somebody without a key comes from, as limits count it (core/network.ts). */
  readonly network?: string
}

/** The parts of the request that are not inputs of the contract. */
export interface RequestInfo {
  readonly caller: Caller
  readonly requestId: string
  /** Scheme and authority for absolute links: the configured public URL, or what the caller used. */
  readonly origin: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Aborts when nobody waits for the answer any more: what it has not begun for it need not be done. */
  readonly signal?: AbortSignal
}

/** How sure an answer is; lives in headers, never in bodies (behaviour/http.md#confidence-headers). */
export interface Confidence {
  /** Block, epoch or time the answer rests on. */
  readonly asOf?: string | number
  readonly finality?: 'finalized' | 'head'
  /** `complete`, or the ranges that are there. */
  readonly coverage?: string
}

export type HandlerResult<T> =
  | {
      readonly is: 'body'
      readonly body: T
      readonly confidence?: Confidence
      /** When the same call is likely to bring more. */
      readonly retryAfterMs?: number
      readonly headers?: Record<string, string>
    }
  /** A document that is kept ready as JSON bytes. */
  | {
      readonly is: 'bytes'
      readonly bytes: Uint8Array
      readonly confidence?: Confidence
      readonly headers?: Record<string, string>
    }
  | { readonly is: 'unchanged'; readonly headers: Record<string, string> }
  /** An answer without an end: it is made for as long as the caller listens, and stops when the signal aborts. */
  | {
      readonly is: 'stream'
      readonly type: string
      readonly chunks: (signal: AbortSignal) => AsyncIterable<string>
    }
  /** There is no such record: a value, not an exception. */
  | { readonly is: 'nothing'; readonly confidence?: Confidence }

export interface RenderedError {
  readonly status: number
  readonly body: unknown
}

/** How a group words its failures. */
export interface ErrorFormat {
  renderFault(fault: Fault): RenderedError
  renderNotFound(): RenderedError
}

export type RawQuery = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Handler<E extends Endpoint = Endpoint, C = Context> {
  readonly endpoint: E
  readonly errorFormat: ErrorFormat
  /** A check between plan and rate, where the group's order of checks asks for one (behaviour/explorer.md#order-of-checks). */
  checkQuery?(query: RawQuery, context: C): void
  /** A method, so that answers of different endpoints and groups fit one list. */
  handle(input: Parsed<E>, context: C, visit: RequestInfo): Promise<HandlerResult<Reply<E>>>
}

/** `C` is the context of the group, with its caches. */
export const createHandler = <E extends Endpoint, C = Context>(
  endpoint: E,
  errorFormat: ErrorFormat,
  handle: (input: Parsed<E>, context: C, visit: RequestInfo) => Promise<HandlerResult<Reply<E>>>,
  checkQuery?: (query: RawQuery, context: C) => void,
): Handler<E, C> => ({ endpoint, errorFormat, handle, ...(checkQuery && { checkQuery }) })
