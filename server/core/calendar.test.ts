import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CalendarUnit, calendarUnits, type DateNumber, dateAt, formatDate, parseDate, unitOf } from './calendar.ts'

test('weeks start on Monday; months, quarters and years on their first day', () => {
  const cases: [CalendarUnit, string, string, string][] = [
    // 2026-01-01 is a Thursday: its ISO week is the first of 2026 and starts in 2025.
    ['week', '2026-01-01', '2025-12-29', '2026-01-05'],
    ['week', '2026-01-05', '2026-01-05', '2026-01-12'],
    ['week', '2027-01-03', '2026-12-28', '2027-01-04'],
    ['month', '2028-02-29', '2028-02-01', '2028-03-01'],
    ['month', '2026-12-31', '2026-12-01', '2027-01-01'],
    ['quarter', '2026-05-31', '2026-04-01', '2026-07-01'],
    ['quarter', '2026-10-01', '2026-10-01', '2027-01-01'],
    ['year', '2026-07-15', '2026-01-01', '2027-01-01'],
  ]
  for (const [unit, date, from, until] of cases) {
    const found = unitOf(unit, parseDate(date))
    assert.deepEqual([formatDate(found.from), formatDate(found.until)], [from, until], `${unit} of ${date}`)
  }
})

test('every date is in its window, and windows have no gaps', () => {
  const date = fc.integer({ min: 0, max: 60_000 }).map((number) => number as DateNumber)
  fc.assert(
    fc.property(date, fc.constantFrom(...calendarUnits), (day, unit) => {
      const window = unitOf(unit, day)
      assert(window.from <= day && day < window.until)
      assert.deepEqual(unitOf(unit, (window.until - 1) as DateNumber), window)
      assert.equal(unitOf(unit, window.until).from, window.until)
    }),
  )
})

test('dates and their numbers convert in both directions', () => {
  assert.equal(parseDate('1970-01-02'), 1)
  assert.equal(formatDate(dateAt(Date.UTC(2026, 10, 15, 23, 59, 59, 999))), '2026-11-15')
})

test('a date is formatted like in ISO 8601', () => {
  const dates = [0, -1, 10_956, 11_016, 20_772, parseDate('0999-12-31'), parseDate('1000-01-01'), 2_932_896, 2_932_897]
  fc.assert(
    fc.property(fc.oneof(fc.constantFrom(...dates), fc.integer({ min: -1_000_000, max: 5_000_000 })), (date) => {
      assert.equal(formatDate(date as DateNumber), new Date(date * 86_400_000).toISOString().slice(0, 10))
    }),
  )
})
