// Following changes when lines break, proxies fail and servers fall silent.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createClient } from './client.ts'
import type { MarketChange } from './wire/market-changes.ts'

const change = (cursor: string) => `event: change\nid: ${cursor}\ndata: {"cursor":"${cursor}"}\n\n`
const cursor = (at: string) => `event: cursor\nid: ${at}\ndata: {"cursor":"${at}"}\n\n`

/** A stream of these texts that then breaks, ends, or says nothing more. */
function line(texts: readonly string[], then: 'breaks' | 'ends' | 'is silent' = 'breaks'): Response {
  const bytes = texts.map((text) => new TextEncoder().encode(text))
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = bytes.shift()
      if (next) controller.enqueue(next)
      else if (then === 'breaks') controller.error(new Error('cut'))
      else if (then === 'ends') controller.close()
      else await new Promise(() => {})
    },
  })
  return new Response(body, { status: 200 })
}

/** Answers the n-th request with the n-th response; keeps the addresses. */
function scripted(...answers: (() => Response)[]) {
  const asked: URL[] = []
  const fetch = async (url: string | URL | Request) => {
    asked.push(new URL(String(url)))
    const answer = answers[Math.min(asked.length, answers.length) - 1]
    if (!answer) throw new Error('nothing to answer with')
    return answer()
  }
  const client = createClient({ baseUrl: 'http://tetrad.test', fetch, sleep: async () => {}, retries: 0 })
  const streams = () => asked.filter(({ pathname }) => pathname.endsWith('/stream'))
  return { client, asked, after: () => streams().map((url) => url.searchParams.get('after')) }
}

async function take(changes: AsyncGenerator<MarketChange>, count: number): Promise<string[]> {
  const taken: string[] = []
  for await (const one of changes) {
    taken.push(one.cursor)
    if (taken.length === count) break
  }
  return taken
}

describe('the cursor', () => {
  test('begun without one and cut before the first change, it goes on from where the stream began', async () => {
    const { client, after } = scripted(
      () => line([`retry: 2000\n\n${cursor('7')}`]),
      () => line([cursor('7'), change('8')]),
    )
    assert.deepEqual(await take(client.markets.watchChanges(), 1), ['8'])
    assert.deepEqual(after(), [null, '7'])
  })

  test('is that of the last event, be it a change or a sign of life, wherever the bytes are cut', async () => {
    const { client, after } = scripted(
      () => line([...`${cursor('1')}${change('2')}: still here\n${cursor('5')}id: 9`]),
      () => line([change('6')], 'ends'),
      () => line([change('7')]),
    )
    assert.deepEqual(await take(client.markets.watchChanges({ kinds: ['market'] }), 3), ['2', '6', '7'])
    assert.deepEqual(after(), [null, '5', '6'])
  })

  test('that came in as last-event-id is left behind once another is known', async () => {
    const { client, asked, after } = scripted(
      () => line([change('4')]),
      () => line([change('5')]),
    )
    assert.deepEqual(await take(client.markets.watchChanges({ lastEventId: '3', after: '1' }), 2), ['4', '5'])
    assert.deepEqual(after(), ['3', '4'])
    assert.equal(asked.length, 2)
  })
})

describe('failures', () => {
  const badGateway = () => new Response('bad gateway', { status: 502 })

  test('a proxy that answers 502 for a while is waited for', async () => {
    const { client } = scripted(...Array.from({ length: 7 }, () => badGateway), () => line([change('2')]))
    assert.deepEqual(await take(client.markets.watchChanges({ after: '1' }), 1), ['2'])
  })

  test('it gives up after as many in a row as it was told', async () => {
    const { client, after } = scripted(badGateway)
    await assert.rejects(take(client.markets.watchChanges({ after: '1' }, { failuresMax: 3 }), 1), {
      name: 'TransportError',
    })
    assert.equal(after().length, 4)
  })

  test('what the server refuses for good is thrown in its own words, at once', async () => {
    const gone = () => Response.json({ type: 'request error', error: 'no longer kept' }, { status: 410 })
    const { client, asked } = scripted(gone)
    await assert.rejects(take(client.markets.watchChanges({ after: '1' }), 1), { name: 'MarketsError', status: 410 })
    assert.equal(asked.length, 2)
  })

  test('a line on which nothing comes any more is left, and so is a server that does not answer', async () => {
    const { client, after } = scripted(
      () => line([cursor('1')], 'is silent'),
      () => line([], 'is silent'),
      () => line([change('2')]),
    )
    assert.deepEqual(await take(client.markets.watchChanges({}, { idleMs: 20 }), 1), ['2'])
    assert.deepEqual(after(), [null, '1', '1'])
    const hanging = createClient({
      baseUrl: 'http://tetrad.test',
      sleep: async () => {},
      fetch: () => new Promise(() => {}),
    })
    const watching = take(hanging.markets.watchChanges({}, { idleMs: 5, failuresMax: 1 }), 1)
    await assert.rejects(watching, /nothing came for 5 ms/)
  })

  test('a caller that takes its time between two changes is not idle', async () => {
    const { client, asked } = scripted(() => line([change('1'), change('2')], 'is silent'))
    const changes = client.markets.watchChanges({}, { idleMs: 20 })
    assert.equal((await changes.next()).value?.cursor, '1')
    await new Promise((resolve) => setTimeout(resolve, 60))
    assert.equal((await changes.next()).value?.cursor, '2')
    assert.equal(asked.length, 1)
    await changes.return(undefined)
  })

  test('the signal ends it while it waits', async () => {
    const stop = new AbortController()
    const { client } = scripted(() => line([cursor('1')], 'is silent'))
    const next = client.markets.watchChanges({}, { signal: stop.signal, idleMs: 50 }).next()
    stop.abort()
    assert.equal((await next).done, true)
  })
})
