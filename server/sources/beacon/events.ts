// Listens to the event stream of beacon nodes (`GET /eth/v1/events`, server-sent events), to learn of new blocks at once.
// Only the names of the events are used: what has happened is always requested. Polling works without the stream, so no
// failure is reported.
//
// 1. A connection has a time limit and a size limit, and so does each line. After a connection has ended, the next
//    node is tried, with a growing wait after failures.
// 2. A node that does not offer the stream is asked again after an hour.
import type { Clock } from '#runtime/clock.ts'
import { FetchError, fetchStream } from '../http-client.ts'

export const eventTopics = ['head', 'finalized_checkpoint', 'chain_reorg'] as const
export type EventTopic = (typeof eventTopics)[number]

const connectionMs = 600_000
const connectionBytesMax = 64 * 1024 * 1024
const lineCharsMax = 65_536
const backoffMs = { min: 1000, max: 300_000 }
const unsupportedRestMs = 3_600_000
const unsupportedStatuses = new Set([400, 404, 405, 406, 501])

/** Runs until the signal aborts. */
export async function listenToEvents(
  { urls, clock }: { readonly urls: readonly string[]; readonly clock: Clock },
  onEvent: (topic: EventTopic) => void,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0
  for (let attempt = 0; !signal.aborted && urls.length > 0; attempt++) {
    const url = urls[attempt % urls.length] as string
    let waitMs: number = backoffMs.min
    try {
      await readEvents(url, onEvent, signal)
      failures = 0
    } catch (error) {
      if (!(error instanceof FetchError)) throw error
      // The time limit ends every connection.
      failures = error.failure === 'timeout' ? 0 : failures + 1
      const isUnsupported = unsupportedStatuses.has(error.status ?? 0)
      waitMs = isUnsupported
        ? unsupportedRestMs / urls.length
        : Math.min(backoffMs.max, backoffMs.min * 2 ** Math.min(failures, 16))
    }
    await clock.sleep(waitMs, signal)
  }
}

async function readEvents(url: string, onEvent: (topic: EventTopic) => void, signal: AbortSignal): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  const options = {
    timeoutMs: connectionMs,
    bytesMax: connectionBytesMax,
    headers: { accept: 'text/event-stream' },
    signal,
  }
  await fetchStream(addressOf(url), options, (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r/)
    rest = lines.pop() ?? ''
    if (rest.length > lineCharsMax) throw new FetchError('size', 'a line of the event stream is too long')
    for (const line of lines) {
      const topic = eventTopics.find((name) => line.startsWith('event:') && line.slice(6).trim() === name)
      if (topic) onEvent(topic)
    }
  })
}

function addressOf(url: string): string {
  const [address = '', query] = url.split('?', 2)
  const topics = `topics=${eventTopics.join(',')}`
  return `${address.replace(/\/+$/, '')}/eth/v1/events?${topics}${query === undefined ? '' : `&${query}`}`
}
