import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StreamView } from '#shared/console-calls.ts'
import { coverageText, rateText } from './coverage-text.ts'

const network: StreamView = {
  ...{ group: 'validators', name: 'network mainnet', from: 100, until: 600, read: 500, gaps: [], gapsCount: 0 },
  ...{ target: 2100, share: 0.25, remaining: 1500, perSecond: 5, remainingSeconds: 300 },
  ...{ ageSeconds: 900, gapless: true, fresh: false, status: 'catching up' },
}

test('the share is that of the target, although everything up to the newest epoch is read', () => {
  assert.equal(coverageText(network), '500 of 2,000 epochs read (25 %).')
  assert.equal(rateText(network), '5.00 epochs/s, about 5 min remaining.')
})

test('100 % is shown only if nothing is missing', () => {
  assert.match(coverageText({ ...network, share: 0.9999, remaining: 1 }), /\(99\.99 %\)\.$/)
  const complete = { ...network, share: 1, remaining: 0 }
  assert.match(coverageText(complete), /^2,000 of 2,000 epochs read \(100 %\)\.$/)
  assert.equal(rateText(complete), '')
})

test('what is not known is not shown as zero', () => {
  const unknown = { ...network, target: null, share: null, remaining: null, perSecond: null, remainingSeconds: null }
  assert.equal(coverageText(unknown), '500 epochs read. How many there are is not known.')
  assert.equal(rateText(unknown), '')
  assert.equal(rateText({ ...network, perSecond: null, remainingSeconds: null }), '')
  assert.equal(rateText({ ...network, remainingSeconds: null }), '5.00 epochs/s.')
  assert.equal(
    rateText({ ...network, perSecond: 0, remainingSeconds: null }),
    'Nothing was read in the last 15 minutes.',
  )
})

test('data without a node has no rate', () => {
  assert.equal(rateText({ ...network, perSecond: 0, remainingSeconds: null, status: 'not syncing' }), '')
})

test('a feed has no range, but a rate in the process that reads it', () => {
  const none = { from: null, until: null, read: null, target: null, share: null, remaining: null }
  const feed: StreamView = { ...network, ...none, group: 'markets', perSecond: null, remainingSeconds: null }
  assert.equal(coverageText(feed), '')
  const progress = { unit: 'records' as const, done: 40, perSecond: 34.2, remaining: null }
  assert.equal(rateText({ ...feed, progress }), '34 records/s.')
})
