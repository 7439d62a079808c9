import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confidenceText } from './confidence-text.ts'

test('what is complete and final needs no words', () => {
  assert.equal(confidenceText({ asOf: 7, finality: 'finalized', coverage: 'complete' }), undefined)
  assert.equal(confidenceText({}), undefined)
})

test('what is less says how much less, and as of when', () => {
  const probed = confidenceText({ asOf: 7, finality: 'head', coverage: 'probed' })
  assert.match(probed ?? '', /^probed: found by a search .*; not final yet: .*; as of 7\.$/)
  assert.equal(confidenceText({ coverage: '0-9,20-29' }), 'covered so far: 0-9,20-29.')
})

test('an answer that may be a better one later says when', () => {
  assert.equal(confidenceText({ retryAfterMs: 1200 }), 'ask again in 2 s.')
  assert.match(
    confidenceText({ asOf: 7, coverage: 'probed', retryAfterMs: 40_000 }) ?? '',
    /; as of 7; ask again in 40 s\.$/,
  )
})
