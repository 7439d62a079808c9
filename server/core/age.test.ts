import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ageText, formatAgeOf } from './age.ts'

test('ages have a suitable unit', () => {
  const texts = [0, 119, 120, 7199, 7200, 172_799, 172_800].map(ageText)
  assert.deepEqual(texts, ['0 s', '119 s', '2 min', '120 min', '2.0 h', '48.0 h', '2.0 days'])
})

test('future times are ahead of the clock; less than half a second is 0 s old', () => {
  assert.deepEqual([90_000_000, 10_001, 400, 0, -400].map(formatAgeOf), [
    '25.0 h old',
    '10 s old',
    '0 s old',
    '0 s old',
    '0 s old',
  ])
  assert.deepEqual([-501, -3_540_000].map(formatAgeOf), ['1 s ahead of this clock', '59 min ahead of this clock'])
})
