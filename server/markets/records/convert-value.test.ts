import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DateTime, Flag, Num, Text, type TSchema } from '#api/contract/kit.ts'
import { convertValue } from './convert-value.ts'

const cases: readonly [name: string, schema: TSchema, rows: readonly (readonly [unknown, unknown])[]][] = [
  [
    'a number',
    Num,
    [
      [0.01, 0.01],
      ['0.01', 0.01],
      ['-12', -12],
      ['1e-7', 1e-7],
      ['12345678901234567890', 12345678901234567890n],
      ['', undefined],
      ['1e999', undefined],
      ['007', undefined],
      ['1,5', undefined],
      ['0x10', undefined],
      [true, undefined],
      [[1], undefined],
    ],
  ],
  [
    'a text',
    Text,
    [
      ['', ''],
      ['0.50', '0.50'],
      [0.01, '0.01'],
      [1.5e-7, '0.00000015'],
      [1e21, '1000000000000000000000'],
      [12345678901234567890n, '12345678901234567890'],
      [true, undefined],
      [['Yes'], undefined],
      [{}, undefined],
    ],
  ],
  [
    'a time',
    DateTime,
    [
      ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
      ['2026-01-02T03:04:05.123456+02:00', '2026-01-02T03:04:05.123456+02:00'],
      ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05+00:00'],
      ['2026-01-02 03:04:05.123456-0530', '2026-01-02T03:04:05.123456-05:30'],
      ['2026-01-02 03:04:05', '2026-01-02T03:04:05Z'],
      ['2026-01-02t03:04z', '2026-01-02T03:04:00Z'],
      ['2026-01-02', '2026-01-02T00:00:00Z'],
      ['2026-02-30', undefined],
      ['2026-01-02 03', undefined],
      ['Jan 2, 2026', undefined],
      ['', undefined],
      [1_767_323_045, undefined],
    ],
  ],
  [
    'true or false',
    Flag,
    [
      [false, false],
      ['yes', undefined],
      [1, undefined],
      ['', undefined],
    ],
  ],
]
for (const [name, schema, rows] of cases) {
  test(`${name} is kept, converted if that is safe, and otherwise removed`, () => {
    for (const [value, expected] of rows) assert.deepEqual(convertValue(schema, value), expected, String(value))
  })
}
