import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { stringifyJson } from '#api/json.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { FetchError } from '#sources/http-client.ts'
import { settingsWith } from '#test/context.ts'
import { countLoopTurns } from '#test/event-loop-turns.ts'
import { parseFeedPage } from './feed-page.ts'
import { inlineBytesMax, PageParser, parseTexts } from './parse-page.ts'

const parser = new PageParser()
after(() => parser[Symbol.asyncDispose]())

const feedWith = (extra: object = {}): MarketFeed =>
  settingsWith({ markets: { feeds: [{ id: 'main', url: 'http://feed.test/secret', ...extra }] } }).markets
    .feeds[0] as MarketFeed

/** More than a megabyte. Numbers beyond 2^53 stay exact. */
const records = Array.from({ length: 600 }, (_, at) => ({
  id: `m${at}`,
  question: 'Ω "quoted" '.repeat(200),
  volume: 9_007_199_254_740_993n + BigInt(at),
  updatedAt: new Date(1_790_000_000_000 + at).toISOString(),
}))
const bytesOf = (text: string) => new TextEncoder().encode(text)

test('a large page has the same content as a page that is parsed at once, and is not parsed at once', async () => {
  const feed = feedWith({ list: 'data', paging: { kind: 'keyset', next: 'next' } })
  const bytes = bytesOf(stringifyJson({ data: records, next: 'c2' }))
  assert.ok(bytes.length > 8 * 128 * 1024)
  const { result, turns } = await countLoopTurns(() => parser.parse(bytes, feed, 'c1'))
  assert.deepEqual(result, parseFeedPage({ data: records, next: 'c2' }, feed, 'c1'))
  assert.ok(turns >= 8, `${turns} turns`)
})

test('the texts of records are parsed in slices', async () => {
  const texts = records.map((record) => stringifyJson(record))
  const { result, turns } = await countLoopTurns(() => parseTexts(texts))
  assert.deepEqual(result, records)
  assert.ok(turns >= 8, `${turns} turns`)
})

for (const [size, padding] of [
  ['small', ''],
  ['large', ' '.repeat(inlineBytesMax)],
] as const) {
  test(`a ${size} page that is cut off, is not UTF-8 or has no list is an error`, async () => {
    const isNotJson = (error: unknown) =>
      error instanceof FetchError && error.failure === 'text' && !error.message.includes('secret')
    const parse = (bytes: Uint8Array) => parser.parse(bytes, feedWith(), '')
    await assert.rejects(parse(bytesOf(`[{"id":"1"},${padding}`)), isNotJson)
    await assert.rejects(parse(new Uint8Array([...bytesOf(`["${padding}`), 0xff, ...bytesOf('"]')])), isNotJson)
    await assert.rejects(parse(bytesOf(`{"data":[]}${padding}`)), /the page is not a list/)
  })
}
