import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatValue } from './values.ts'

test('values of any type are shown as short text', () => {
  assert.deepEqual(
    ['["0.6","0.4"]', 0.61, true, false, undefined, '', '[broken', ['101', '102'], { rate: 2n ** 70n }].map(
      formatValue,
    ),
    ['0.6 · 0.4', '0.61', 'yes', 'no', 'empty', 'empty', '[broken', '["101","102"]', '{"rate":1180591620717411303424}'],
  )
})

test('a long text is truncated with an ellipsis', () => {
  const text = formatValue('x'.repeat(500))
  assert.equal(text.length, 80)
  assert.ok(text.endsWith('…'))
})
