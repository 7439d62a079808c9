import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { RequestInfo } from '#http/handler.ts'
import { anonymousId } from '#storage/keys.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { putMarkets } from '../../write/put-markets.ts'
import { changeStream } from './stream-changes.ts'

const trade = (context: TestContext, id: number, bestBid: number) =>
  context.ingest.write((tx) =>
    putMarkets(tx, [{ kind: 'market', id: String(id), fields: { slug: `m-${id}`, bestBid } }], context.clock.now()),
  )

/** The text that a stream sends while time advances, until `enough`. */
async function follow(context: TestContext, input: object, enough: (text: string) => boolean, act = async () => {}) {
  const outcome = await changeStream.handle(input, context, testRequestInfo())
  assert.ok(outcome.is === 'stream')
  const stop = new AbortController()
  let text = ''
  const reading = (async () => {
    for await (const chunk of outcome.chunks(stop.signal, context as never)) text += chunk
  })()
  await act()
  for (let tries = 0; tries < 2000 && !enough(text); tries++) {
    await new Promise((resolve) => setImmediate(resolve))
    context.clock.advance(250)
  }
  stop.abort()
  await reading
  return text
}

const idsIn = (text: string) => [...text.matchAll(/^event: change\nid: (\d+)$/gm)].map(([, id]) => Number(id))

test('rule 1: every change after the cursor is sent once, in order, across batches and while changes happen', async () => {
  await using context = await openContext()
  for (let at = 0; at < 250; at++) await trade(context, at % 5, at / 1000)
  const act = async () => {
    for (let at = 0; at < 5; at++) await trade(context, at, 0.9)
  }
  const text = await follow(context, { after: '10' }, (text) => idsIn(text).at(-1) === 255, act)
  assert.deepEqual(
    idsIn(text),
    Array.from({ length: 245 }, (_, at) => at + 11),
  )
})

test('rule 2: without a cursor the stream starts at the newest change; heartbeats contain the cursor', async () => {
  await using context = await openContext()
  await trade(context, 1, 0.1)
  const text = await follow(context, {}, (text) => text.split(': heartbeat').length > 3)
  assert.deepEqual(idsIn(text), [])
  const cursor = 'event: cursor\\nid: 1\\ndata: {"cursor":"1"}\\n\\n'
  assert.match(text, new RegExp(`^retry: \\d+\\n\\n${cursor}(: heartbeat\\n${cursor})+$`))
})

test('rule 2: filtered changes advance the cursor of the next heartbeat', async () => {
  await using context = await openContext()
  await trade(context, 1, 0.1)
  const act = async () => void (await trade(context, 1, 0.2))
  const text = await follow(context, { kinds: ['tag'] }, (text) => text.includes('heartbeat'), act)
  assert.match(text, /^retry: \d+\n\nevent: cursor\nid: 1\n[\s\S]*: heartbeat\nevent: cursor\nid: 2\n/)
})

describe('rule 3: slots', () => {
  const anonymousFrom = (network: string) => testRequestInfo({ caller: { keyId: anonymousId, plan: 'free', network } })
  const withKey = (keyId: string, network: string) => testRequestInfo({ caller: { keyId, plan: 'free', network } })

  /** The first text of a stream, which stays open. */
  async function begin(context: TestContext, info: RequestInfo) {
    const outcome = await changeStream.handle({}, context, info)
    assert.ok(outcome.is === 'stream')
    const stop = new AbortController()
    const chunks = outcome.chunks(stop.signal, context as never)[Symbol.asyncIterator]()
    return { stop, chunks, text: (await chunks.next()).value as string }
  }

  test('the limit applies per network address and per key', async () => {
    await using context = await openContext({ markets: { streamsPerCaller: 2, streamsMax: 5 } })
    const [a, b] = [anonymousFrom('192.0.2.1'), anonymousFrom('192.0.2.2')]
    const held = [await begin(context, a), await begin(context, a)]
    await assert.rejects(begin(context, a), { code: 'markets.streams_per_caller', status: 429, retryAfterMs: 10_000 })
    held.push(await begin(context, b), await begin(context, withKey('k1', '192.0.2.1')))
    held.push(await begin(context, withKey('k1', '192.0.2.9')))
    await assert.rejects(begin(context, withKey('k1', '192.0.2.3')), { code: 'markets.streams_per_caller' })
    await assert.rejects(begin(context, b), { code: 'markets.streams_full', status: 503 })
    // Streams end because the reader leaves or the signal aborts.
    await held[0]?.chunks.return?.()
    held.push(await begin(context, b))
    await assert.rejects(begin(context, withKey('k2', '192.0.2.4')), { code: 'markets.streams_full' })
    for (const { stop, chunks } of held) {
      stop.abort()
      await chunks.return?.()
    }
    for (let at = 0; at < 2; at++) held.push(await begin(context, a))
    await assert.rejects(begin(context, a), { code: 'markets.streams_per_caller' })
    for (const { chunks } of held) await chunks.return?.()
  })

  test('an unread response takes no slot; of two concurrent streams for the last slot, one gets a retry time', async () => {
    await using context = await openContext({ markets: { streamsPerCaller: 1 } })
    const info = anonymousFrom('192.0.2.1')
    const outcomes = await Promise.all([1, 2, 3].map(() => changeStream.handle({}, context, info)))
    const texts: string[] = []
    const stop = new AbortController()
    for (const outcome of outcomes.slice(1)) {
      assert.ok(outcome.is === 'stream')
      texts.push(
        (
          await outcome
            .chunks(stop.signal, context as never)
            [Symbol.asyncIterator]()
            .next()
        ).value as string,
      )
    }
    assert.match(texts[0] ?? '', /event: cursor/)
    assert.equal(texts[1], 'retry: 10000\n\n')
    stop.abort()
  })
})

test('last-event-id has precedence over the query parameter, and filters apply', async () => {
  await using context = await openContext()
  for (const id of [1, 2, 1, 2]) await trade(context, id, context.clock.now() % 97)
  await trade(context, 1, 0.5)
  await trade(context, 2, 0.5)
  const input = { after: '0', lastEventId: '2', slugs: ['m-2'] }
  const text = await follow(context, input, (text) => text.includes('heartbeat'))
  assert.ok(idsIn(text).length >= 1)
  assert.ok(idsIn(text).every((id) => id > 2))
  assert.doesNotMatch(text, /"slug":"m-1"/)
})

test('streaming from any cursor gives the rest of the history', async () => {
  await using context = await openContext()
  for (let at = 0; at < 30; at++) await trade(context, at % 3, at / 100)
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 29 }), async (after) => {
      const text = await follow(context, { after: String(after) }, (text) => idsIn(text).at(-1) === 30)
      assert.equal(idsIn(text)[0], after + 1)
    }),
    { numRuns: 10 },
  )
})
