import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { settingsWith } from '#test/context.ts'
import { SeenRecords } from './seen-records.ts'

const feedWith = (changes: object = {}): MarketFeed => {
  const feeds = [{ id: 'main', url: 'https://feed.example/', ...changes }]
  return settingsWith({ markets: { feeds } }).markets.feeds[0] as MarketFeed
}

const records = (...ids: number[]) => ids.map((id) => ({ id: String(id) }))

test('a record is new once, however often it changes', () => {
  const seen = new SeenRecords(feedWith())
  assert.equal(seen.add([{ id: '1' }, { id: '2' }, { id: '1', bestBid: 1 }]), 2)
  assert.equal(seen.hasNew([{ id: '2', bestBid: 2 }]), false)
  assert.equal(seen.hasNew([{ id: '2' }, { id: '3' }]), true)
  assert.equal(seen.hasNew([]), false)
})

test('a text and a number are the same id, and records without an id are compared as a whole', () => {
  const seen = new SeenRecords(feedWith())
  assert.equal(seen.add([{ id: 1 }, { id: '1' }, null, null, { slug: 'a' }, { slug: 'b' }]), 4)
})

test('of a long pass, only the last records are known', () => {
  const seen = new SeenRecords(feedWith(), 3)
  seen.add(records(1, 2, 3, 4))
  assert.equal(seen.hasNew(records(1, 4)), false)
  seen.add(records(5, 6, 7))
  assert.equal(seen.hasNew(records(4, 5, 6, 7)), false)
  assert.equal(seen.hasNew(records(1)), true)
})
