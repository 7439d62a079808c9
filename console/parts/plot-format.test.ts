import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFigure, formatLocalTime, formatShort, formatTick, placesOfColumn, placesOfStep } from './plot-format.ts'

test('all ticks of an axis have the decimals of its step', () => {
  assert.deepEqual([1, 20, 0.5, 0.25, 0.0005, 1e-12].map(placesOfStep), [0, 0, 1, 2, 4, 8])
  assert.equal(formatFigure(0.92, placesOfStep(0.0005)), '0.9200')
  assert.equal(formatFigure(12_000, placesOfStep(2000)), '12,000')
})

test('all figures of a column have the same decimals, at most six digits of the largest', () => {
  assert.equal(placesOfColumn([1, 2, null]), 0)
  assert.equal(placesOfColumn([0.5, 0.25]), 2)
  assert.equal(placesOfColumn([0.9201156, 0.92]), 6)
  assert.equal(placesOfColumn([150.123456, 1]), 3)
  assert.equal(placesOfColumn([1_234_567.89]), 0)
  assert.equal(placesOfColumn([]), 0)
  assert.equal(placesOfColumn([0]), 0)
})

test('large figures are short', () => {
  assert.deepEqual([0, 12.3, 999, 1000, 1_234_567, 999_949, 999_960, 2.5e9, 3e12, -45_600].map(formatShort), [
    '0',
    '12',
    '999',
    '1.0 k',
    '1.2 M',
    '999.9 k',
    '1.0 M',
    '2.5 B',
    '3.0 T',
    '-45.6 k',
  ])
})

test('a local time names its time zone', () => {
  assert.equal(formatLocalTime(1_794_738_600, false, 'Asia/Kolkata'), '15 Nov 2026, 16:00 GMT+5:30')
  assert.equal(formatLocalTime(1_794_738_605, true, 'Etc/UTC'), '15 Nov 2026, 10:30:05 UTC')
})

test('a tick of the time axis is a time of day, a date or a month, depending on the step', () => {
  const midnight = Date.parse('2026-11-15T00:00:00Z') / 1000
  assert.equal(formatTick(midnight + 3600, 1800), '01:00')
  assert.equal(formatTick(midnight, 1800), '11-15')
  assert.equal(formatTick(midnight + 5, 5), '00:00:05')
  assert.equal(formatTick(midnight, 86_400), '11-15')
  assert.equal(formatTick(midnight, 30 * 86_400), '2026-11')
})
