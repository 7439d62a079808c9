import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketChange } from '#api/wire/market-changes.ts'
import { applied, isVisibleChange, merged, momentsOf, toPlotData } from './history.ts'

const at = (second: number): string => new Date(second * 1000).toISOString()
const changed = (cursor: number, second: number, fields: MarketChange['fields'], more = {}): MarketChange => ({
  cursor: String(cursor),
  at: at(second),
  kind: 'market',
  id: '1',
  change: 'changed',
  fields,
  ...more,
})

const market = { id: '1', outcomes: '["Yes","No"]', outcomePrices: '["0.7","0.3"]', volumeNum: 50, bestBid: 0.69 }
const changes = [
  changed(9, 90, [{ field: 'outcomePrices', before: '["0.6","0.4"]', after: '["0.7","0.3"]' }]),
  changed(8, 80, [{ field: 'question', before: 'a', after: 'b' }]),
  changed(7, 70, [{ field: 'volume', before: 1, after: 2 }], { kind: 'event', id: '1' }),
  changed(6, 60, [
    { field: 'outcomePrices', before: '["0.5","0.5"]', after: '["0.6","0.4"]' },
    { field: 'volumeNum', after: 50 },
  ]),
  changed(1, 10, [], { change: 'created' }),
]

test('the past unrolls from the newest change: each value holds from its change on, up to now', () => {
  const moments = momentsOf(market, changes, 100)
  assert.deepEqual(toPlotData('prices', market, moments), {
    // Created at 10; changes of prices at 60 and 90; now is 100. What happened to the question and the event is not drawn.
    xs: [10, 60, 90, 100],
    lines: [
      { label: 'Yes', values: [0.5, 0.6, 0.7, 0.7], steps: true },
      { label: 'No', values: [0.5, 0.4, 0.3, 0.3], steps: true },
    ],
  })
  // There was no volume before 60.
  assert.deepEqual(toPlotData('volume', market, moments).lines[0]?.values, [null, 50, 50, 50])
  // A field that never changed was always what it is.
  assert.deepEqual(toPlotData('book', market, moments).lines[0]?.values, [0.69, 0.69, 0.69, 0.69])
})

test('a market that is older than its latest change is no matter: the change says what came after', () => {
  const stale = { ...market, outcomePrices: '["0.6","0.4"]' }
  const prices = toPlotData('prices', stale, momentsOf(stale, changes, 100))
  assert.deepEqual(prices.lines[0]?.values, [0.5, 0.6, 0.7, 0.7])
})

test('no changes, no line', () => assert.deepEqual(momentsOf(market, [], 100), []))

test('the stream’s changes go on top, and none is shown twice', () => {
  const [newest, ...listed] = changes as [MarketChange, ...MarketChange[]]
  assert.deepEqual(merged([newest, listed[0] as MarketChange], listed), changes)
  assert.deepEqual(merged([newest], []), [newest])
  // Cursors are numbers, not words: 10 comes after 9.
  const ten = changed(10, 95, [])
  assert.deepEqual(merged([ten], changes), [ten, ...changes])
})

test('what the stream told stands above the answer: the newest word wins, links and other records are left alone', () => {
  const tags = [{ id: '7', label: 'Tag' }]
  const live = [
    changed(12, 120, [{ field: 'bestBid', before: 0.7, after: 0.8 }]),
    changed(11, 110, [
      { field: 'bestBid', before: 0.69, after: 0.7 },
      { field: 'tags', before: ['7'], after: ['7', '8'] },
      { field: 'volumeNum', before: 50 },
    ]),
    changed(10, 100, [{ field: 'question', after: 'of another' }], { kind: 'event' }),
  ]
  assert.deepEqual(applied({ ...market, tags }, live), { ...market, tags, bestBid: 0.8, volumeNum: undefined })
})

test('a change of the time stamp alone tells nothing; anything beside it does', () => {
  const stamped = { field: 'updatedAt', before: 'a', after: 'b' }
  assert.equal(isVisibleChange(changed(1, 1, [stamped])), false)
  assert.equal(isVisibleChange(changed(1, 1, [stamped, { field: 'bestBid', after: 1 }])), true)
  assert.equal(isVisibleChange(changed(1, 1, [], { change: 'vanished' })), true)
})
