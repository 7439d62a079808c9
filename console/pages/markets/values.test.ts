import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatValue } from './values.ts'

test('values read as words, whatever their kind', () => {
  assert.deepEqual(
    ['["0.6","0.4"]', 0.61, true, false, undefined, '', '[broken', ['101', '102'], { rate: 2n ** 70n }].map(
      formatValue,
    ),
    [
      '0.6 · 0.4',
      '0.61',
      'yes',
      'no',
      'nothing',
      'nothing',
      '[broken',
      '["101","102"]',
      '{"rate":"1180591620717411303424"}',
    ],
  )
})

test('a long text is cut and says so', () => {
  const shown = formatValue('x'.repeat(500))
  assert.equal(shown.length, 80)
  assert.ok(shown.endsWith('…'))
})
