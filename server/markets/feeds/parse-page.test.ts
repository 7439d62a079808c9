import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringifyJson } from '#api/contract/json.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { FetchError } from '#sources/http-client.ts'
import { settingsWith } from '#test/context.ts'
import { parseFeedPage } from './feed-page.ts'
import { parsePage } from './parse-page.ts'

const feedWith = (extra: object = {}): MarketFeed =>
  settingsWith({ markets: { feeds: [{ id: 'main', url: 'http://feed.test/secret', ...extra }] } }).markets
    .feeds[0] as MarketFeed

const bytesOf = (text: string) => new TextEncoder().encode(text)

test('numbers beyond 2^53 stay exact', () => {
  const feed = feedWith({ list: 'data', paging: { kind: 'keyset', next: 'next' } })
  const page = { data: [{ id: 'm1', question: 'Ω "quoted"', volume: 9_007_199_254_740_993n }], next: 'c2' }
  assert.deepEqual(parsePage(bytesOf(stringifyJson(page)), feed, 'c1'), parseFeedPage(page, feed, 'c1'))
})

test('a page that is cut off, is not UTF-8 or has no list is an error', () => {
  const isNotJson = (error: unknown) =>
    error instanceof FetchError && error.failure === 'text' && !error.message.includes('secret')
  const parse = (bytes: Uint8Array) => () => parsePage(bytes, feedWith(), '')
  assert.throws(parse(bytesOf('[{"id":"1"},')), isNotJson)
  assert.throws(parse(new Uint8Array([...bytesOf('["'), 0xff, ...bytesOf('"]')])), isNotJson)
  assert.throws(parse(bytesOf('{"data":[]}')), /the page is not a list/)
})
