// Download links over HTTP, from the response of 4.1 to the file.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labelListV2 } from '#explorer/endpoints/label-list-v2.ts'
import { startHttpServer } from '#http/http-server.ts'
import { createApp } from '#http/pipeline.ts'
import { openContext } from '#test/context.ts'
import { HistoryWriter } from '../history.ts'
import { putLabels } from '../labels.ts'
import { labelExportRoute } from './downloads.ts'

const everyone = {
  authorize: async () => ({ keyId: 'test', plan: 'enterprise' as const }),
  refuseWrongKey: async () => {},
  flush: async () => {},
  close: async () => {},
}

/** On a busy machine, a request may take longer than the default to arrive. */
const serverSettings = { port: 0, headersTimeoutMs: 120_000, requestTimeoutMs: 120_000 }

async function openExports(more = 0, overrides: object = {}) {
  const context = await openContext({ server: serverSettings, ...overrides })
  const entity = { chain: '1', slug: 'a', name: 'A "quoted" name', description: 'd', notes: '', updatedUnix: 5 }
  const notes = 'many notes '.repeat(100)
  const others = Array.from({ length: more }, (_, at) => ({ ...entity, slug: `b-${at}`, notes }))
  const author = { by: 'test', via: 'test', atMs: context.clock.now() }
  await context.ingest.write((tx) => putLabels(new HistoryWriter(tx, author), [entity, ...others]))
  const httpServer = await startHttpServer(createApp(context, [labelListV2], everyone, { request: () => {} }), [
    labelExportRoute,
  ])
  const ask = async (query: string) => {
    const reply = await fetch(`${httpServer.url}/v2/api?module=nametag&action=getlabelmasterlist&${query}`)
    return (await reply.json()) as { status: string; result: string }
  }
  return {
    context,
    ask,
    async [Symbol.asyncDispose]() {
      await httpServer.close()
      await context[Symbol.asyncDispose]()
    },
  }
}

test('200: the link of 4.1 returns the file with content type, file name and etag', async () => {
  await using server = await openExports()
  const { result: link } = await server.ask('format=csv')
  const reply = await fetch(link)
  assert.equal(reply.status, 200)
  assert.equal(reply.headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
  assert.equal(reply.headers.get('content-disposition'), 'attachment; filename="labelmasterlist_latest.csv"')
  assert.match(await reply.text(), /\r\n"A ""quoted"" name",a,d,,5\r\n$/)
  const again = await fetch(link, { headers: { 'if-none-match': reply.headers.get('etag') ?? '' } })
  assert.equal(again.status, 304)
  assert.equal((await fetch(link, { method: 'HEAD' })).status, 200)
})

test('200: formulas are unchanged, or have an apostrophe if csvForSpreadsheets is set', async () => {
  for (const [csvForSpreadsheets, expected] of [
    [false, '=1+1'],
    [true, "'=1+1"],
  ] as const) {
    await using server = await openExports(0, { explorer: { labels: { csvForSpreadsheets } } })
    const formula = { chain: '1', slug: 'b', name: '=1+1', description: 'd', notes: '', updatedUnix: 5 }
    const author = { by: 'test', via: 'test', atMs: 0 }
    await server.context.ingest.write((tx) => putLabels(new HistoryWriter(tx, author), [formula]))
    const text = await (await fetch((await server.ask('format=csv')).result)).text()
    assert.ok(text.includes(`\r\n${expected},b,d,,5\r\n`), text)
  }
})

test('200: a long file is sent in chunks, and HEAD returns its length', async () => {
  await using server = await openExports(200)
  const { result: link } = await server.ask('format=csv')
  const reply = await fetch(link, { headers: { 'accept-encoding': 'identity' } })
  const text = await reply.text()
  assert.equal(text.split('\r\n').length, 1 + 201 + 1)
  const length = String(Buffer.byteLength(text))
  assert.ok(text.length > 3 * 65_536)
  assert.deepEqual([reply.headers.get('content-length'), reply.headers.get('accept-ranges')], [length, 'none'])
  const head = await fetch(link, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } })
  assert.deepEqual([head.headers.get('content-length'), await head.text()], [length, ''])
  for (const packing of ['gzip', 'br']) {
    const packed = await fetch(link, { headers: { 'accept-encoding': packing } })
    assert.equal(packed.headers.get('content-encoding'), packing)
    assert.ok(Number(packed.headers.get('content-length')) < text.length / 5)
    assert.equal(await packed.text(), text)
  }
})

test('200: an aborted download does not affect the server', async () => {
  await using server = await openExports(200)
  const { result: link } = await server.ask('format=csv')
  for (let round = 0; round < 3; round++) {
    const left = new AbortController()
    const reply = await fetch(link, { signal: left.signal, headers: { 'accept-encoding': 'identity' } })
    await reply.body?.getReader().read()
    left.abort()
  }
  assert.equal((await fetch(link)).status, 200)
})

test('200: renamed and hidden fields are also renamed and hidden in the file', async () => {
  await using server = await openExports(50, {
    aliases: { responseFields: { labelname: 'title' }, hiddenFields: ['notes'] },
  })
  const { result: link } = await server.ask('format=json')
  for (const packing of ['identity', 'gzip']) {
    const [first] = (await (await fetch(link, { headers: { 'accept-encoding': packing } })).json()) as object[]
    assert.ok(first && 'title' in first && !('labelname' in first) && !('notes' in first), packing)
  }
})

test('403: a link that was changed, has no signature, repeats a parameter or has expired', async () => {
  await using server = await openExports()
  const { result: link } = await server.ask('format=json')
  const status = async (url: string) => (await fetch(url)).status
  assert.equal(await status(link), 200)
  assert.equal(await status(link.replace('.json', '.csv')), 403)
  assert.equal(await status(link.replace('/1/', '/137/')), 403)
  assert.equal(await status(link.split('?')[0] ?? ''), 403)
  assert.equal(await status(`${link}&signature=x`), 403)
  server.context.clock.advance(300_000)
  assert.equal(await status(link), 403)
})
