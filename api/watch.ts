// Follows the changes of markets for as long as the caller likes: the stream of server-sent events while it lasts, and
// again from the last cursor when it breaks. Nothing is told twice and nothing is left out.
import type { Ask, InputOf, ReplyOf } from './calls.ts'
import { TransportError } from './errors.ts'
import { parseJson } from './json.ts'
import type { Outgoing } from './request.ts'
import type { World } from './send.ts'

type Stream = 'markets.changeStream'

export interface WatchOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal
  /** Consecutive failures after which it gives up with an error; default 10. */
  readonly failuresMax?: number
}

export interface WatchMethods {
  /** Every change after `after` (left out: from now on), in order, until the signal aborts. */
  watchChanges(input?: InputOf<Stream>, options?: WatchOptions): AsyncGenerator<ReplyOf<Stream>>
}

const eventCharsMax = 4_194_304
const at = {
  group: 'markets',
  endpoint: 'markets.changeStream',
  requestId: undefined,
  retryAfterMs: undefined,
} as const

export function watchMethods(
  address: (input: object) => Outgoing,
  ask: Ask,
  world: World,
  scrub: (text: string) => string,
): WatchMethods {
  return {
    async *watchChanges(input = {}, { signal, failuresMax = 10 } = {}) {
      let after = input.after
      let failures = 0
      while (!signal?.aborted) {
        try {
          for await (const change of open(address({ ...input, after }), world, signal)) {
            failures = 0
            after = change.cursor
            yield change
          }
        } catch (error) {
          if (signal?.aborted) return
          if (error instanceof TransportError && error.status >= 400) {
            // The list says in words of the group why the stream was refused.
            await ask('markets.changes', { ...input, after, limit: 1 }, signal ? { signal } : {})
          }
          failures += 1
          const words = error instanceof Error ? error.message : String(error)
          if (failures > failuresMax) throw new TransportError({ ...at, status: 0 }, 'network', scrub(words))
        }
        await world.sleep(Math.min(world.waitMaxMs, 250 * 2 ** failures), signal)
      }
    },
  }
}

async function* open({ url, headers }: Outgoing, world: World, signal?: AbortSignal): AsyncGenerator<ReplyOf<Stream>> {
  const response = await world.fetch(url, {
    headers: { ...headers, accept: 'text/event-stream' },
    redirect: 'error',
    credentials: 'omit',
    ...(signal && { signal }),
  })
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel()
    throw new TransportError({ ...at, status: response.status }, 'network', `HTTP ${response.status}`)
  }
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  let text = ''
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true })
      if (text.length > eventCharsMax)
        throw new TransportError({ ...at, status: 200 }, 'unreadable', 'an event has no end')
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const change = changeIn(text.slice(0, end))
        text = text.slice(end + 2)
        if (change) yield change
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** The data of one event; comments keep the line open and say nothing. */
function changeIn(event: string): ReplyOf<Stream> | undefined {
  const data = event
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart())
  return data.length === 0 ? undefined : (parseJson(data.join('\n')) as ReplyOf<Stream>)
}
