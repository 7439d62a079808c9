import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { type BeaconEvent, createNewsFilter, listenToEvents } from './events.ts'

type Exchange = readonly [request: IncomingMessage, response: ServerResponse]

/** A server whose requests the test answers one by one. */
async function openStreamServer() {
  const waiting: Exchange[] = []
  const server = createServer((request, response) => {
    waiting.push([request, response])
    server.emit('waiting')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    waiting,
    async next(): Promise<Exchange> {
      if (waiting.length === 0) await once(server, 'waiting')
      return waiting.shift() as Exchange
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const openStream = ([, response]: Exchange) => {
  // Without reuse of the connection: a request on a reused connection that ends is repeated at once.
  response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
  response.flushHeaders()
  return response
}

/** A clock on which nothing waits yet. `waits` resolves with the next wait. */
function watchClock() {
  const clock = new ManualClock(0)
  let waiting = Promise.withResolvers<number>()
  return {
    clock: {
      now: () => clock.now(),
      monotonicMs: () => clock.monotonicMs(),
      every: () => () => {},
      sleep: (waitMs: number, signal?: AbortSignal) => {
        waiting.resolve(waitMs)
        return clock.sleep(waitMs, signal)
      },
    },
    /** Waits for the next sleep, ends it, and returns its length. */
    async pass(): Promise<number> {
      const waitMs = await waiting.promise
      waiting = Promise.withResolvers()
      clock.advance(waitMs)
      return waitMs
    },
  }
}

test('names of events are reported, however the stream is split', async () => {
  await using server = await openStreamServer()
  const stop = new AbortController()
  const seen: string[] = []
  const last = Promise.withResolvers<void>()
  const { clock } = watchClock()
  const listening = listenToEvents(
    { urls: [`${server.url}/?key=secret`], clock },
    ({ topic }) => {
      seen.push(topic)
      if (topic === 'chain_reorg') last.resolve()
    },
    stop.signal,
  )
  const exchange = await server.next()
  const topics = 'head,finalized_checkpoint,chain_reorg,head_v2,execution_payload'
  assert.equal(exchange[0].url, `/eth/v1/events?topics=${topics}&key=secret`)
  assert.equal(exchange[0].headers.accept, 'text/event-stream')
  const stream = openStream(exchange)
  stream.write('event: head\ndata: {"event": "event: head"}\n\nevent:fina')
  await nextEventLoopTurn()
  stream.write('lized_checkpoint\r\ndata: {}\r\n\r\n:\n\nevent: other\ndata: event: head\n\n')
  stream.write('event: chain_reorg\n\n')
  await last.promise
  assert.deepEqual(seen, ['head', 'finalized_checkpoint', 'chain_reorg'])
  stop.abort()
  await listening
})

test('a connection that ends is opened again, at the next node, and failures make the wait longer', async () => {
  await using one = await openStreamServer()
  await using other = await openStreamServer()
  const stop = new AbortController()
  const { clock, pass } = watchClock()
  const listening = listenToEvents({ urls: [one.url, other.url], clock }, () => {}, stop.signal)
  openStream(await one.next()).end('event: head\n\n')
  assert.equal(await pass(), 1000)
  ;(await other.next())[1].writeHead(503).end()
  assert.equal(await pass(), 2000)
  ;(await one.next())[0].socket.destroy()
  assert.equal(await pass(), 4000)
  openStream(await other.next()).end()
  assert.equal(await pass(), 1000)
  await one.next()
  stop.abort()
  await listening
})

test('a node without the stream is asked again after an hour', async () => {
  for (const status of [404, 400, 501]) {
    await using server = await openStreamServer()
    const stop = new AbortController()
    const { clock, pass } = watchClock()
    const listening = listenToEvents({ urls: [server.url], clock }, () => {}, stop.signal)
    const refuse = async () => {
      const [request, response] = await server.next()
      response.writeHead(status).end()
      const topics = new URL(request.url ?? '/', server.url).searchParams.get('topics')?.split(',') ?? []
      return topics.filter((topic) => topic.startsWith('head'))
    }
    assert.deepEqual([await refuse(), await refuse(), await refuse()], [['head', 'head_v2'], ['head'], ['head_v2']])
    assert.equal(await pass(), 3_600_000)
    await server.next()
    stop.abort()
    await listening
  }
})

test('a line that does not end closes the connection', async () => {
  await using server = await openStreamServer()
  const stop = new AbortController()
  const { clock, pass } = watchClock()
  const listening = listenToEvents({ urls: [server.url], clock }, () => {}, stop.signal)
  const stream = openStream(await server.next())
  const closed = once(stream, 'close')
  stream.write('data: ')
  stream.write('x'.repeat(70_000))
  assert.equal(await pass(), 2000)
  await closed
  stop.abort()
  await listening
})

test('without a node, nothing happens', async () => {
  const { clock } = watchClock()
  await listenToEvents({ urls: [], clock }, () => assert.fail(), new AbortController().signal)
})

test('a node that does not know the topics of Gloas is asked for the others at once', async () => {
  await using server = await openStreamServer()
  const stop = new AbortController()
  const { clock } = watchClock()
  const seen = Promise.withResolvers<string>()
  const listening = listenToEvents({ urls: [server.url], clock }, ({ topic }) => seen.resolve(topic), stop.signal)
  ;(await server.next())[1].writeHead(400).end('{"code":400,"message":"Invalid topic: head_v2"}')
  const exchange = await server.next()
  assert.equal(exchange[0].url, '/eth/v1/events?topics=head,finalized_checkpoint,chain_reorg')
  openStream(exchange).write('event: head\ndata: {}\n\n')
  assert.equal(await seen.promise, 'head')
  stop.abort()
  await listening
})

test('a node that no longer knows the deprecated topic `head` is asked for the others', async () => {
  await using server = await openStreamServer()
  const stop = new AbortController()
  const { clock } = watchClock()
  const seen = Promise.withResolvers<string>()
  const listening = listenToEvents({ urls: [server.url], clock }, ({ topic }) => seen.resolve(topic), stop.signal)
  const body = '{"code":400,"message":"Invalid topic: head"}'
  ;(await server.next())[1].writeHead(400).end(body)
  ;(await server.next())[1].writeHead(400).end(body)
  const exchange = await server.next()
  assert.equal(exchange[0].url, '/eth/v1/events?topics=finalized_checkpoint,chain_reorg,head_v2,execution_payload')
  openStream(exchange).write('event: head_v2\ndata: {}\n\n')
  assert.equal(await seen.promise, 'head_v2')
  stop.abort()
  await listening
})

const root = `0x${'ab'.repeat(32)}`

test('events of Gloas have the block and the status of its payload; what is not valid is left out', async () => {
  await using server = await openStreamServer()
  const stop = new AbortController()
  const seen: BeaconEvent[] = []
  const last = Promise.withResolvers<void>()
  const { clock } = watchClock()
  const onEvent = (event: BeaconEvent) => {
    seen.push(event)
    if (event.topic === 'chain_reorg') last.resolve()
  }
  const listening = listenToEvents({ urls: [server.url], clock }, onEvent, stop.signal)
  const stream = openStream(await server.next())
  const send = (event: string, data: object | string) =>
    stream.write(`event: ${event}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
  send('head_v2', {
    version: 'gloas',
    data: { slot: '10', block: root.toUpperCase().replace('X', 'x'), payload_status: 'empty' },
  })
  send('head_v2', { data: { block: root, payload_status: 'full' }, version: 'gloas' })
  send('head_v2', { version: 'gloas', data: { block: root, payload_status: 'pending' } })
  send('head_v2', { version: 'gloas', data: { block: '0xab', payload_status: 'full' } })
  send('head_v2', '{"version":')
  send('execution_payload', { slot: '10', builder_index: '42', block_hash: root, block_root: root })
  send('execution_payload', '[]')
  send('chain_reorg', '{}')
  await last.promise
  assert.deepEqual(seen, [
    { topic: 'head_v2', root, payloadStatus: 'empty' },
    { topic: 'head_v2', root, payloadStatus: 'full' },
    { topic: 'head_v2', root, payloadStatus: undefined },
    { topic: 'head_v2' },
    { topic: 'head_v2' },
    { topic: 'execution_payload', root },
    { topic: 'execution_payload' },
    { topic: 'chain_reorg' },
  ])
  stop.abort()
  await listening
})

test('several events about one block are one piece of news', () => {
  const isNews = createNewsFilter()
  const root = `0x${'1'.repeat(64)}`
  assert.deepEqual(
    [
      ...[
        { topic: 'head', root },
        { topic: 'head_v2', root },
        { topic: 'execution_payload', root },
      ],
      ...[
        { topic: 'finalized_checkpoint' },
        { topic: 'head_v2', root: `0x${'2'.repeat(64)}` },
        { topic: 'chain_reorg' },
      ],
      ...[{ topic: 'head', root }, { topic: 'head' }, { topic: 'head' }],
    ].map((event) => isNews(event as BeaconEvent)),
    [true, false, false, true, true, true, true, true, true],
  )
})
