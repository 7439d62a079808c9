// Follows the changes of markets over server-sent events. After a disconnect it reconnects from the last cursor, so that
// every change is returned exactly once.
//
// 1. The cursor is the id of the last event of any kind. Streams start with a cursor event, so no change is lost if the
//    connection breaks before the first change.
// 2. Iteration ends with an error if the server refuses permanently, or after `failuresMax` consecutive failures.
// 3. A connection without data for `idleMs` counts as broken: the server sends something every 15 s.

import { parseJson } from '../contract/json.ts'
import type { HttpCall } from '../contract/request.ts'
import type { InputOf, ReplyOf } from './calls.ts'
import { retryableStatuses, TetradError, TransportError } from './errors.ts'
import { type CallEndpoint, type ClientEnvironment, contextOf } from './send.ts'

type StreamEndpoint = 'markets.changeStream'

export interface WatchOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined
  /** Consecutive failures after which it throws; default 10. */
  readonly failuresMax?: number | undefined
  /** How long a connection may be silent before it counts as broken; default 45 000. */
  readonly idleMs?: number | undefined
}

export interface WatchMethods {
  /** Every change after `after` (default: from now on), in order, until the signal aborts. */
  watchChanges(input?: InputOf<StreamEndpoint>, options?: WatchOptions): AsyncGenerator<ReplyOf<StreamEndpoint>>
}

const eventCharsMax = 4_194_304
const failureAt = (status: number, headers?: Headers) => contextOf('markets.changeStream', status, headers)

export function watchMethods(
  requestFor: (input: object) => HttpCall,
  callEndpoint: CallEndpoint,
  environment: ClientEnvironment,
  scrub: (text: string) => string,
): WatchMethods {
  /** Throws the group's error for a refused stream, which the endpoint for lists returns as well (2). */
  async function throwRefusal(input: InputOf<'markets.changes'>, signal?: AbortSignal): Promise<void> {
    try {
      await callEndpoint('markets.changes', { ...input, limit: 1 }, signal ? { signal } : {})
    } catch (error) {
      if (!(signal?.aborted || (error instanceof TetradError && error.retryable))) throw error
    }
  }
  return {
    async *watchChanges(input = {}, { signal, failuresMax = 10, idleMs = 45_000 } = {}) {
      const { lastEventId, ...wanted } = input
      let after = lastEventId ?? input.after
      let failures = 0
      while (!signal?.aborted) {
        try {
          for await (const { id, change } of openStream(
            requestFor({ ...wanted, after }),
            environment,
            idleMs,
            signal,
          )) {
            if (id !== undefined) {
              failures = 0
              after = id
            }
            if (change) yield change
          }
        } catch (error) {
          if (signal?.aborted) return
          if (isRefusal(error)) await throwRefusal({ ...wanted, after }, signal)
          failures += 1
          const message = error instanceof Error ? error.message : String(error)
          if (failures > failuresMax) throw new TransportError(failureAt(0), 'network', scrub(message))
        }
        await environment.sleep(Math.min(environment.waitMaxMs, 250 * 2 ** failures), signal)
      }
    },
  }
}

/** A permanent error status. */
const isRefusal = (error: unknown): boolean =>
  error instanceof TransportError && error.status >= 400 && !retryableStatuses.has(error.status)

interface StreamEvent {
  readonly id: string | undefined
  readonly change: ReplyOf<StreamEndpoint> | undefined
}

async function* openStream(
  { url, headers }: HttpCall,
  environment: ClientEnvironment,
  idleMs: number,
  signal?: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const stop = new AbortController()
  const follow = () => stop.abort(signal?.reason)
  signal?.addEventListener('abort', follow, { once: true })
  try {
    const init = { headers: { ...headers, accept: 'text/event-stream' }, signal: stop.signal }
    const response = await withIdleTimeout(
      environment.fetch(url, { ...init, redirect: 'error', credentials: 'omit' }),
      idleMs,
    )
    if (response.status !== 200 || !response.body) {
      await response.body?.cancel()
      throw new TransportError(failureAt(response.status, response.headers), 'network', `HTTP ${response.status}`)
    }
    yield* eventsIn(response.body.getReader(), idleMs)
  } finally {
    signal?.removeEventListener('abort', follow)
    stop.abort()
  }
}

async function* eventsIn(reader: ReadableStreamDefaultReader<Uint8Array>, idleMs: number): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { value, done } = await withIdleTimeout(reader.read(), idleMs)
      if (done) return
      text += decoder.decode(value, { stream: true })
      if (text.length > eventCharsMax)
        throw new TransportError(failureAt(200), 'unreadable', `an event is longer than ${eventCharsMax} characters`)
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = eventIn(text.slice(0, end))
        text = text.slice(end + 2)
        yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Rule 3. Time that the caller spends between two reads does not count. */
async function withIdleTimeout<T>(work: Promise<T>, idleMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const failure = new TransportError(failureAt(0), 'timeout', `no data for ${idleMs} ms`)
    timer = setTimeout(() => reject(failure), idleMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function eventIn(text: string): StreamEvent {
  const lines = text.split('\n')
  const valuesOf = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart())
  const data = valuesOf('data')
  const isChange = data.length > 0 && valuesOf('event').at(-1) === 'change'
  return {
    id: valuesOf('id').at(-1),
    change: isChange ? (parseJson(data.join('\n')) as ReplyOf<StreamEndpoint>) : undefined,
  }
}
