// Sends one request, with retries.
//
// 1. A call is retried only if that is safe: a GET, a POST with an idempotency key, or a POST that was refused with 429
//    or 503 before anything was done (behaviour/http.md#client-retries).
// 2. At most `retries` retries, and no wait longer than `waitMaxMs`. If `retry-after` is longer, the error is thrown.
// 3. No error and no metadata contains the key, even if an error of fetch contains the URL.

import { parseJson } from '../contract/json.ts'
import type { HttpCall } from '../contract/request.ts'
import { type AnyId, allRoutes } from '../contract/routes.ts'
import {
  type ErrorCode,
  type FailureContext,
  noDataFound,
  type TetradError,
  TransportError,
  toGroupError,
} from './errors.ts'

/** Metadata of a response. */
export interface ResponseMeta {
  readonly endpoint: AnyId
  readonly status: number
  /** The code of an error. */
  readonly fault: ErrorCode | undefined
  readonly requestId: string | undefined
  /** Block, epoch or time that the response is based on. */
  readonly asOf: string | undefined
  readonly finality: string | undefined
  /** `complete`, or the ranges that have been read. */
  readonly coverage: string | undefined
  /** When to call again, for an incomplete response or an error. */
  readonly retryAfterMs: number | undefined
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly headers: Headers
}

export interface SendOptions {
  /** Retries after the first attempt; default 2, at most 10. */
  readonly retries?: number | undefined
  /** Time limit of one attempt, including the body; default 30 000. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Called for every response, including failed attempts and each page. */
  readonly onResponse?: ((meta: ResponseMeta) => void) | undefined
}

export interface ClientEnvironment {
  readonly fetch: typeof globalThis.fetch
  readonly sleep: (waitMs: number, signal?: AbortSignal) => Promise<void>
  readonly random: () => number
  readonly now: () => number
  /** Longest wait between two attempts. */
  readonly waitMaxMs: number
}

/** Calls an endpoint; `query` replaces the query inputs. */
export type CallEndpoint = (
  id: AnyId,
  input: Readonly<Record<string, unknown>>,
  options: SendOptions,
  query?: URLSearchParams,
) => Promise<Answer>

/** A successful response. */
export interface Answer {
  readonly reply: unknown
  readonly meta: ResponseMeta
}

/** Endpoints that return a list: "No data found" is an empty list, not an error (behaviour/http.md#client-errors). */
const lists: ReadonlySet<AnyId> = new Set(['explorer.labelListV2', 'explorer.labelListV1'])

const backoffMs = 250
/** Spreads retries of callers that got the same `retry-after`. */
const retrySpreadMs = 1000
const retriesMax = 10

export async function send(
  id: AnyId,
  outgoing: HttpCall,
  environment: ClientEnvironment,
  options: SendOptions,
  scrub: (text: string) => string,
): Promise<Answer> {
  const retries = Math.min(options.retries ?? 2, retriesMax)
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptOnce(id, outgoing, environment, options, scrub, attempt)
    } catch (error) {
      options.signal?.throwIfAborted()
      if (!(attempt <= retries) || !isRetryable(error, outgoing)) throw error
      const { retryAfterMs } = error
      if (retryAfterMs !== undefined && retryAfterMs > environment.waitMaxMs) throw error
      const spreadMs = (retryAfterMs === undefined ? backoffMs : retrySpreadMs) * 2 ** attempt
      const waitMs = (retryAfterMs ?? 0) + environment.random() * spreadMs
      await environment.sleep(Math.min(waitMs, environment.waitMaxMs), options.signal)
      options.signal?.throwIfAborted()
    }
  }
}

/** Rule 1. */
function isRetryable(error: unknown, { method, headers }: HttpCall): error is TetradError {
  const failure = error as Partial<TetradError>
  if (!failure.retryable) return false
  return method === 'GET' || 'idempotency-key' in headers || failure.status === 429 || failure.status === 503
}

async function attemptOnce(
  id: AnyId,
  outgoing: HttpCall,
  environment: ClientEnvironment,
  { timeoutMs = 30_000, signal, onResponse }: SendOptions,
  scrub: (text: string) => string,
  attempt: number,
): Promise<Answer> {
  signal?.throwIfAborted()
  const stop = new AbortController()
  const follow = () => stop.abort(signal?.reason)
  signal?.addEventListener('abort', follow, { once: true })
  let late = false
  const timer = setTimeout(() => {
    late = true
    stop.abort()
  }, timeoutMs)
  let response: Response
  let text: string
  try {
    const { url, ...init } = outgoing
    // A redirect could send the key to another host. The server never redirects.
    response = await environment.fetch(url, { ...init, redirect: 'error', credentials: 'omit', signal: stop.signal })
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (late) throw new TransportError(contextOf(id, 0), 'timeout', `no response within ${timeoutMs} ms`)
    throw new TransportError(contextOf(id, 0), 'network', scrub(messagesOf(error) || 'the network failed'))
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', follow)
  }
  const context = contextOf(id, response.status, response.headers, environment.now())
  const meta = metaOf(context, response.headers, attempt)
  onResponse?.(meta)
  return { reply: parseReply(id, context, text, scrub), meta }
}

function parseReply(id: AnyId, context: FailureContext, text: string, scrub: (text: string) => string): unknown {
  const body = readBody(text) as { status?: unknown; message?: unknown } | undefined | null
  const succeeded = context.status >= 200 && context.status < 300
  if (succeeded && typeof body === 'object' && body !== null) {
    const failed = context.group === 'explorer' && body.status === '0'
    if (!failed || (lists.has(id) && body.message === noDataFound)) return body
  }
  const failure = toGroupError(context, readBody(scrub(text)))
  if (failure) throw failure
  const message = succeeded
    ? 'the response is not JSON of this interface'
    : `HTTP ${context.status} without the expected body`
  throw new TransportError(context, 'unreadable', `${message}; check the base URL`)
}

/** Undefined if the text is not JSON. */
export function readBody(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** The context of a failure. Status 0: there was no response. */
export const contextOf = (id: AnyId, status: number, headers = new Headers(), nowMs = 0): FailureContext => ({
  group: allRoutes[id].group,
  endpoint: id,
  status,
  fault: headers.get('x-tetrad-fault') ?? undefined,
  requestId: headers.get('x-request-id') ?? undefined,
  retryAfterMs: retryAfterMs(headers.get('retry-after'), nowMs),
})

function metaOf({ group: _group, ...context }: FailureContext, headers: Headers, attempt: number): ResponseMeta {
  return {
    ...context,
    asOf: headers.get('x-tetrad-as-of') ?? undefined,
    finality: headers.get('x-tetrad-finality') ?? undefined,
    coverage: headers.get('x-tetrad-coverage') ?? undefined,
    attempt,
    headers,
  }
}

/** Seconds, or a date (RFC 9110, 10.2.3). */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

/** The messages of an error and its causes. The error itself may contain the key (rule 3). */
export function messagesOf(error: unknown): string {
  const messages: string[] = []
  for (let link = error; link instanceof Error && messages.length < 5; link = link.cause) messages.push(link.message)
  return messages.join(': ')
}
