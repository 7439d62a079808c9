// Sends one request until it is answered, refused for good, or the bounds are reached.
// 1. A call is repeated only when that is safe: a GET; a POST with an idempotency key; a POST that was refused with 429
//    or 503 before anything was done (behaviour/http.md#client-retries).
// 2. At most `retries` repetitions, and no wait longer than `waitMaxMs`: a longer `retry-after` is the caller's affair.
// 3. Nothing thrown or handed out holds the key, not even what a foreign fetch says about the URL.
import { type FailureContext, noDataFound, type TetradError, TransportError, toGroupError } from './errors.ts'
import { parseJson } from './json.ts'
import type { HttpCall } from './request.ts'
import { type AnyId, allRoutes } from './routes.ts'

/** What came with an answer besides its body. */
export interface ResponseMeta {
  readonly endpoint: AnyId
  readonly status: number
  readonly requestId: string | undefined
  /** Block, epoch or time the answer rests on. */
  readonly asOf: string | undefined
  readonly finality: string | undefined
  /** `complete`, or the ranges that are there. */
  readonly coverage: string | undefined
  /** When the same call may bring more: of an answer that is not whole yet, or of a refusal. */
  readonly retryAfterMs: number | undefined
  /** 1 for the first try. */
  readonly attempt: number
  readonly headers: Headers
}

export interface SendOptions {
  /** Repetitions after the first try; default 2, at most 10. */
  readonly retries?: number | undefined
  /** For one try, body included; default 30 000. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Sees every response, those of failed tries and of each page too. */
  readonly onResponse?: ((meta: ResponseMeta) => void) | undefined
}

export interface ClientEnvironment {
  readonly fetch: typeof globalThis.fetch
  readonly sleep: (waitMs: number, signal?: AbortSignal) => Promise<void>
  readonly random: () => number
  readonly now: () => number
  /** Longest wait between two tries. */
  readonly waitMaxMs: number
}

/** Endpoints whose reply is a list: for them "nothing found" is an empty list, not an error (behaviour/http.md#client-errors). */
const lists: ReadonlySet<AnyId> = new Set(['explorer.labelListV2', 'explorer.labelListV1'])

const backoffMs = 250
/** Callers who were all told to come back at the same moment do not. */
const retrySpreadMs = 1000
const retriesMax = 10

export async function send(
  id: AnyId,
  outgoing: HttpCall,
  environment: ClientEnvironment,
  options: SendOptions,
  scrub: (text: string) => string,
): Promise<unknown> {
  const retries = Math.min(options.retries ?? 2, retriesMax)
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptOnce(id, outgoing, environment, options, scrub, attempt)
    } catch (error) {
      options.signal?.throwIfAborted()
      if (!(attempt <= retries) || !isRepeatable(error, outgoing)) throw error
      const { retryAfterMs } = error
      if (retryAfterMs !== undefined && retryAfterMs > environment.waitMaxMs) throw error
      const spreadMs = (retryAfterMs === undefined ? backoffMs : retrySpreadMs) * 2 ** attempt
      const waitMs = (retryAfterMs ?? 0) + environment.random() * spreadMs
      await environment.sleep(Math.min(waitMs, environment.waitMaxMs), options.signal)
      options.signal?.throwIfAborted()
    }
  }
}

/** Invariant 1. */
function isRepeatable(error: unknown, { method, headers }: HttpCall): error is TetradError {
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
): Promise<unknown> {
  signal?.throwIfAborted()
  const noResponse = {
    group: allRoutes[id].group,
    endpoint: id,
    status: 0,
    requestId: undefined,
    retryAfterMs: undefined,
  }
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
    // A redirect could carry the key elsewhere, and this interface never sends one.
    response = await environment.fetch(url, { ...init, redirect: 'error', credentials: 'omit', signal: stop.signal })
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (late) throw new TransportError(noResponse, 'timeout', `no answer within ${timeoutMs} ms`)
    throw new TransportError(noResponse, 'network', scrub(chainOf(error)))
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', follow)
  }
  onResponse?.(metaOf(id, response, attempt, environment.now()))
  return parseReply(id, toFailureContext(id, response, environment.now()), text, scrub)
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
    ? 'the answer is not JSON of this interface'
    : `HTTP ${context.status} without the usual body`
  throw new TransportError(context, 'unreadable', `${message}; is the base URL right?`)
}

function readBody(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

function toFailureContext(id: AnyId, { status, headers }: Response, nowMs: number): FailureContext {
  return {
    group: allRoutes[id].group,
    endpoint: id,
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: retryAfterMs(headers.get('retry-after'), nowMs),
  }
}

function metaOf(id: AnyId, { status, headers }: Response, attempt: number, nowMs: number): ResponseMeta {
  return {
    endpoint: id,
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    asOf: headers.get('x-tetrad-as-of') ?? undefined,
    finality: headers.get('x-tetrad-finality') ?? undefined,
    coverage: headers.get('x-tetrad-coverage') ?? undefined,
    retryAfterMs: retryAfterMs(headers.get('retry-after'), nowMs),
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

/** The words of an error and of what caused it; the error itself is not passed on (invariant 3). */
function chainOf(error: unknown): string {
  const messages: string[] = []
  for (let link = error; link instanceof Error && messages.length < 5; link = link.cause) messages.push(link.message)
  return messages.join(': ') || 'the network failed'
}
