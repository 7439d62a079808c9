// Sends one request until it is answered, refused for good, or the bounds are reached.
// 1. A call is repeated only when that is safe: a GET; a POST with an idempotency key; a POST that was refused with 429
//    or 503 before anything was done (decision 0059).
// 2. At most `retries` repetitions, and no wait longer than `waitMaxMs`: a longer `retry-after` is the caller's affair.
// 3. Nothing thrown or handed out holds the key, not even what a foreign fetch says about the URL.
import { type Circumstances, noDataFound, type TetradError, TransportError, toGroupError } from './errors.ts'
import { parseJson } from './json.ts'
import type { Outgoing } from './request.ts'
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

export interface World {
  readonly fetch: typeof globalThis.fetch
  readonly sleep: (waitMs: number, signal?: AbortSignal) => Promise<void>
  readonly random: () => number
  readonly now: () => number
  /** Longest wait between two tries. */
  readonly waitMaxMs: number
}

/** Endpoints whose reply is a list: for them "nothing found" is an empty list, not an error (decision 0060). */
const lists: ReadonlySet<AnyId> = new Set(['explorer.labelListV2', 'explorer.labelListV1'])

const backoffMs = 250
/** Callers who were all told to come back at the same moment do not. */
const crowdMs = 1000
const retriesMax = 10

export async function send(
  id: AnyId,
  outgoing: Outgoing,
  world: World,
  options: SendOptions,
  scrub: (text: string) => string,
): Promise<unknown> {
  const retries = Math.min(options.retries ?? 2, retriesMax)
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptOnce(id, outgoing, world, options, scrub, attempt)
    } catch (error) {
      options.signal?.throwIfAborted()
      if (!(attempt <= retries) || !isRepeatable(error, outgoing)) throw error
      const { retryAfterMs } = error
      if (retryAfterMs !== undefined && retryAfterMs > world.waitMaxMs) throw error
      const spreadMs = (retryAfterMs === undefined ? backoffMs : crowdMs) * 2 ** attempt
      const waitMs = (retryAfterMs ?? 0) + world.random() * spreadMs
      await world.sleep(Math.min(waitMs, world.waitMaxMs), options.signal)
      options.signal?.throwIfAborted()
    }
  }
}

/** Invariant 1. */
function isRepeatable(error: unknown, { method, headers }: Outgoing): error is TetradError {
  const failure = error as Partial<TetradError>
  if (!failure.retryable) return false
  return method === 'GET' || 'idempotency-key' in headers || failure.status === 429 || failure.status === 503
}

async function attemptOnce(
  id: AnyId,
  outgoing: Outgoing,
  world: World,
  { timeoutMs = 30_000, signal, onResponse }: SendOptions,
  scrub: (text: string) => string,
  attempt: number,
): Promise<unknown> {
  signal?.throwIfAborted()
  const noAnswer = {
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
    response = await world.fetch(url, { ...init, redirect: 'error', credentials: 'omit', signal: stop.signal })
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (late) throw new TransportError(noAnswer, 'timeout', `no answer within ${timeoutMs} ms`)
    throw new TransportError(noAnswer, 'network', scrub(chainOf(error)))
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', follow)
  }
  onResponse?.(metaOf(id, response, attempt, world.now()))
  return replyOf(id, circumstancesOf(id, response, world.now()), text, scrub)
}

function replyOf(id: AnyId, at: Circumstances, text: string, scrub: (text: string) => string): unknown {
  const body = readBody(text) as { status?: unknown; message?: unknown } | undefined | null
  const succeeded = at.status >= 200 && at.status < 300
  if (succeeded && typeof body === 'object' && body !== null) {
    const failed = at.group === 'explorer' && body.status === '0'
    if (!failed || (lists.has(id) && body.message === noDataFound)) return body
  }
  const failure = toGroupError(at, readBody(scrub(text)))
  if (failure) throw failure
  const words = succeeded ? 'the answer is not JSON of this interface' : `HTTP ${at.status} without the usual body`
  throw new TransportError(at, 'unreadable', `${words}; is the base URL right?`)
}

function readBody(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

function circumstancesOf(id: AnyId, { status, headers }: Response, nowMs: number): Circumstances {
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
  const words: string[] = []
  for (let link = error; link instanceof Error && words.length < 5; link = link.cause) words.push(link.message)
  return words.join(': ') || 'the network failed'
}
