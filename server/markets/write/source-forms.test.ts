// Which feeds have fast values that are found before a source record is divided.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { SourceNames } from './source-forms.ts'

test('records of the shipped example for the largest public feed are recognized', () => {
  const file = new URL('../../../examples/polymarket-feed.yaml', import.meta.url)
  const { markets } = parse(readFileSync(file, 'utf8'))
  assert.equal(markets.feeds.length, 2)
  for (const feed of markets.feeds) {
    assert.ok(Object.keys(feed.fields).length > 0)
    assert.equal(new SourceNames(feed.fields).areUsual, true)
  }
})

test('rule 3: records are not recognized if a rename takes a name of fast values, ids or inner records', () => {
  for (const renames of [
    { market: { bestBid: 'bid' } },
    { all: { key: 'id' } },
    { event: { outcomes: 'markets' } },
    { market: { groups: 'events' } },
    { event: { volume: 'openInterest' } },
  ])
    assert.equal(new SourceNames(renames).areUsual, false, JSON.stringify(renames))
  assert.equal(new SourceNames({ market: { heading: 'question', bid: 'bestBid' } }).areUsual, true)
})
