// The interface between the groups and the HTTP pipeline: a handler answers one endpoint of the contract.
import { type ErrorFormat, errorFormatOf } from '#api/contract/error-formats.ts'
import type { Endpoint, Parsed, Reply } from '#api/contract/kit.ts'
import type { Plan } from '#api/contract/routes.ts'
import type { Awaitable } from '#core/awaitable.ts'
import type { Context } from './context.ts'
import type { ApiResponse } from './render.ts'

/** The sender of an authorized request. */
export interface Caller {
  /** `anonymous` without a key. */
  readonly keyId: string
  readonly plan: Plan
  /** The network of a caller without a key, by which limits are counted (caller-network.ts). */
  readonly network?: string
}

/** The parts of a request that are not inputs of the contract. */
export interface RequestInfo {
  readonly caller: Caller
  /** Scheme and authority for absolute links: the configured public URL, or the one that the caller used. */
  readonly origin: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** As the caller wrote it, for links to other pages. */
  readonly query: RawQuery
  /** Aborts when the caller has left or the time limit is reached. */
  readonly signal?: AbortSignal
}

/** How complete and final a response is; sent in headers (behaviour/http.md#confidence-headers). */
export interface Confidence {
  /** Block, epoch or time that the response is based on. */
  readonly asOf?: string | number
  readonly finality?: 'finalized' | 'head'
  /** `complete`, or the ranges that have been read. */
  readonly coverage?: string
}

export type HandlerResult<T> =
  | {
      readonly is: 'body'
      readonly body: T
      readonly confidence?: Confidence
      /** When the same call may return more. */
      readonly retryAfterMs?: number
      readonly headers?: Record<string, string>
    }
  /** A prepared JSON document. */
  | {
      readonly is: 'bytes'
      readonly bytes: Uint8Array
      readonly confidence?: Confidence
      readonly headers?: Record<string, string>
      /** The bytes are kept anyway, so they take no memory for this response. */
      readonly isBodyShared?: true
      /** For a result that is returned many times. It is then rendered once. */
      readonly rendered?: RenderedOnce
    }
  | { readonly is: 'unchanged'; readonly headers: Record<string, string> }
  /** An endless response. It ends when the signal aborts, and reads with a context of its own, which ends with it. */
  | {
      readonly is: 'stream'
      readonly type: string
      /** The context is that of the group. */
      readonly chunks: (signal: AbortSignal, context: never) => AsyncIterable<string>
    }
  /** The record does not exist. */
  | { readonly is: 'nothing'; readonly confidence?: Confidence }

/** Empty until the result is first rendered and sent. */
export interface RenderedOnce {
  response?: ApiResponse
  /** Names and values in turn, with those that every response of the path has. */
  headers?: { readonly list: readonly string[]; readonly common: object }
}

export type RawQuery = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Handler<E extends Endpoint = Endpoint, C = Context> {
  readonly endpoint: E
  readonly errorFormat: ErrorFormat
  /** Runs after the plan and before the rate limit is checked (behaviour/explorer.md#order-of-checks). */
  checkQuery?(query: RawQuery, context: C): void
  /** Declared as a method, so that handlers of different endpoints can be in one list. */
  handle(input: Parsed<E>, context: C, info: RequestInfo): Awaitable<HandlerResult<Reply<E>>>
}

/** Its `handle` always returns a promise. `C` is the context of the group, with its caches. */
export const createHandler = <E extends Endpoint, C = Context>(
  endpoint: E,
  handle: (input: Parsed<E>, context: C, info: RequestInfo) => Promise<HandlerResult<Reply<E>>>,
  checkQuery?: (query: RawQuery, context: C) => void,
) => ({
  endpoint,
  errorFormat: errorFormatOf(endpoint),
  handle,
  ...(checkQuery && { checkQuery }),
})
