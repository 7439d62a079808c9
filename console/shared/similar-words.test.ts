import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSimilarWord } from './similar-words.ts'

test('a missing, extra, wrong or swapped letter is a typing error; long words may have two', () => {
  for (const [word, typed] of [
    ['error', 'errror'],
    ['error', 'eror'],
    ['error', 'errar'],
    ['error', 'erorr'],
    ['configuration', 'confguratoin'],
  ] as const)
    assert.ok(isSimilarWord(word, typed), typed)
})

test('short words, other words and words with another first letter are not similar', () => {
  for (const [word, typed] of [
    ['key', 'kez'],
    ['error', 'mirror'],
    ['error', 'errata'],
    ['harbour', 'hxrbxur'],
    ['configuration', 'confgratoi'],
  ] as const)
    assert.ok(!isSimilarWord(word, typed), typed)
})
