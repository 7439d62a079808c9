import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calendarCells } from './calendar-cells.ts'

test('a calendar starts with a Monday, ends with the newest date and shows unknown days', () => {
  // 2026-11-11 is a Wednesday.
  const cells = calendarCells(
    [
      { date: '2026-11-11', day: 5, value: 99.5 },
      { date: '2026-11-17', day: 11, value: null },
    ],
    53,
  )
  assert.equal(cells.length, 9)
  assert.deepEqual(cells[0], { date: '2026-11-09', day: undefined, value: null, week: 0, weekday: 0 })
  assert.deepEqual(cells[2], { date: '2026-11-11', day: 5, value: 99.5, week: 0, weekday: 2 })
  assert.deepEqual(cells.at(-1), { date: '2026-11-17', day: 11, value: null, week: 1, weekday: 1 })
  assert.deepEqual(calendarCells([], 53), [])
})

test('older weeks than the maximum are left out', () => {
  const cells = calendarCells(
    [
      { date: '2026-01-01', day: 0, value: 1 },
      { date: '2026-11-17', day: 320, value: 2 },
    ],
    2,
  )
  assert.deepEqual([cells[0]?.date, cells.length], ['2026-11-09', 9])
})
