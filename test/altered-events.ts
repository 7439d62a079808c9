// A beacon node that alters one part of its event stream. The listener only learns that something happened, so an
// altered event may be lost or wake it once more, but it keeps listening.
import assert from 'node:assert/strict'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { eventTopics, listenToEvents } from '#sources/beacon/events.ts'
import type { AlteredRun } from './altered-seeds.ts'
import { serveAnswers } from './altering-proxy.ts'
import { testNowMs } from './context.ts'
import { JumpingClock } from './jumping-clock.ts'

export const eventWorlds = 20
const connections = 4

const eventsOf = (number: number): readonly string[] => {
  const draws = createSeededRandom(`events ${number}`)
  return Array.from({ length: draws.whole(1, 6) }, () => draws.pick(eventTopics))
}

const streamText = (topics: readonly string[]): string =>
  topics.map((topic, at) => `event: ${topic}\ndata: {"slot":"${100 + at}"}\n\n`).join('')

export async function openAlteredEvents(): Promise<AsyncDisposable & { readonly run: AlteredRun }> {
  let topics: readonly string[] = []
  let received: string[] = []
  const ended: { at: number; stop: () => void } = { at: 0, stop: () => {} }
  let requests = 0
  const server = await serveAnswers(() => {
    requests += 1
    if (requests > ended.at) ended.stop()
    return { type: 'text/event-stream', body: streamText(topics) }
  })

  /** Every connection ends after the events. */
  const listen = async (times: number): Promise<void> => {
    const stop = new AbortController()
    requests = 0
    Object.assign(ended, { at: times, stop: () => stop.abort() })
    const clock = new JumpingClock(testNowMs)
    await listenToEvents({ urls: [server.url], clock }, ({ topic }) => received.push(topic), stop.signal).catch(
      (error: unknown) => {
        if (!stop.signal.aborted) throw error
      },
    )
  }
  const run: AlteredRun = async (seed, alterer) => {
    topics = eventsOf(seed % eventWorlds)
    received = []
    server.alterer = alterer
    await listen(connections)
    const isLess = received.length < connections * topics.length
    alterer.stop()
    received = []
    await listen(2)
    assert.deepEqual(received.slice(0, 2 * topics.length), [...topics, ...topics], 'events after recovery')
    return isLess
  }
  return { run, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}
