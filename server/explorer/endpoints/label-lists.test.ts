// 4.1, 4.2 and the download files.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { contract } from '#api/contract/contract.ts'
import { checker } from '#core/schema-check.ts'
import type { HandlerResult } from '#http/handler.ts'
import { createContext } from '#server/context.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { HistoryWriter } from '../labels/history.ts'
import { putLabels } from '../labels/labels.ts'
import { readLabelExport } from '../labels/lists/downloads.ts'
import { labelListV1 } from './label-list-v1.ts'
import { labelListV2 } from './label-list-v2.ts'

const author = { by: 'test', via: 'test', atMs: testNowMs }

type Envelope = { status: string; message: string; result: string | { labelslug: string }[] }

async function contextWith(chains: Record<string, number>, overrides: object = {}): Promise<TestContext> {
  const context = await openContext(overrides)
  const labels = Object.entries(chains).flatMap(([chain, count]) =>
    Array.from({ length: count }, (_, at) => ({
      chain,
      slug: `entity-${at}`,
      name: `Entity, ${at}`,
      description: 'A place.',
      notes: '',
      updatedUnix: 1_790_000_000 + at,
    })),
  )
  await context.ingest.write((tx) => putLabels(new HistoryWriter(tx, author), labels))
  return context
}

const ask = (
  context: TestContext,
  input: Parameters<typeof labelListV2.handle>[0],
  headers: Record<string, string> = {},
) => labelListV2.handle(input, context, testRequestInfo({ headers }))

function bodyOf(outcome: HandlerResult<unknown>): Envelope {
  if (outcome.is === 'body') return outcome.body as Envelope
  assert.ok(outcome.is === 'bytes', outcome.is)
  return JSON.parse(Buffer.from(outcome.bytes).toString())
}

/** The parts of a link, as the router passes them. */
function linkOf(link: unknown) {
  const url = new URL(String(link))
  const [, chain = '', format = ''] = /^\/exports\/([^/]+)\/labelmasterlist_latest\.(\w+)$/.exec(url.pathname) ?? []
  const part = (name: string) => url.searchParams.get(name) ?? undefined
  return { chain, format, expires: part('expires'), signature: part('signature') }
}

describe('200', () => {
  test('200: a short list is the array of the contract', async () => {
    await using context = await contextWith({ 1: 3 })
    const body = bodyOf(await ask(context, { chainid: '1' }))
    assert.deepEqual(checker(contract['explorer.labelListV2'].reply)(body), [])
    assert.deepEqual([body.status, body.message, body.result.length], ['1', 'OK', 3])
  })

  test('200: a list longer than labels.inlineMax is a link to the JSON file', async () => {
    await using context = await contextWith({ 1: 4, 137: 3 }, { explorer: { labels: { inlineMax: 3 } } })
    const long = bodyOf(await ask(context, { chainid: '1' }))
    assert.deepEqual(checker(contract['explorer.labelListV2'].reply)(long), [])
    assert.match(
      String(long.result),
      /^http:\/\/127\.0\.0\.1:8080\/exports\/1\/labelmasterlist_latest\.json\?expires=\d+&signature=[\w-]+$/,
    )
    assert.ok(Array.isArray(bodyOf(await ask(context, { chainid: '137' })).result))
  })

  test('200: with a format, the response is a link that is valid for labels.linkSeconds', async () => {
    await using context = await contextWith({ 1: 2 })
    for (const format of ['csv', 'json'] as const) {
      const link = linkOf(bodyOf(await ask(context, { chainid: '1', format })).result)
      assert.equal(link.format, format)
      assert.equal(Number(link.expires), context.clock.now() / 1000 + 300)
    }
  })

  test('200: version 1 is the array of chain 1, of any length', async () => {
    await using context = await contextWith({ 1: 4, 137: 1 }, { explorer: { labels: { inlineMax: 3 } } })
    const body = bodyOf(await labelListV1.handle({}, context, testRequestInfo()))
    assert.deepEqual(checker(contract['explorer.labelListV1'].reply)(body), [])
    assert.equal(body.result.length, 4)
  })

  test('200: a chain without labels is "No data found", without a link', async () => {
    await using context = await openContext()
    assert.deepEqual(await ask(context, { chainid: '137' }), { is: 'nothing' })
    assert.deepEqual(await ask(context, { chainid: '137', format: 'csv' }), { is: 'nothing' })
    assert.deepEqual(await labelListV1.handle({}, context, testRequestInfo()), { is: 'nothing' })
  })

  test('200: the CSV file has a header line and every label', async () => {
    await using context = await contextWith({ 1: 2 })
    const link = linkOf(bodyOf(await ask(context, { chainid: '1', format: 'csv' })).result)
    const { status, headers, bytes } = await readLabelExport(context, link)
    assert.equal(status, 200)
    assert.match(headers['content-type'] ?? '', /^text\/csv/)
    assert.match(headers['content-disposition'] ?? '', /^attachment; filename="labelmasterlist_latest.csv"$/)
    assert.deepEqual(Buffer.from(bytes).toString().split('\r\n'), [
      'labelname,labelslug,shortdescription,notes,lastupdatedtimestamp',
      '"Entity, 0",entity-0,A place.,,1790000000',
      '"Entity, 1",entity-1,A place.,,1790000001',
      '',
    ])
  })

  test('200: the JSON file is the array of the inline response', async () => {
    await using context = await contextWith({ 1: 2 })
    const link = linkOf(bodyOf(await ask(context, { chainid: '1', format: 'json' })).result)
    const { bytes } = await readLabelExport(context, link)
    assert.deepEqual(JSON.parse(Buffer.from(bytes).toString()), bodyOf(await ask(context, { chainid: '1' })).result)
  })

  test('200: a link survives a restart, because the secret is stored', async () => {
    await using context = await contextWith({ 1: 1 })
    const link = linkOf(bodyOf(await ask(context, { chainid: '1', format: 'json' })).result)
    // A new context has empty caches.
    const again = createContext({ ...context, random: { ...context.random, bytes: () => new Uint8Array(32) } })
    assert.equal((await readLabelExport(again, link)).status, 200)
  })
})

describe('compression', () => {
  const packings = [
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ] as const

  test('200: array and files are compressed as the caller accepts, with the same content and an etag of their own', async () => {
    await using context = await contextWith({ 1: 50 })
    const plain = await ask(context, { chainid: '1' })
    assert.ok(plain.is === 'bytes')
    for (const [packing, unpack] of packings) {
      const packed = await ask(context, { chainid: '1' }, { 'accept-encoding': packing })
      assert.ok(packed.is === 'bytes')
      assert.deepEqual([packed.headers?.['content-encoding'], packed.headers?.vary], [packing, 'accept-encoding'])
      assert.deepEqual(unpack(packed.bytes), Buffer.from(plain.bytes))
      assert.notEqual(packed.headers?.etag, plain.headers?.etag)
      const headers = { 'accept-encoding': packing, 'if-none-match': packed.headers?.etag ?? '' }
      assert.equal((await ask(context, { chainid: '1' }, headers)).is, 'unchanged')
      for (const format of ['csv', 'json'] as const) {
        const link = linkOf(bodyOf(await ask(context, { chainid: '1', format })).result)
        const file = await readLabelExport(context, link)
        const smaller = await readLabelExport(context, { ...link, acceptEncoding: packing })
        assert.equal(smaller.headers['content-encoding'], packing)
        assert.ok(smaller.bytes.length < file.bytes.length / 2)
        assert.deepEqual(unpack(smaller.bytes), Buffer.from(file.bytes))
        const again = { ...link, acceptEncoding: packing, ifNoneMatch: smaller.headers.etag }
        assert.equal((await readLabelExport(context, again)).status, 304)
      }
    }
  })

  test('200: each encoding is compressed once per change', async () => {
    await using context = await contextWith({ 1: 50 })
    const [one, two] = await Promise.all(
      [1, 2].map(() => ask(context, { chainid: '1' }, { 'accept-encoding': 'gzip' })),
    )
    assert.ok(one?.is === 'bytes' && two?.is === 'bytes')
    assert.equal(one.bytes, two.bytes)
  })

  test('200: with renamed fields, the response is not compressed', async () => {
    await using context = await contextWith({ 1: 50 }, { aliases: { responseFields: { labelname: 'title' } } })
    const list = await ask(context, { chainid: '1' }, { 'accept-encoding': 'gzip' })
    assert.ok(list.is === 'bytes')
    assert.equal(list.headers?.['content-encoding'], undefined)
  })
})

describe('304', () => {
  test('304: an unchanged list is not sent again', async () => {
    await using context = await contextWith({ 1: 2 })
    const first = await ask(context, { chainid: '1' })
    assert.ok(first.is === 'bytes')
    const etag = first.headers?.etag ?? ''
    assert.deepEqual(await ask(context, { chainid: '1' }, { 'if-none-match': etag }), {
      is: 'unchanged',
      headers: { etag, vary: 'accept-encoding', 'cache-control': 'private, no-cache' },
    })
    const link = linkOf(bodyOf(await ask(context, { chainid: '1', format: 'json' })).result)
    const file = await readLabelExport(context, link)
    assert.equal((await readLabelExport(context, { ...link, ifNoneMatch: file.headers.etag })).status, 304)
    const more = { chain: '1', slug: 'new', name: 'New', description: '', notes: '', updatedUnix: 1 }
    await context.ingest.write((tx) => putLabels(new HistoryWriter(tx, author), [more]))
    assert.equal((await ask(context, { chainid: '1' }, { 'if-none-match': etag })).is, 'bytes')
  })
})

describe('403', () => {
  test('403: a link expires after labels.linkSeconds', async () => {
    await using context = await contextWith({ 1: 1 })
    const link = linkOf(bodyOf(await ask(context, { chainid: '1', format: 'json' })).result)
    context.clock.advance(299_999)
    assert.equal((await readLabelExport(context, link)).status, 200)
    context.clock.advance(1)
    await assert.rejects(readLabelExport(context, link), { code: 'explorer.link', status: 403 })
  })

  test('403: a link with a changed or missing part is rejected', async () => {
    await using context = await contextWith({ 1: 1, 137: 1 })
    const link = linkOf(bodyOf(await ask(context, { chainid: '1', format: 'json' })).result)
    const changes = [
      { chain: '137' },
      { format: 'csv' },
      { format: 'exe' },
      { expires: '99999999999' },
      { expires: undefined },
      { signature: undefined },
      { signature: '' },
    ]
    for (const change of changes) {
      await assert.rejects(
        readLabelExport(context, { ...link, ...change }),
        { code: 'explorer.link' },
        JSON.stringify(change),
      )
    }
  })
})
