import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addressesIn,
  currencyOf,
  fieldLabel,
  formatPercent,
  isDerived,
  listIn,
  marketStatus,
  outcomesOf,
} from './market-values.ts'

test('text that is not a JSON list is an empty list', () => {
  assert.deepEqual(listIn('["Yes","No"]'), ['Yes', 'No'])
  assert.deepEqual([listIn('Yes,No'), listIn('{"a":1}'), listIn(undefined), listIn('')], [[], [], [], []])
})

test('an outcome has the price text of the source and a bar width between 0 and 1', () => {
  assert.deepEqual(outcomesOf({ outcomes: '["A","B","C","D"]', outcomePrices: '["0.125","1.2","x"]' }), [
    { name: 'A', price: '0.125', share: 0.125 },
    { name: 'B', price: '1.2', share: 1 },
    { name: 'C', price: 'x', share: 0 },
    { name: 'D', share: 0 },
  ])
})

test('archived overrides closed, closed overrides open', () => {
  assert.equal(marketStatus({ archived: true, closed: true }).label, 'archived')
  assert.equal(marketStatus({ closed: true, active: true }).label, 'closed')
  assert.equal(marketStatus({ active: false }).label, 'not open yet')
  assert.equal(marketStatus({ active: true, acceptingOrders: false }).label, 'open, not accepting orders')
  assert.equal(marketStatus({}).label, 'open')
})

test('addresses are found in all fields, without duplicates, own fields first; hashes are not addresses', () => {
  const [a, b] = [`0x${'aB'.repeat(20)}`, `0x${'2'.repeat(40)}`]
  const market = {
    events: [{ creator: b }, { creator: b, resolver: a }],
    creator: a,
    conditionId: `0x${'3'.repeat(64)}`,
  }
  assert.deepEqual(addressesIn(market), [
    { address: a.toLowerCase(), fields: ['creator', 'events.resolver'] },
    { address: b, fields: ['events.creator'] },
  ])
})

test('the number of addresses is limited', () => {
  const many = Array.from({ length: 50 }, (_, index) => `0x${String(index).padStart(40, '0')}`)
  assert.equal(addressesIn({ many }).length, 20)
})

test('percentages keep every digit', () => {
  assert.deepEqual(['0.67', '0.005', '1', '0', '0.1', '0.12345', 'x'].map(formatPercent), [
    '67 %',
    '0.5 %',
    '100 %',
    '0 %',
    '10 %',
    '12.345 %',
    'x',
  ])
})

test('field names are split into words', () => assert.equal(fieldLabel('marketMakerAddress'), 'market maker address'))

test('a known token is shown by its name, another by its address', () => {
  assert.equal(currencyOf({ denominationToken: '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174' }), 'USDC')
  assert.equal(currencyOf({ denominationToken: `0x${'1'.repeat(40)}` }), '0x111111…111111')
  assert.equal(currencyOf({}), undefined)
})

test('figures that the source computes from others are derived', () => {
  const derived = ['volumeNum', 'volume24hr', 'volume1wkClob', 'liquidityAmm', 'oneDayPriceChange', 'spread']
  assert.deepEqual(derived.filter(isDerived), derived)
  assert.deepEqual(['volume', 'liquidity', 'outcomePrices', 'bestBid', 'question', 'closed'].filter(isDerived), [])
})
