// Callers on raw sockets that send many requests and read slowly or not at all. The number of handled requests and the
// bytes that are kept are counted.

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { everyone } from '#test/authorization.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { waitForMoment } from '#test/wait-until.ts'
import { unfinishedBytesMax } from './connections.ts'
import { startHttpServer } from './http-server.ts'
import { createApp } from './pipeline.ts'
import type { ApiResponse } from './render.ts'

const bodyBytes = 1_048_576
const filler = '#'
/** More than the operating system buffers for one connection. */
const bufferedMax = 40
const manyRequests = 400

async function openServer(options: { clock?: Clock; settings?: object; respond?: () => Promise<ApiResponse> } = {}) {
  const context = await openContext({
    server: { port: 0, stopTimeoutMs: 0, anonymousPerSecond: 0, ...options.settings },
  })
  const lines: string[] = []
  let handled = 0
  const app = createApp(
    { ...context, clock: options.clock ?? systemClock, log: openLog('info', (line) => lines.push(line)) },
    [],
    everyone,
    { request: () => {} },
  )
  const large = { status: 200, headers: {}, body: filler.repeat(bodyBytes) }
  const count = (respond: () => Promise<ApiResponse>) => () => {
    handled += 1
    return respond()
  }
  const small = count(async () => ({ status: 200, headers: {}, body: String(handled) }))
  const httpServer = await startHttpServer(app, [
    { path: '/large', read: count(options.respond ?? (async () => large)) },
    { path: '/small', read: small, change: { POST: small } },
  ])
  const port = Number(new URL(httpServer.url).port)
  return {
    lines,
    handled: () => handled,
    /** A caller that does not read until it is resumed. */
    call(paths: readonly string[], rest = ''): Caller {
      const socket = connect(port, '127.0.0.1')
      const caller: Caller = { socket, received: '', isClosed: false }
      socket.setEncoding('latin1')
      socket.on('data', (text: string) => {
        caller.received += text.replace(/#+/g, '')
      })
      socket.on('error', () => {})
      socket.on('close', () => {
        caller.isClosed = true
      })
      socket.pause()
      socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join('') + rest)
      return caller
    },
    /** The server has done everything it can do for others when it has answered some requests in a row. */
    async settle() {
      for (let count = 0; count < 20; count++) await (await fetch(`${httpServer.url}/healthz`)).text()
    },
    async [Symbol.asyncDispose]() {
      const closed = httpServer.close()
      if (options.clock instanceof ManualClock) options.clock.advance(1)
      await closed
      await context[Symbol.asyncDispose]()
    },
  }
}

interface Caller {
  readonly socket: Socket
  /** Without the bodies of `/large`. */
  received: string
  isClosed: boolean
}

const countResponses = ({ received }: Caller): number => received.split('HTTP/1.1 200 OK').length - 1

test('requests of a caller that does not read are not handled', async () => {
  await using server = await openServer()
  const caller = server.call(Array(manyRequests).fill('/large'))
  await waitForMoment(() => server.handled() > 0)
  await server.settle()
  assert.ok(server.handled() < bufferedMax, `${server.handled()} requests were handled`)
  caller.socket.destroy()
})

test('all requests of a caller that reads are answered in order', async () => {
  await using server = await openServer()
  const caller = server.call(Array.from({ length: manyRequests }, (_, at) => (at % 20 === 0 ? '/large' : '/small')))
  await waitForMoment(() => server.handled() > 0)
  caller.socket.resume()
  await waitForMoment(() => countResponses(caller) === manyRequests && caller.received.endsWith(String(manyRequests)))
  const numbers = [...caller.received.matchAll(/\r\n\r\n(\d+)/g)].map(([, number]) => Number(number))
  const expected = Array.from({ length: manyRequests }, (_, at) => at + 1).filter((_, at) => at % 20 !== 0)
  assert.deepEqual(numbers, expected)
  caller.socket.destroy()
})

test('nothing is read from a connection on which a request waits', async () => {
  const answer = Promise.withResolvers<ApiResponse>()
  await using server = await openServer({ respond: () => answer.promise })
  const caller = server.call(['/large', '/small'])
  await waitForMoment(() => server.handled() > 0)
  await server.settle()
  const more = 'GET /small HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1_000_000)
  assert.equal(caller.socket.write(more), false)
  await server.settle()
  assert.ok(caller.socket.writableLength > 0, 'the caller could send everything')
  assert.equal(server.handled(), 1)
  caller.socket.destroy()
  answer.resolve({ status: 200, headers: {}, body: '' })
})

test('a caller that reads nothing for 30 seconds is disconnected', async () => {
  for (const path of ['/large', '/small']) {
    const clock = new ManualClock(testNowMs)
    await using server = await openServer({ clock })
    const caller = server.call(Array(manyRequests * 400).fill(path))
    await waitForMoment(() => server.handled() > 0)
    let before = -1
    while (before !== server.handled()) {
      before = server.handled()
      await server.settle()
    }
    clock.advance(29_999)
    await server.settle()
    assert.equal(caller.isClosed, false)
    clock.advance(1)
    caller.socket.resume()
    await waitForMoment(() => caller.isClosed)
  }
})

test('an invalid request is refused after the earlier ones are answered', async () => {
  await using server = await openServer()
  const caller = server.call(['/small', '/large', '/small'], 'NOT HTTP\r\n\r\n')
  caller.socket.resume()
  await waitForMoment(() => caller.isClosed)
  const statuses = [...caller.received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status)
  assert.deepEqual(statuses, ['200', '200', '200', '400'])
})

test('a caller that leaves in the middle of its request is noticed', async () => {
  await using server = await openServer()
  const upload = 'POST /small HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{'
  for (const paths of [[], ['/small', '/small']]) {
    const caller = server.call(paths, upload)
    caller.socket.resume()
    await waitForMoment(() => countResponses(caller) === paths.length)
    caller.socket.end()
    await waitForMoment(() => caller.isClosed)
  }
})

test('if callers keep too much together, the connection that has waited longest is closed', async () => {
  // Enough for the responses of four callers and the requests that wait.
  await using server = await openServer({ settings: { unsentBytesMax: 5 * bodyBytes } })
  const handledBy = async (count: number) => {
    await waitForMoment(() => server.handled() >= count)
    await server.settle()
  }
  const callers: Caller[] = []
  for (let number = 0; number < 6; number++) {
    const before = server.handled()
    callers.push(server.call(Array(bufferedMax).fill('/large')))
    await handledBy(before + 1)
  }
  for (const { socket } of callers) socket.resume()
  await waitForMoment(() => callers.slice(2).every((caller) => countResponses(caller) === bufferedMax))
  await waitForMoment(() => callers.slice(0, 2).every(({ isClosed }) => isClosed))
  assert.equal(server.lines.filter((line) => line.includes('server.unsentBytesMax')).length, 1)
  for (const { socket } of callers) socket.destroy()
})

test('requests that have not arrived completely have a limit together; the others are answered', async () => {
  const urlBytesMax = 1_310_720
  await using server = await openServer({
    settings: { urlBytesMax, headersTimeoutMs: 600_000, requestTimeoutMs: 600_000 },
  })
  const line = `GET /small?${'x'.repeat(urlBytesMax - 100)}`
  const allowed = Math.floor(unfinishedBytesMax / line.length)
  const callers = Array.from({ length: allowed + 10 }, () => server.call([], line))
  for (const { socket } of callers) socket.resume()
  const openOnes = () => callers.filter(({ isClosed }) => !isClosed)
  await waitForMoment(() => openOnes().length <= allowed)
  await waitForMoment(() => openOnes().every(({ socket }) => socket.writableLength === 0))
  await server.settle()
  assert.equal(openOnes().length, allowed)
  for (const { socket } of openOnes()) socket.write(' HTTP/1.1\r\nhost: x\r\n\r\n')
  await waitForMoment(() => openOnes().every((caller) => countResponses(caller) === 1))
  assert.equal(openOnes().length, allowed)
  assert.equal(server.lines.filter((text) => text.includes('requests that arrive slowly')).length, 1)
  // Answered requests do not count any more.
  const more = Array.from({ length: allowed }, () => server.call([], `${line} HTTP/1.1\r\nhost: x\r\n\r\n`))
  for (const { socket } of more) socket.resume()
  await waitForMoment(() => more.every((caller) => countResponses(caller) === 1))
  for (const { socket } of [...callers, ...more]) socket.destroy()
})
