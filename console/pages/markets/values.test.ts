import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatChange, formatValue } from './values.ts'

test('values of any type are shown as short text', () => {
  assert.deepEqual(
    ['["0.6","0.4"]', 0.61, true, false, undefined, '', '[broken', ['101', '102'], { rate: 2n ** 70n }].map(
      formatValue,
    ),
    ['0.6 · 0.4', '0.61', 'yes', 'no', 'empty', 'empty', '[broken', '["101","102"]', '{"rate":1180591620717411303424}'],
  )
})

test('the two values of a change have the same number of decimals', () => {
  for (const [before, after, shown] of [
    [0.4, 0.41, ['0.40', '0.41']],
    ['246542.8', '258994.35', ['246,542.80', '258,994.35']],
    ['["0.5","0.5"]', '["0.49","0.51"]', ['0.50 · 0.50', '0.49 · 0.51']],
    [undefined, '1.5', ['empty', '1.5']],
    [1, '0.25', ['1.00', '0.25']],
    ['["7100","7200"]', '["7300"]', ['7100 · 7200', '7300']],
    ['Amber 1.5', 'Amber 2', ['Amber 1.5', 'Amber 2']],
  ] as const)
    assert.deepEqual(formatChange(before, after), shown)
})

test('a long text is truncated with an ellipsis', () => {
  const text = formatValue('x'.repeat(500))
  assert.equal(text.length, 80)
  assert.ok(text.endsWith('…'))
})
