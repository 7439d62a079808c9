// Error texts of the markets group: they say what happened and what to do.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Client, createClient } from '#api/client/client.ts'
import { silentLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import { settingsWith } from '#test/context.ts'
import { inject } from '#test/inject.ts'
import { putMarkets } from '../write/put-markets.ts'
import { dropVersionsBefore } from '../write/version-writer.ts'

const firstMs = Date.UTC(2026, 10, 1)
let dir: string
let server: RunningServer
let client: Client

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tetrad-refusals-'))
  server = await startServer({ settings: settingsWith({ server: { port: 0 } }), dataDir: dir, log: silentLog })
  client = createClient({ baseUrl: server.url, retries: 0 })
  await put(firstMs, 0.4)
})
after(async () => {
  await server.close()
  await rm(dir, { recursive: true, force: true })
})

const put = (atMs: number, bestBid: number) =>
  server.context.ingest.write((tx) =>
    putMarkets(tx, [{ kind: 'market', id: '1', fields: { slug: 'uno', bestBid } }], atMs),
  )

test('422: the error says what was expected, and for lists which item', async () => {
  const errorOf = async (path: string) => {
    const { statusCode, body } = await inject(server, { url: `/markets/${path}` })
    assert.equal(statusCode, 422, body)
    return JSON.parse(body).error
  }
  const kinds = 'market, event, series, collection, category, tag, chat, creator, template, image'
  assert.equal(await errorOf('changes?limit=0'), 'limit must be at least 1')
  assert.equal(await errorOf('changes?after=x'), 'after must be a number of at most 15 digits')
  assert.equal(await errorOf('changes/stream?kinds=market,foo'), `kinds: "foo" must be one of ${kinds}`)
  assert.equal(await errorOf('slug/uno?asOf=2020-01-01'), 'asOf must be a time such as 2026-11-14T09:00:00Z')
  assert.equal(await errorOf('slug/uno?asOf=2026-02-30T00:00:00Z'), 'asOf must be a valid date-time')
  assert.equal(await errorOf('slug/uno%20'), 'slug is invalid')
  assert.equal(await errorOf('slug/uno%20/changes'), 'slug is invalid')
})

test('422: an unknown field name is refused, because it would match nothing', async () => {
  const changesWith = (query: string) => inject(server, { url: `/markets/slug/uno/changes?${query}` })
  const refused = await changesWith('fields=closed,foo')
  assert.equal(refused.statusCode, 422)
  assert.equal(
    JSON.parse(refused.body).error,
    'fields: "foo" must be a field of the market (with related=true also of related records), such as outcomePrices, bestBid or closed',
  )
  assert.equal((await changesWith('fields=openInterest')).statusCode, 422, 'a field of events')
  assert.equal((await changesWith('fields=openInterest,volume&related=true')).statusCode, 200)
  assert.equal(
    (await changesWith('fields=markets&related=true')).statusCode,
    422,
    'a reference, which has no changes of its own',
  )
  assert.equal((await changesWith('fields=events,pastSlugs')).statusCode, 200)
})

test('410: a cursor after the newest change, in the list and in the stream', async () => {
  const head = (await client.markets.changes({ limit: 1000 })).next
  const error = `999999999 is not a cursor of this history: it is after the newest change. Read all markets again and continue with after=${head}.`
  for (const [path, headers] of [
    ['changes?after=999999999', {}],
    ['changes?after=999999999&kinds=market', {}],
    ['changes/stream?after=999999999', {}],
    ['changes/stream', { 'last-event-id': '999999999' }],
  ] as const) {
    const refused = await fetch(`${server.url}/markets/${path}`, { headers })
    assert.equal(refused.status, 410, path)
    assert.deepEqual(await refused.json(), { type: 'request error', error })
  }
  assert.equal((await fetch(`${server.url}/markets/changes?after=${head}`)).status, 200)
  assert.equal((await fetch(`${server.url}/markets/changes?after=${Number(head) + 1}`)).status, 410)
  await assert.rejects(client.markets.watchChanges({ after: '999999999' }).next(), { status: 410 })
})

test('410: deleted history, with advice on how to continue', async () => {
  await put(firstMs + 2000, 0.5)
  await server.context.ingest.write((tx) => dropVersionsBefore(tx, firstMs + 1000))
  const errorOf = async (path: string) => {
    const { statusCode, body } = await inject(server, { url: `/markets/${path}` })
    return [statusCode, JSON.parse(body).error]
  }
  assert.deepEqual(await errorOf('changes?after=0'), [
    410,
    'Changes up to 1 have been deleted. Read all markets again and continue with after=2.',
  ])
  assert.deepEqual(await errorOf('slug/uno?asOf=2026-11-01T00:00:00Z'), [
    410,
    'The stored history starts at 2026-11-01T00:00:01.000Z. Use this time or later.',
  ])
})
