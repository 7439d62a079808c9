import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { describeCoverage, holes, merge, type Range, within } from './ranges.ts'

const range = (from: number, until: number): Range => ({ from, until })

/** Small numbers, so that ranges often touch, overlap, are empty or reversed. */
const anyRange = fc.record({ from: fc.integer({ min: -5, max: 25 }), until: fc.integer({ min: -5, max: 25 }) })
const anyRanges = fc.array(anyRange, { maxLength: 12 })

/** The model: a set of numbers. */
const numbersOf = (ranges: readonly Range[]): number[] => {
  const numbers = new Set<number>()
  for (const { from, until } of ranges) for (let at = from; at < until; at += 1) numbers.add(at)
  return [...numbers].sort((a, b) => a - b)
}

describe('compared with a set of numbers', () => {
  test('merge keeps the numbers, and its ranges do not touch', () => {
    fc.assert(
      fc.property(anyRanges, (ranges) => {
        const tidy = merge(ranges)
        assert.deepEqual(numbersOf(tidy), numbersOf(ranges))
        tidy.forEach(({ from, until }, index) => {
          assert(from < until)
          const before = tidy[index - 1]
          if (before) assert(before.until < from)
        })
      }),
    )
  })

  test('every number of a span is either in within or in holes', () => {
    fc.assert(
      fc.property(anyRanges, anyRange, (ranges, span) => {
        const tidy = merge(ranges)
        const covered = new Set(numbersOf(ranges))
        const requested = numbersOf([span])
        assert.deepEqual(
          numbersOf(within(tidy, span)),
          requested.filter((at) => covered.has(at)),
        )
        assert.deepEqual(
          numbersOf(holes(tidy, span)),
          requested.filter((at) => !covered.has(at)),
        )
      }),
    )
  })

  test('describeCoverage lists the covered numbers, with both ends included', () => {
    fc.assert(
      fc.property(anyRanges, anyRange, (ranges, { from, until }) => {
        const span = { from: Math.abs(from), until: Math.abs(until) }
        const tidy = merge(ranges)
        const text = describeCoverage(tidy, span)
        const read =
          text === 'complete'
            ? [span]
            : text === 'none'
              ? []
              : text.split(',').map((part) => {
                  const [first = 0, last = first] = part.split('-').map(Number)
                  return { from: first, until: last + 1 }
                })
        assert.deepEqual(numbersOf(read), numbersOf(within(tidy, span)))
      }),
    )
  })
})

describe('examples', () => {
  test('ranges that only touch become one: [1,3) and [3,5) are [1,5)', () => {
    assert.deepEqual(merge([range(3, 5), range(1, 3)]), [range(1, 5)])
  })

  test('[100,200) and [300,400) leave three holes in [0,1000)', () => {
    const tidy = [range(100, 200), range(300, 400)]
    assert.deepEqual(holes(tidy, range(0, 1000)), [range(0, 100), range(200, 300), range(400, 1000)])
    assert.equal(describeCoverage(tidy, range(0, 1000)), '100-199,300-399')
    assert.equal(describeCoverage(tidy, range(150, 301)), '150-199,300')
    assert.equal(describeCoverage(tidy, range(120, 180)), 'complete')
    assert.equal(describeCoverage(tidy, range(200, 300)), 'none')
  })

  test('long lists of ranges are shortened with an ellipsis', () => {
    const shreds = Array.from({ length: 1000 }, (_, index) => range(index * 2, index * 2 + 1))
    const text = describeCoverage(shreds, range(0, 2000))
    assert(text.startsWith('0,2,4,'))
    assert(text.endsWith(',36,38,...'))
  })
})
