// How a server that has been told to stop sends its callers away, on real sockets.
import assert from 'node:assert/strict'
import { Agent, get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import { openContext, settingsWith } from '#test/context.ts'

const stopDelayMs = 12_345
const callers = 16

/** The system's, but the time before the door closes is over when the test says so. */
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

/** Rejects with ECONNRESET when the connection it was sent on is closed under it. */
const ask = (agent: Agent, url: string) =>
  new Promise<IncomingMessage & { readonly reused: boolean }>((resolve, reject) => {
    const request = get(url, { agent }, (response) => {
      response.resume().on('end', () => resolve(Object.assign(response, { reused: request.reusedSocket })))
    })
    request.on('error', reject)
  })

test('while it stops every answer ends its connection, so that none is closed under a call', async () => {
  await using context = await openContext()
  const { clock, waiting, over } = heldClock()
  const settings = settingsWith({ server: { port: 0, stopDelayMs } })
  const server = await startServer({ settings, dataDir: `${context.dir}/own`, log: silentLog, clock })
  const agents = Array.from({ length: callers }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  const all = (path: string) => Promise.all(agents.map((agent) => ask(agent, `${server.url}${path}`)))
  const told = (answers: Awaited<ReturnType<typeof all>>) => [
    ...new Set(answers.map(({ reused, headers }) => `${reused ? 'old' : 'new'} ${headers.connection}`)),
  ]
  assert.deepEqual(told(await all('/healthz')), ['new keep-alive'])
  assert.deepEqual(told(await all('/markets/slug/none')), ['old keep-alive'])
  const closed = server.close()
  await waiting
  try {
    for (const path of ['/healthz', '/markets/slug/none', '/nowhere']) {
      const expected = path === '/healthz' ? 'old close' : 'new close'
      assert.deepEqual(told(await all(path)), [expected], path)
    }
  } finally {
    over()
    await closed
  }
  // Nobody is on a connection any more: a call is refused, not cut.
  for (const agent of agents) await assert.rejects(ask(agent, `${server.url}/healthz`), { code: 'ECONNREFUSED' })
})
