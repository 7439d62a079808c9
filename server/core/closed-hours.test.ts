import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type ClosedHours, easterMs, instantOf, openMs } from './closed-hours.ts'

const hourMs = 3_600_000
const hours = (changes: Partial<ClosedHours>): ClosedHours => ({
  timeZone: 'UTC',
  holidays: 'none',
  dates: [],
  ...changes,
})
const open = (closed: ClosedHours, from: string, until: string) =>
  openMs(closed, Date.parse(from), Date.parse(until)) / hourMs

test('a weekend does not count: Friday 14:00 to Monday 09:00 is 10 + 9 = 19 hours', () => {
  const closed = hours({ week: 'Sat 00:00 - Mon 00:00' })
  assert.equal(open(closed, '2026-11-13T14:00:00Z', '2026-11-16T09:00:00Z'), 19)
  assert.equal(open(hours({}), '2026-11-13T14:00:00Z', '2026-11-16T09:00:00Z'), 67)
})

test('a span inside closed hours has length 0; one that ends in them ends at their start', () => {
  const closed = hours({ week: 'Fri 17:00 - Sun 17:00' })
  assert.equal(open(closed, '2026-11-14T00:00:00Z', '2026-11-15T16:59:00Z'), 0)
  assert.equal(open(closed, '2026-11-13T15:00:00Z', '2026-11-15T12:00:00Z'), 2)
  assert.equal(open(closed, '2026-11-15T12:00:00Z', '2026-11-15T18:00:00Z'), 1)
})

test('closed hours belong to their time zone: New York closes at 22:00 UTC in winter and 21:00 in summer', () => {
  const closed = hours({ week: 'Fri 17:00 - Sun 17:00', timeZone: 'America/New_York' })
  assert.equal(open(closed, '2026-01-16T20:00:00Z', '2026-01-17T00:00:00Z'), 2)
  assert.equal(open(closed, '2026-07-17T20:00:00Z', '2026-07-18T00:00:00Z'), 1)
})

test('clock changes are counted correctly: 25 October 2026 has 25 hours in Berlin', () => {
  const closed = hours({ dates: ['2026-10-25'], timeZone: 'Europe/Berlin' })
  // 24th 22:00 UTC is midnight there, 25th 23:00 UTC the next one.
  assert.equal(open(closed, '2026-10-24T21:00:00Z', '2026-10-26T00:00:00Z'), 27 - 25)
})

test('a holiday on a weekend counts once; dates may have a year or repeat every year', () => {
  const closed = hours({ week: 'Sat 00:00 - Mon 00:00', dates: ['2026-11-14', '11-16'] })
  assert.equal(open(closed, '2026-11-13T23:00:00Z', '2026-11-17T02:00:00Z'), 1 + 2)
})

test('Easter dates are correct', () => {
  for (const day of ['2024-03-31', '2025-04-20', '2026-04-05', '2027-03-28', '2038-04-25']) {
    assert.equal(new Date(easterMs(Number(day.slice(0, 4)))).toISOString().slice(0, 10), day)
  }
})

test('the euro payment system is closed on Good Friday, Easter Monday, 1 May and at Christmas', () => {
  const closed = hours({ week: 'Sat 00:00 - Mon 00:00', timeZone: 'UTC', holidays: 'target' })
  assert.equal(open(closed, '2026-04-02T12:00:00Z', '2026-04-07T12:00:00Z'), 12 + 12)
  assert.equal(open(closed, '2026-04-30T12:00:00Z', '2026-05-04T12:00:00Z'), 12 + 12)
  assert.equal(open(closed, '2025-12-24T12:00:00Z', '2025-12-29T12:00:00Z'), 12 + 12)
})

test('local times convert to instants and back', () => {
  assert.equal(instantOf('Europe/Berlin', Date.UTC(2026, 10, 13, 14, 10)), Date.UTC(2026, 10, 13, 13, 10))
  assert.equal(instantOf('Europe/Berlin', Date.UTC(2026, 6, 13, 14, 10)), Date.UTC(2026, 6, 13, 12, 10))
})

test('open time is between 0 and the length of the span, and additive', () => {
  const closed = hours({ week: 'Fri 17:00 - Sun 17:00', timeZone: 'America/New_York', holidays: 'target' })
  const startMs = Date.UTC(2026, 0, 1)
  const offset = fc.integer({ min: 0, max: 20 * 24 * 60 })
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 500 }), offset, offset, (day, first, second) => {
      const a = startMs + day * 24 * hourMs
      const b = a + first * 60_000
      const c = b + second * 60_000
      const whole = openMs(closed, a, c)
      assert.ok(whole >= 0 && whole <= c - a)
      assert.equal(openMs(closed, a, b) + openMs(closed, b, c), whole)
    }),
    { numRuns: 200 },
  )
})
