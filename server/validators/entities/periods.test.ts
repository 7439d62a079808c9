// The history of one field, compared with a list of days.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Range } from '#core/ranges.ts'
import { changedDays, type Period, setPeriod } from './periods.ts'

const plainValue = (name: string) => ({
  ...{ name, subpool: null, operators: [] },
  ...({ kind: 'rule', source: 'test', rule: 'index' } as const),
})
const dayCount = 20

/** The value of each day. */
const listed = (periods: readonly Period[]): (string | null)[] =>
  Array.from(
    { length: dayCount },
    (_, day) => periods.find(({ from, until }) => from <= day && day < until)?.name ?? null,
  )

test('after any changes, each day has the value that was set last, and equal neighbours are one period', () => {
  const days = fc
    .tuple(fc.nat({ max: dayCount - 1 }), fc.nat({ max: dayCount - 1 }))
    .map(([a, b]): Range => ({ from: Math.min(a, b), until: Math.max(a, b) + 1 }))
  const change = fc.record({ days, name: fc.constantFrom('A', 'B', 'C', null) })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      let periods: readonly Period[] = []
      let expected: (string | null)[] = Array(dayCount).fill(null)
      for (const { days: range, name } of changes) {
        const before = periods
        periods = setPeriod(periods, range, name === null ? null : plainValue(name))
        const now = expected.map((value, day) => (range.from <= day && day < range.until ? name : value))
        assert.deepEqual(listed(periods), now)
        const changed = now.flatMap((value, day) => (value === expected[day] ? [] : [day]))
        const reported = changedDays(before, periods).flatMap(({ from, until }) =>
          Array.from({ length: until - from }, (_, at) => from + at),
        )
        assert.deepEqual(reported, changed)
        expected = now
      }
      periods.forEach((period, at) => {
        const next = periods[at + 1]
        if (!next) return
        assert(period.until <= next.from)
        assert(period.until < next.from || period.name !== next.name)
      })
    }),
  )
})

test('a change of the subpool is a period of its own, but no change of the pool', () => {
  const before = setPeriod([], { from: 0, until: 20 }, { ...plainValue('A'), subpool: 'North' })
  const after = setPeriod(before, { from: 10, until: 20 }, { ...plainValue('A'), subpool: 'South' })
  assert.deepEqual(
    after.map(({ from, until, subpool }) => [from, until, subpool]),
    [
      [0, 10, 'North'],
      [10, 20, 'South'],
    ],
  )
  assert.deepEqual(changedDays(before, after), [])
})
