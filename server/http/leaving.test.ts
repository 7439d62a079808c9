// Tests on real sockets that a stopping server closes connections without failing calls.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import { openContext, settingsWith } from '#test/context.ts'

const stopDelayMs = 12_345
const callers = 16

/** The system clock, except that the test ends the stop delay. */
function heldClock() {
  const waiting = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  const clock: Clock = {
    ...systemClock,
    sleep: async (waitMs, signal) => {
      if (waitMs !== stopDelayMs) return systemClock.sleep(waitMs, signal)
      waiting.resolve()
      await over.promise
    },
  }
  return { clock, waiting: waiting.promise, over: over.resolve }
}

/** Rejects with ECONNRESET if the connection is closed during the call. */
const ask = (agent: Agent, url: string) =>
  new Promise<IncomingMessage & { readonly reused: boolean }>((resolve, reject) => {
    const request = get(url, { agent }, (response) => {
      response.resume().on('end', () => resolve(Object.assign(response, { reused: request.reusedSocket })))
    })
    request.on('error', reject)
  })

test('while the server stops, every response closes its connection, so that no call fails', async () => {
  await using context = await openContext()
  const { clock, waiting, over } = heldClock()
  const settings = settingsWith({ server: { port: 0, stopDelayMs } })
  const server = await startServer({ settings, dataDir: `${context.dir}/own`, log: silentLog, clock })
  const agents = Array.from({ length: callers }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  const all = (path: string) => Promise.all(agents.map((agent) => ask(agent, `${server.url}${path}`)))
  const connectionsOf = (answers: Awaited<ReturnType<typeof all>>) => [
    ...new Set(answers.map(({ reused, headers }) => `${reused ? 'old' : 'new'} ${headers.connection}`)),
  ]
  assert.deepEqual(connectionsOf(await all('/healthz')), ['new keep-alive'])
  assert.deepEqual(connectionsOf(await all('/markets/slug/none')), ['old keep-alive'])
  const closed = server.close()
  await waiting
  try {
    for (const path of ['/healthz', '/markets/slug/none', '/nowhere']) {
      const expected = path === '/healthz' ? 'old close' : 'new close'
      assert.deepEqual(connectionsOf(await all(path)), [expected], path)
    }
  } finally {
    over()
    await closed
  }
  // No connection is open any more, so a new call is refused and not aborted.
  for (const agent of agents) await assert.rejects(ask(agent, `${server.url}/healthz`), { code: 'ECONNREFUSED' })
})

test('requests on connections that were opened just before the stop are answered', async () => {
  await using context = await openContext()
  const settings = settingsWith({ server: { port: 0 } })
  const server = await startServer({ settings, dataDir: `${context.dir}/own`, log: silentLog })
  const connectTo = (url: string) => connect(Number(new URL(url).port), '127.0.0.1')
  const request = 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n'
  const opened = Array.from({ length: callers }, () => connectTo(server.url))
  await Promise.all(opened.map((socket) => once(socket, 'connect')))
  // The server has not seen these when it begins to stop.
  const opening = Array.from({ length: callers }, () => connectTo(server.url))
  await once(opening.at(-1) as Socket, 'connect')
  const closed = server.close()
  const answers = await Promise.all(
    [...opened, ...opening].map(async (socket) => {
      socket.write(request)
      return (await text(socket).catch(String)).split('\r\n', 1)[0]
    }),
  )
  await closed
  assert.deepEqual(answers, Array(2 * callers).fill('HTTP/1.1 200 OK'))
})
