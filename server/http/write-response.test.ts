import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { ManualClock } from '#test/manual-clock.ts'
import { waitUntil } from '#test/wait-until.ts'
import { writeStream } from './write-response.ts'

interface Pouring {
  readonly clock: ManualClock
  readonly stopping: AbortController
  /** What was reported as unsent. */
  readonly keptBytes: readonly number[]
  readonly made: () => number
  readonly poured: Promise<void>
  readonly socket: ReturnType<typeof connect>
  readonly ended: () => boolean
  close(): Promise<void>
}

/** A caller on a raw socket, and a stream of chunks of this size. */
async function begin(size: number, chunks = Number.POSITIVE_INFINITY): Promise<Pouring> {
  const clock = new ManualClock(0)
  const stopping = new AbortController()
  let made = 0
  let ended = false
  async function* stuff(signal: AbortSignal) {
    try {
      while (made < chunks && !signal.aborted) {
        made += 1
        yield 'x'.repeat(size)
        await new Promise((resolve) => setImmediate(resolve))
      }
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
    } finally {
      ended = true
    }
  }
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  response.writeHead(200)
  const keptBytes: number[] = []
  const writer = { clock, keepUnsent: (_response: ServerResponse, bytes: number) => keptBytes.push(bytes) }
  const poured = writeStream(writer, response, stuff, stopping.signal)
  const close = async () => {
    socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { clock, stopping, keptBytes, made: () => made, poured, socket, ended: () => ended, close }
}

test('rules 1 and 2: if the caller does not read, no more chunks are created and the connection is closed', async () => {
  const one = await begin(1_048_576)
  let before = -1
  await waitUntil(() => {
    const still = before === one.made()
    before = one.made()
    return still && before > 0
  })
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(one.made(), before, 'it waits')
  assert.ok((one.keptBytes.at(-1) ?? 0) > 0)
  one.clock.advance(29_999)
  assert.equal(one.ended(), false)
  one.clock.advance(1)
  await one.poured
  assert.ok(one.ended())
  await one.close()
})

test('rule 2: the stream ends when the caller leaves', async () => {
  const one = await begin(10, 1)
  await waitUntil(() => one.made() === 1)
  one.socket.destroy()
  await one.poured
  assert.ok(one.ended())
  await one.close()
})

test('rule 3: the response ends properly when the server stops', async () => {
  const one = await begin(10, 2)
  const parts: Buffer[] = []
  one.socket.on('data', (part: Buffer) => parts.push(part)).resume()
  await waitUntil(() => one.made() === 2)
  one.stopping.abort()
  await one.poured
  await waitUntil(() => Buffer.concat(parts).toString().endsWith('\r\n0\r\n\r\n'))
  await one.close()
})
