import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { openEmptyServer } from '#test/empty-server.ts'
import { inject } from '#test/inject.ts'

async function openServer(anonymousPerSecond: number) {
  let stoppedMs: number | undefined
  const clock: Clock = Object.assign(Object.create(systemClock), {
    monotonicMs: () => stoppedMs ?? systemClock.monotonicMs(),
  })
  const server = await openEmptyServer({ server: { port: 0, anonymousPerSecond } }, clock)
  stoppedMs = systemClock.monotonicMs()
  return {
    async call(path: string, remoteAddress = '192.0.2.1') {
      const { statusCode, headers } = await inject(server, { url: path, remoteAddress })
      return { status: statusCode, retryAfter: headers['retry-after'] }
    },
    passSecond: () => {
      stoppedMs = (stoppedMs ?? 0) + 1000
    },
    async [Symbol.asyncDispose]() {
      stoppedMs = undefined
      await server[Symbol.asyncDispose]()
    },
  }
}

const limited = ['/openapi.json', '/metrics', '/coverage', '/', '/docs/', '/assets/none.js', '/console/session']

for (const path of limited)
  test(`calls of ${path} are limited for each address`, async () => {
    await using server = await openServer(2)
    const refused = { status: 429, retryAfter: '1' }
    for (let count = 0; count < 2; count++) assert.notEqual((await server.call(path)).status, 429)
    assert.deepEqual(await server.call(path), refused)
    assert.notEqual((await server.call(path, '192.0.2.2')).status, 429)
    server.passSecond()
    assert.notEqual((await server.call(path)).status, 429)
  })

test('a flood on one path refuses neither another path nor health checks', async () => {
  await using server = await openServer(2)
  for (let count = 0; count < 10; count++) {
    await server.call('/openapi.json')
    assert.equal((await server.call('/healthz')).status, 200)
    assert.notEqual((await server.call('/readyz')).status, 429)
  }
  assert.equal((await server.call('/metrics')).status, 200)
})

test('there is no limit if the setting is 0', async () => {
  await using server = await openServer(0)
  for (let count = 0; count < 300; count++) assert.equal((await server.call('/openapi.json')).status, 200)
})
