import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confidenceText } from './confidence-text.ts'

test('a complete and final response has no text', () => {
  assert.equal(confidenceText({ asOf: 7, finality: 'finalized', coverage: 'complete' }), undefined)
  assert.equal(confidenceText({}), undefined)
})

test('the text of an incomplete response contains its coverage and as-of value', () => {
  const probed = confidenceText({ asOf: 7, finality: 'head', coverage: 'probed' })
  assert.match(probed ?? '', /^probed: found in an archive node.*; not final: .*; as of 7\.$/)
  assert.equal(confidenceText({ coverage: '0-9,20-29' }), 'incomplete, covered so far: 0-9,20-29.')
})

test('the text contains the time to wait before a better response', () => {
  assert.equal(confidenceText({ retryAfterMs: 1200 }), 'try again in 2 s.')
  assert.match(
    confidenceText({ asOf: 7, coverage: 'probed', retryAfterMs: 40_000 }) ?? '',
    /; as of 7; try again in 40 s\.$/,
  )
})
