import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketChange } from '#api/contract/wire/market-changes.ts'
import { applyChanges, eventsOf, isVisibleChange, mergeChanges, momentsOf, toPlotData } from './history.ts'

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

test('past values are computed from the changes, and the last value holds until now', () => {
  const moments = momentsOf(market, changes, 100)
  assert.deepEqual(toPlotData('prices', market, moments), {
    // Created at 10, price changes at 60 and 90, now is 100. Changes of the question and the event are not plotted.
    xs: [10, 60, 90, 100],
    lines: [
      { label: 'Yes', values: [0.5, 0.6, 0.7, 0.7], steps: true },
      { label: 'No', values: [0.5, 0.4, 0.3, 0.3], steps: true },
    ],
  })
  // There was no volume before 60.
  assert.deepEqual(toPlotData('volume', market, moments).lines[0]?.values, [null, 50, 50, 50])
  // A field without changes has always had its present value.
  assert.deepEqual(toPlotData('book', market, moments).lines[0]?.values, [0.69, 0.69, 0.69, 0.69])
})

test('a market record that is older than the latest change does not distort the plot', () => {
  const stale = { ...market, outcomePrices: '["0.6","0.4"]' }
  const prices = toPlotData('prices', stale, momentsOf(stale, changes, 100))
  assert.deepEqual(prices.lines[0]?.values, [0.5, 0.6, 0.7, 0.7])
})

test('without changes there is nothing to plot', () => assert.deepEqual(momentsOf(market, [], 100), []))

test('changes of the stream come first, without duplicates', () => {
  const [newest, ...listed] = changes as [MarketChange, ...MarketChange[]]
  assert.deepEqual(mergeChanges([newest, listed[0] as MarketChange], listed), changes)
  assert.deepEqual(mergeChanges([newest], []), [newest])
  // Cursors are compared as numbers: 10 comes after 9.
  const ten = changed(10, 95, [])
  assert.deepEqual(mergeChanges([ten], changes), [ten, ...changes])
})

test('applying live changes takes the newest value and ignores related records', () => {
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
  assert.deepEqual(applyChanges({ ...market, tags }, live), { ...market, tags, bestBid: 0.8, volumeNum: undefined })
})

test('a change of the time stamp alone is hidden', () => {
  const stamped = { field: 'updatedAt', before: 'a', after: 'b' }
  assert.equal(isVisibleChange(changed(1, 1, [stamped])), false)
  assert.equal(isVisibleChange(changed(1, 1, [stamped, { field: 'bestBid', after: 1 }])), true)
  assert.equal(isVisibleChange(changed(1, 1, [], { change: 'vanished' })), true)
})

test('events are changes of status, dates and the question, oldest first', () => {
  const events = eventsOf(market, [
    changed(5, 50, [
      { field: 'closed', before: false, after: true },
      { field: 'oracleResolutionStatus', before: '', after: 'resolved' },
    ]),
    changed(4, 40, [{ field: 'outcomePrices', before: '[]', after: '[]' }]),
    changed(3, 30, [{ field: 'closed', before: false, after: true }], { id: '2' }),
    changed(2, 20, [], { change: 'created' }),
  ])
  assert.deepEqual(events, [
    { x: 20, label: 'first seen' },
    { x: 50, label: 'closed, resolution: resolved' },
  ])
})
