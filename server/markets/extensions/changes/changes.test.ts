// The changes of markets over HTTP: two lists, a stream, and the client that follows the stream.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { type Client, createClient } from '#api/client/client.ts'
import { extensions } from '#api/contract/extensions.ts'
import { changeKinds, type MarketChange } from '#api/contract/wire/market-changes.ts'
import { MarketsFailure } from '#api/contract/wire/markets.ts'
import { checker } from '#core/schema-check.ts'
import { silentLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import { settingsWith } from '#test/context.ts'
import { inject } from '#test/inject.ts'
import { kindNames } from '../../records/kinds.ts'
import type { MarketRecord } from '../../records/normalize.ts'
import { putMarkets } from '../../write/put-markets.ts'
import { dropVersionsBefore } from '../../write/version-writer.ts'

let dir: string
let server: RunningServer
let client: Client
let nowMs = Date.UTC(2026, 10, 1)

async function open(overrides: object = {}): Promise<RunningServer> {
  const markets = { streamsMax: 2, ...overrides }
  const settings = settingsWith({ server: { port: 0, anonymousPerSecond: 0 }, markets })
  return startServer({ settings, dataDir: dir, log: silentLog })
}

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tetrad-changes-'))
  server = await open()
  client = createClient({ baseUrl: server.url, retries: 0 })
  await put(
    {
      kind: 'market',
      id: '1',
      fields: { slug: 'one', bestBid: 0.4, description: 'x'.repeat(2000) },
      links: { events: ['10'] },
    },
    { kind: 'market', id: '2', fields: { slug: 'two' }, links: { events: ['10'] } },
    { kind: 'event', id: '10', fields: { slug: 'ten', volume: 1 } },
  )
  await put({ kind: 'market', id: '1', fields: { bestBid: 0.5, closed: true }, partial: true })
  await put({ kind: 'event', id: '10', fields: { volume: 2 }, partial: true })
  await put({ kind: 'market', id: '1', fields: { slug: 'uno', pastSlugs: 'one' }, partial: true })
})
after(async () => {
  await server.close()
  await rm(dir, { recursive: true, force: true })
})

const put = (...records: MarketRecord[]) => {
  nowMs += 1000
  return server.context.ingest.write((tx) => putMarkets(tx, records, nowMs))
}

const short = ({ kind, id, change, fields }: MarketChange) =>
  `${kind}/${id} ${change}${fields.map(({ field }) => ` ${field}`).join('')}`

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${server.url}${path}`, { headers })

describe('200: changes of one market', () => {
  test('200: newest first, field by field, by any of its slugs', async () => {
    const { changes, next } = await client.markets.changesBySlug({ slug: 'one' })
    assert.deepEqual(changes.map(short), [
      'market/1 changed slug pastSlugs',
      'market/1 changed closed bestBid',
      'market/1 created',
    ])
    assert.deepEqual(changes[1]?.fields, [
      { field: 'closed', after: true },
      { field: 'bestBid', before: 0.4, after: 0.5 },
    ])
    assert.equal(changes[1]?.slug, 'uno')
    assert.equal(next, null)
  })

  test('200: in pages, only some fields, and with related records', async () => {
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await client.markets.changesBySlug({
        slug: 'uno',
        limit: 1,
        related: true,
        ...(cursor && { cursor }),
      })
      seen.push(...page.changes.map(short))
      cursor = page.next
    }
    assert.deepEqual(seen, [
      'market/1 changed slug pastSlugs',
      'event/10 changed volume',
      'market/1 changed closed bestBid',
      'event/10 created',
      'market/1 created',
    ])
    const some = await client.markets.changesBySlug({ slug: 'uno', fields: ['bestBid'] })
    assert.deepEqual(some.changes.map(short), ['market/1 changed bestBid'])
  })
})

describe('200: changes of all markets', () => {
  test('200: oldest first, each once, for any page size, and as in the contract', async () => {
    const seen: string[] = []
    let after: string | undefined
    for (let more = true; more; ) {
      const page = await client.markets.changes({ limit: 2, ...(after && { after }) })
      assert.deepEqual(checker(extensions['markets.changes'].reply)(structuredClone(page)), [])
      seen.push(...page.changes.map(short))
      more = page.more
      after = page.next
    }
    assert.equal(seen.length, 6)
    assert.deepEqual(seen.slice(-2), ['event/10 changed volume', 'market/1 changed slug pastSlugs'])
    const last = await client.markets.changes({ after: after ?? '' })
    assert.deepEqual([last.changes, last.next, last.more], [[], after, false])
  })

  test('200: filtered by kind and by market', async () => {
    const events = await client.markets.changes({ kinds: ['event'] })
    assert.deepEqual(events.changes.map(short), ['event/10 created', 'event/10 changed volume'])
    const two = await client.markets.changes({ slugs: ['two', 'nobody'] })
    assert.deepEqual(two.changes.map(short), ['market/2 created'])
  })

  test('the contract lists the kinds of the server', () => assert.deepEqual(changeKinds, kindNames))
})

describe('404, 410, 422', () => {
  test('404: an unknown slug; 422: an invalid cursor', async () => {
    await assert.rejects(client.markets.changesBySlug({ slug: 'nobody' }), { status: 404, notFound: true })
    const bad = await get('/markets/changes?after=x')
    assert.equal(bad.status, 422)
    assert.deepEqual(checker(MarketsFailure)(await bad.json()), [])
  })

  test('410: a cursor before the stored history, because changes would be missed', async () => {
    const other = await mkdtemp(join(tmpdir(), 'tetrad-gone-'))
    const small = await startServer({ settings: settingsWith({ server: { port: 0 } }), dataDir: other, log: silentLog })
    const write = (ms: number, bestBid: number) =>
      small.context.ingest.write((tx) =>
        putMarkets(tx, [{ kind: 'market', id: '1', fields: { slug: 'a', bestBid } }], ms),
      )
    await write(1000, 0.1)
    await write(2000, 0.2)
    await write(3000, 0.3)
    await small.context.ingest.write((tx) => dropVersionsBefore(tx, 2500))
    assert.equal((await fetch(`${small.url}/markets/changes?after=1`)).status, 410)
    assert.equal((await fetch(`${small.url}/markets/changes?after=2`)).status, 200)
    const page = (await (await fetch(`${small.url}/markets/changes`)).json()) as { changes: MarketChange[] }
    assert.deepEqual(
      page.changes.map(({ cursor }) => cursor),
      ['3'],
    )
    await small.close()
    await rm(other, { recursive: true })
  })
})

test('any parameter value gives no 500 and always the error format of the group', async () => {
  const words = [
    '',
    '0',
    '-1',
    '1e9',
    'x',
    '99999999999999999999',
    'market',
    'event,market',
    'uno',
    "a'b",
    '\0',
    '%00',
    '💥',
  ]
  const word = fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'binary', maxLength: 20 }))
  const names = ['after', 'cursor', 'limit', 'kinds', 'slugs', 'fields', 'related', 'asOf', 'include_tag']
  const query = fc.array(fc.tuple(fc.constantFrom(...names), word), { maxLength: 4 })
  const paths = ['/markets/changes', '/markets/slug/uno/changes', '/markets/slug/uno', '/markets/slug/two/changes']
  const failure = checker(MarketsFailure)
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), query, async (path, pairs) => {
      const { statusCode, body } = await inject(server, { url: `${path}?${new URLSearchParams(pairs)}` })
      assert.ok([200, 400, 410, 422].includes(statusCode), `${statusCode} ${body}`)
      if (statusCode !== 200) assert.deepEqual(failure(JSON.parse(body)), [])
    }),
    { numRuns: 300 },
  )
})

describe('the stream', () => {
  test('200: changes as they happen, each once, resumed after a disconnect', async () => {
    const stop = new AbortController()
    const seen: string[] = []
    const following = (async () => {
      for await (const change of client.markets.watchChanges({ after: '4' }, { signal: stop.signal })) {
        seen.push(short(change))
        if (seen.length === 2) await put({ kind: 'market', id: '2', fields: { bestAsk: 0.7 }, partial: true })
        if (seen.length === 3) stop.abort()
      }
    })()
    await following
    assert.deepEqual(seen, ['event/10 changed volume', 'market/1 changed slug pastSlugs', 'market/2 changed bestAsk'])
    const resumed = await get('/markets/changes/stream', { 'last-event-id': '6' })
    const reader = resumed.body?.getReader()
    let text = ''
    while (!text.includes('event: change')) text += new TextDecoder().decode((await reader?.read())?.value)
    assert.match(text, /^retry: 2000\n\nevent: cursor\nid: 6\n.*\n\nevent: change\nid: 7\ndata: \{"cursor":"7"/)
    assert.equal(resumed.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    await reader?.cancel()
  })

  test('503: the number of streams is limited, closed streams free their slot, and HEAD takes none', async () => {
    assert.equal((await fetch(`${server.url}/markets/changes/stream`, { method: 'HEAD' })).status, 200)
    await untilFree()
    const held = [await openStream(), await openStream()]
    const refused = await get('/markets/changes/stream')
    assert.equal(refused.status, 503)
    assert.ok(refused.headers.get('retry-after'))
    assert.deepEqual(checker(MarketsFailure)(await refused.json()), [])
    for (const reader of held) await reader.cancel()
    await untilFree()
  })

  test('a server that stops ends its streams at once', async () => {
    const other = await mkdtemp(join(tmpdir(), 'tetrad-stop-'))
    const small = await startServer({ settings: settingsWith({ server: { port: 0 } }), dataDir: other, log: silentLog })
    const response = await fetch(`${small.url}/markets/changes/stream`)
    const text = response.text()
    const startMs = performance.now()
    await small.close()
    assert.match(await text, /^retry: 2000/)
    assert.ok(performance.now() - startMs < 5000, 'it does not wait for the stop time-out')
    await rm(other, { recursive: true })
  })

  async function openStream() {
    const response = await get('/markets/changes/stream')
    assert.equal(response.status, 200)
    const reader = response.body?.getReader()
    if (!reader) throw new Error('no body')
    await reader.read()
    return reader
  }

  /** A disconnect is noticed a moment later. */
  async function untilFree() {
    for (let tries = 0; tries < 100; tries++) {
      const readers = []
      for (let at = 0; at < 2; at++) {
        const response = await get('/markets/changes/stream')
        if (response.status === 200) readers.push(response.body)
        else await response.body?.cancel()
      }
      for (const body of readers) await body?.cancel()
      if (readers.length === 2) break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
})

describe('4.8, gzip', () => {
  const raw = (path: string, encoding: string) =>
    new Promise<Buffer>((resolve) => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      const parts: Buffer[] = []
      socket.on('data', (part: Buffer) => parts.push(part)).on('close', () => resolve(Buffer.concat(parts)))
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\naccept-encoding: ${encoding}\r\nconnection: close\r\n\r\n`)
    })
  const split = (message: Buffer) => {
    const at = message.indexOf('\r\n\r\n')
    return { head: message.toString('latin1', 0, at).toLowerCase(), body: message.subarray(at + 4) }
  }

  test('200: gzip if the caller accepts it, with its own ETag and the same content', async () => {
    for (const path of ['/markets/slug/uno', '/markets/slug/uno?include_tag=false']) {
      const plain = split(await raw(path, 'identity'))
      const packed = split(await raw(path, 'br, gzip;q=0.5'))
      assert.match(packed.head, /content-encoding: gzip/)
      assert.match(plain.head, /vary: accept-encoding/)
      assert.ok(packed.body.length < plain.body.length / 3)
      assert.deepEqual(gunzipSync(packed.body), plain.body)
      const tag = (head: string) => /etag: (\S+)/.exec(head)?.[1]
      assert.notEqual(tag(packed.head), tag(plain.head))
    }
    assert.doesNotMatch(split(await raw('/markets/slug/uno', 'gzip;q=0')).head, /content-encoding/)
  })

  test('304: by the ETag of the form that would be sent', async () => {
    const first = await get('/markets/slug/uno', { 'accept-encoding': 'gzip' })
    const etag = first.headers.get('etag') ?? ''
    await first.arrayBuffer()
    const again = await get('/markets/slug/uno', { 'accept-encoding': 'gzip', 'if-none-match': etag })
    assert.equal(again.status, 304)
  })
})
