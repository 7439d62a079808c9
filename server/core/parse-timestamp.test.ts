import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseDay, parseTimestamp } from './parse-timestamp.ts'

const pad = (value: number, length = 2) => String(value).padStart(length, '0')

describe('valid timestamps', () => {
  const table: readonly (readonly [text: string, iso: string])[] = [
    ['2026-11-15T18:00:00Z', '2026-11-15T18:00:00.000Z'],
    ['2026-11-15t18:00:00z', '2026-11-15T18:00:00.000Z'],
    ['2026-11-15 18:00:00Z', '2026-11-15T18:00:00.000Z'],
    ['2026-11-15T18:00Z', '2026-11-15T18:00:00.000Z'],
    // 18:00 at +02:00 is 16:00 UTC.
    ['2026-11-15T18:00:00+02:00', '2026-11-15T16:00:00.000Z'],
    ['2026-11-15T18:00:00-0530', '2026-11-15T23:30:00.000Z'],
    ['2026-11-15T18:00:00-00:00', '2026-11-15T18:00:00.000Z'],
    ['2026-12-31T23:30:00-01:00', '2027-01-01T00:30:00.000Z'],
    ['2026-11-15T18:00:00.5Z', '2026-11-15T18:00:00.500Z'],
    ['2026-11-15T18:00:00.1239567890Z', '2026-11-15T18:00:00.123Z'],
    ['2026-11-15T18:00:00.123999999Z', '2026-11-15T18:00:00.123Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
    ['0099-12-31T00:00:00Z', '0099-12-31T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ]
  for (const [text, iso] of table) {
    test(`${text} is ${iso}`, () => {
      assert.equal(new Date(parseTimestamp(text, { zone: 'needed' }) ?? Number.NaN).toISOString(), iso)
    })
  }
})

test('without a zone, the text is UTC or invalid, depending on the option', () => {
  assert.equal(parseTimestamp('2026-11-15T18:00:00', { zone: 'utc' }), Date.UTC(2026, 10, 15, 18))
  assert.equal(parseTimestamp('2026-11-15T18:00:00', { zone: 'needed' }), undefined)
})

describe('invalid timestamps', () => {
  for (const text of [
    '',
    'now',
    '2026-11-15',
    '2026-11-15T18Z',
    '2026-11-15T25:00:00Z',
    '2026-11-15T24:00:00Z',
    '2026-11-15T18:60:00Z',
    '2026-06-30T23:59:60Z',
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-11-15T18:00:00+24:00',
    '2026-11-15T18:00:00+01:60',
    '2026-11-15T18:00:00+01',
    '2026-11-15T18:00:00.Z',
    '2026-11-15T18:00:00 Z',
    ' 2026-11-15T18:00:00Z',
    '2026-11-15T18:00:00Z\n',
    '2026-11-15T18:00:00ZZ',
    '+002026-11-15T18:00:00Z',
    '２０２６-11-15T18:00:00Z',
    '0000-01-01T00:00:00+00:01',
    '9999-12-31T23:59:00-00:01',
  ]) {
    test(JSON.stringify(text), () => assert.equal(parseTimestamp(text, { zone: 'utc' }), undefined))
  }
})

test('a formatted timestamp is parsed to the same time in any zone', () => {
  const withinMs = { min: Date.UTC(1, 0, 2), max: Date.UTC(9999, 11, 30) }
  const zoneMinutes = fc.integer({ min: -1439, max: 1439 })
  fc.assert(
    fc.property(fc.integer(withinMs), zoneMinutes, (atMs, ahead) => {
      const size = Math.abs(ahead)
      const zone = `${ahead < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}:${pad(size % 60)}`
      const local = new Date(atMs + ahead * 60_000).toISOString().slice(0, -1)
      assert.equal(parseTimestamp(local + zone, { zone: 'needed' }), atMs)
    }),
  )
})

test('the result equals that of Date.parse, or is undefined for invalid times', () => {
  const part = (max: number) => fc.integer({ min: 0, max })
  fc.assert(
    fc.property(
      part(9999),
      part(14),
      part(33),
      part(26),
      part(63),
      part(63),
      (year, month, day, hour, minute, second) => {
        const text = `${pad(year, 4)}-${pad(month)}-${pad(day)}T${pad(hour)}:${pad(minute)}:${pad(second)}.000Z`
        const atMs = parseTimestamp(text, { zone: 'needed' })
        const theirs = new Date(text)
        const isReal = !Number.isNaN(theirs.getTime()) && theirs.toISOString() === text
        assert.equal(atMs, isReal ? theirs.getTime() : undefined)
      },
    ),
    { numRuns: 2000 },
  )
})

test('a day is its start in UTC; dates that do not exist are invalid', () => {
  assert.equal(parseDay('2026-11-15'), Date.UTC(2026, 10, 15))
  assert.equal(parseDay('2028-02-29'), Date.UTC(2028, 1, 29))
  for (const text of ['2026-02-29', '2026-02-30', '2026-13-01', '2026-1-1', '2026-11-15T00:00:00Z', '']) {
    assert.equal(parseDay(text), undefined, text)
  }
})
