import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decimal, share, slots } from './format-figures.ts'

test('figures below each other have the same number of decimals', () => {
  assert.deepEqual(
    [1, 0.996, 0.99444].map((value) => share(value)),
    ['100.00 %', '99.60 %', '99.44 %'],
  )
  assert.deepEqual(
    [1, 1.0154].map((value) => decimal(value)),
    ['1.000', '1.015'],
  )
  assert.deepEqual(
    [1, 2.5].map((value) => slots(value)),
    ['1.000 slots', '2.500 slots'],
  )
})

test('the axis of a plot needs only the decimals of its steps', () => {
  assert.deepEqual([share(0.95, 2), share(0.955, 3), slots(2, 0)], ['95 %', '95.5 %', '2 slots'])
})
