// Listens to the event stream of beacon nodes (`GET /eth/v1/events`, server-sent events), to learn of new blocks at once.
// What has happened is always requested, with one exception: whether a node regards the payload of its newest block as
// part of the chain (since Gloas) is only in its events. Polling works without the stream, so no failure is reported.
//
// 1. A connection has a time limit and a size limit, and so does each event. After a connection has ended, the next
//    node is tried, with a growing wait after failures.
// 2. A node that does not know one of the topics rejects all of them. It is then asked for those before Gloas, and then
//    for those since Gloas: `head_v2` replaces `head`, which nodes may drop one day.
// 3. A node that does not offer the stream is asked again after an hour.
import type { Clock } from '#runtime/clock.ts'
import { FetchError, fetchStream } from '../http-client.ts'
import { hexOf, readFields } from './json.ts'

const topicsOfAllNodes = ['finalized_checkpoint', 'chain_reorg'] as const
const topicsSinceGloas = ['head_v2', 'execution_payload'] as const
export const eventTopics = ['head', ...topicsOfAllNodes, ...topicsSinceGloas] as const
export type EventTopic = (typeof eventTopics)[number]

/** Requested one after the other until the node knows all topics of one. */
const selections: readonly (readonly EventTopic[])[] = [
  eventTopics,
  ['head', ...topicsOfAllNodes],
  [...topicsOfAllNodes, ...topicsSinceGloas],
]

export interface BeaconEvent {
  readonly topic: EventTopic
  /** The block of `head`, `head_v2` and `execution_payload`. Undefined if the node's text is not valid. */
  readonly root?: string | undefined
  /** Of `head_v2`: whether the next block would build on the payload of the newest one, as the node sees it. */
  readonly payloadStatus?: PayloadStatus | undefined
}

export type PayloadStatus = 'full' | 'empty'

const connectionMs = 600_000
const connectionBytesMax = 64 * 1024 * 1024
const eventCharsMax = 65_536
const backoffMs = { min: 1000, max: 300_000 }
const unsupportedRestMs = 3_600_000
const unsupportedStatuses = new Set([400, 404, 405, 406, 501])

/** Runs until the signal aborts. */
export async function listenToEvents(
  { urls, clock }: { readonly urls: readonly string[]; readonly clock: Clock },
  onEvent: (event: BeaconEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0
  for (let attempt = 0; !signal.aborted && urls.length > 0; attempt++) {
    const url = urls[attempt % urls.length] as string
    let waitMs: number = backoffMs.min
    try {
      await readKnownEvents(url, onEvent, signal)
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

async function readKnownEvents(url: string, onEvent: (event: BeaconEvent) => void, signal: AbortSignal): Promise<void> {
  for (const [at, topics] of selections.entries()) {
    try {
      return await readEvents(addressOf(url, topics), onEvent, signal)
    } catch (error) {
      const isUnsupported = error instanceof FetchError && unsupportedStatuses.has(error.status ?? 0)
      if (!isUnsupported || at === selections.length - 1) throw error
    }
  }
}

async function readEvents(address: string, onEvent: (event: BeaconEvent) => void, signal: AbortSignal): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  let [name, data] = ['', '']
  const options = {
    timeoutMs: connectionMs,
    bytesMax: connectionBytesMax,
    headers: { accept: 'text/event-stream' },
    signal,
  }
  await fetchStream(address, options, (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('event:')) name = line.slice(6).trim()
      if (line.startsWith('data:')) data += line.slice(5)
      if (data.length > eventCharsMax) break
      if (line !== '') continue
      const topic = eventTopics.find((known) => known === name)
      if (topic) onEvent({ topic, ...detailsOf(topic, data) })
      ;[name, data] = ['', '']
    }
    if (rest.length > eventCharsMax || data.length > eventCharsMax)
      throw new FetchError('size', 'an event of the event stream is too long')
  })
}

function detailsOf(topic: EventTopic, data: string): Omit<BeaconEvent, 'topic'> {
  try {
    if (topic === 'execution_payload')
      return { root: hexOf(readFields(JSON.parse(data), topic).block_root, 'root', 32) }
    if (topic === 'head') return { root: hexOf(readFields(JSON.parse(data), topic).block, 'block', 32) }
    if (topic !== 'head_v2') return {}
    const { block, payload_status } = readFields(readFields(JSON.parse(data), topic).data, topic)
    const payloadStatus = payload_status === 'full' || payload_status === 'empty' ? payload_status : undefined
    return { root: hexOf(block, 'block', 32), payloadStatus }
  } catch {
    return {}
  }
}

/** Whether an event is news that a poll can read: nodes report a block with several events. */
export function createNewsFilter(): (event: BeaconEvent) => boolean {
  let newest: string | undefined
  return ({ topic, root }) => {
    if (topic === 'execution_payload') return false
    if (topic !== 'head' && topic !== 'head_v2') return true
    const isNew = root === undefined || root !== newest
    newest = root
    return isNew
  }
}

function addressOf(url: string, topics: readonly EventTopic[]): string {
  const [address = '', query] = url.split('?', 2)
  const selection = `topics=${topics.join(',')}`
  return `${address.replace(/\/+$/, '')}/eth/v1/events?${selection}${query === undefined ? '' : `&${query}`}`
}
