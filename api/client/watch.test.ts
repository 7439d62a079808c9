// Tests `watchChanges` with broken connections, failing proxies and silent servers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MarketChange } from '../contract/wire/market-changes.ts'
import { createClient } from './client.ts'

const change = (cursor: string) => `event: change\nid: ${cursor}\ndata: {"cursor":"${cursor}"}\n\n`
const cursor = (at: string) => `event: cursor\nid: ${at}\ndata: {"cursor":"${at}"}\n\n`

/** A stream of these texts that then breaks, ends, or stays silent. */
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

/** Returns the n-th response for the n-th request and records the URLs. */
function scripted(...responses: (() => Response)[]) {
  const requested: URL[] = []
  const fetch = async (url: string | URL | Request) => {
    requested.push(new URL(String(url)))
    const response = responses[Math.min(requested.length, responses.length) - 1]
    if (!response) throw new Error('nothing to response with')
    return response()
  }
  const client = createClient({ baseUrl: 'http://tetrad.test', fetch, sleep: async () => {}, retries: 0 })
  const streams = () => requested.filter(({ pathname }) => pathname.endsWith('/stream'))
  return { client, requested, after: () => streams().map((url) => url.searchParams.get('after')) }
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
  test('continues from the start of the stream if the connection breaks before the first change', async () => {
    const { client, after } = scripted(
      () => line([`retry: 2000\n\n${cursor('7')}`]),
      () => line([cursor('7'), change('8')]),
    )
    assert.deepEqual(await take(client.markets.watchChanges(), 1), ['8'])
    assert.deepEqual(after(), [null, '7'])
  })

  test('is the id of the last event of any kind, wherever the bytes are split', async () => {
    const { client, after } = scripted(
      () => line([...`${cursor('1')}${change('2')}: heartbeat\n${cursor('5')}id: 9`]),
      () => line([change('6')], 'ends'),
      () => line([change('7')]),
    )
    assert.deepEqual(await take(client.markets.watchChanges({ kinds: ['market'] }), 3), ['2', '6', '7'])
    assert.deepEqual(after(), [null, '5', '6'])
  })

  test('replaces last-event-id once a newer one is known', async () => {
    const { client, requested, after } = scripted(
      () => line([change('4')]),
      () => line([change('5')]),
    )
    assert.deepEqual(await take(client.markets.watchChanges({ lastEventId: '3', after: '1' }), 2), ['4', '5'])
    assert.deepEqual(after(), ['3', '4'])
    assert.equal(requested.length, 2)
  })
})

describe('errors', () => {
  const badGateway = () => new Response('bad gateway', { status: 502 })

  test('reconnects while a proxy returns 502', async () => {
    const { client } = scripted(...Array.from({ length: 7 }, () => badGateway), () => line([change('2')]))
    assert.deepEqual(await take(client.markets.watchChanges({ after: '1' }), 1), ['2'])
  })

  test('throws after failuresMax consecutive failures', async () => {
    const { client, after } = scripted(badGateway)
    await assert.rejects(take(client.markets.watchChanges({ after: '1' }, { failuresMax: 3 }), 1), {
      name: 'TransportError',
    })
    assert.equal(after().length, 4)
  })

  test('throws the error of the server at once if it refuses permanently', async () => {
    const gone = () => Response.json({ type: 'request error', error: 'no longer kept' }, { status: 410 })
    const { client, requested } = scripted(gone)
    await assert.rejects(take(client.markets.watchChanges({ after: '1' }), 1), { name: 'MarketsError', status: 410 })
    assert.equal(requested.length, 2)
  })

  test('reconnects after idleMs without data or without a response', async () => {
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
    await assert.rejects(watching, /no data for 5 ms/)
  })

  test('time that the caller spends between two changes does not count as idle', async () => {
    const { client, requested } = scripted(() => line([change('1'), change('2')], 'is silent'))
    const changes = client.markets.watchChanges({}, { idleMs: 20 })
    assert.equal((await changes.next()).value?.cursor, '1')
    await new Promise((resolve) => setTimeout(resolve, 60))
    assert.equal((await changes.next()).value?.cursor, '2')
    assert.equal(requested.length, 1)
    await changes.return(undefined)
  })

  test('the signal ends the iteration during a wait', async () => {
    const stop = new AbortController()
    const { client } = scripted(() => line([cursor('1')], 'is silent'))
    const next = client.markets.watchChanges({}, { signal: stop.signal, idleMs: 50 }).next()
    stop.abort()
    assert.equal((await next).done, true)
  })
})
