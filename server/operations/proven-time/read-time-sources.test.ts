import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Epoch, epochStartMs } from '#core/chain-time.ts'
import { storeRates } from '#fx/rates/rate-store.ts'
import { readRemoteTime } from '#sources/remote-time.ts'
import { addCoverage } from '#storage/coverage.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { serveScript } from '#test/scripted-server.ts'
import { readTimeSources } from './read-time-sources.ts'

const source = (id: string, url: string, more: object = {}) => ({ id, kind: 'http-json', url, ...more })

test('only times that cannot come from the clock of this machine are read, and one host is one source', async () => {
  await using feed = await serveScript({ status: 200 })
  const sources = [
    source('one', 'http://rates.invalid/one'),
    source('other', 'http://rates.invalid/other'),
    source('received', 'http://received.invalid/', { document: { times: 'received' } }),
    source('local', 'http://localhost:1/'),
    { id: 'desk', kind: 'push' },
    { id: 'file', kind: 'file', path: '/nowhere' },
  ]
  const feeds = [{ id: 'feed', url: `${feed.url}/markets` }]
  await using context = await openContext({ fx: { sources }, markets: { feeds } })
  for (const [at, { id }] of sources.entries()) {
    const rate = { source: id, base: 'EUR', quote: 'USD', rate: '1.25', atMs: testNowMs - at * 1000 }
    await storeRates(context.state, id, [rate], testNowMs)
  }
  await context.dutiesState.write((tx) => addCoverage(tx, 'duties/hoodi', 10, 20))
  assert.deepEqual(await readTimeSources(context), [
    { source: 'network hoodi', atMs: epochStartMs(context.settings.validators.networks.hoodi, 20 as Epoch) },
    { source: 'rates.invalid', atMs: testNowMs },
    { source: 'rates.invalid', atMs: testNowMs - 1000 },
  ])
  assert.equal(feed.requests.length, 0)
})

test('the date of a response counts whatever its status', async () => {
  const date = 'Sun, 15 Nov 2026 12:00:00 GMT'
  await using server = await serveScript({ status: 503, headers: { date } }, { status: 200, headers: { date: 'soon' } })
  assert.equal(await readRemoteTime(`${server.url}/path?key=secret`, 5000), Date.parse(date) + 500)
  assert.equal(await readRemoteTime(server.url, 5000), undefined)
  assert.deepEqual(
    server.requests.map(({ method, url }) => [method, url]),
    [
      ['HEAD', '/'],
      ['HEAD', '/'],
    ],
  )
})
