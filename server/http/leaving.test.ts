// Tests on real sockets that a stopping server closes connections without failing calls.
import assert from 'node:assert/strict'
import { Agent, get, type IncomingMessage } from 'node:http'
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
