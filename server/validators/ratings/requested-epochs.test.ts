// Times in requests.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { parseTime } from './requested-epochs.ts'

test('a time is ISO 8601, UTC without a zone; an unescaped plus is accepted', () => {
  const cases: [string, string][] = [
    ['2026-10-01', '2026-10-01T00:00:00.000Z'],
    ['2026-10-01T10:20', '2026-10-01T10:20:00.000Z'],
    ['2026-10-01 10:20:30', '2026-10-01T10:20:30.000Z'],
    ['2026-10-01t10:20:30.5z', '2026-10-01T10:20:30.500Z'],
    ['2026-10-01T10:20:30+02:00', '2026-10-01T08:20:30.000Z'],
    ['2026-10-01T10:20:30 02:00', '2026-10-01T08:20:30.000Z'],
    ['2026-10-01T10:20:30-0530', '2026-10-01T15:50:30.000Z'],
  ]
  for (const [text, expected] of cases) assert.equal(new Date(parseTime('from', text)).toISOString(), expected, text)
})

test('an invalid time is refused', () => {
  for (const text of [
    '',
    '1',
    '2026-13-01',
    '2026-02-29',
    '2026-10-01T24:30',
    '2026-10-01T24:00',
    'yesterday',
    '2026-10-01T10',
    '\0',
  ]) {
    assert.throws(() => parseTime('from', text), { code: 'input.invalid' }, text)
  }
})
