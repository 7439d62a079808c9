import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { layoutTrail, nodeHeight } from './layout.ts'

test('three columns: rows turn at their ends, and words beside a turn go inwards', () => {
  // 3 × 208 + 2 × 120 = 864: just enough for three.
  const sheet = layoutTrail(7, 864)
  assert.equal(sheet.columns, 3)
  assert.deepEqual(
    sheet.points.map(({ x, y }) => [x, y]),
    [
      [0, 0],
      [328, 0],
      [656, 0],
      [656, 128],
      [328, 128],
      [0, 128],
      [0, 256],
    ],
  )
  assert.equal(sheet.height, 256 + nodeHeight)
  assert.deepEqual(
    sheet.connectors.map(({ label }) => label.anchor),
    ['middle', 'middle', 'end', 'middle', 'middle', 'start'],
  )
  // The coin went from the later address to the earlier one: right to left in the first row, left to right in the next.
  assert.deepEqual([sheet.connectors[0]?.from.x, sheet.connectors[0]?.to.x], [328, 208])
  assert.deepEqual([sheet.connectors[3]?.from.x, sheet.connectors[3]?.to.x], [536, 656])
})

test('one pixel less, and there are two columns', () => assert.equal(layoutTrail(7, 863).columns, 2))

test('a narrow screen has one column as wide as itself', () => {
  const sheet = layoutTrail(3, 300)
  assert.deepEqual([sheet.columns, sheet.nodeWidth, sheet.width], [1, 300, 300])
  assert.ok(sheet.connectors.every(({ label }) => label.anchor === 'start'))
})

test('nothing to lay out is an empty sheet', () => assert.deepEqual(layoutTrail(0, 500).points, []))

test('any number of addresses at any width: none overlap, all are on the sheet, and the sheet fits', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 101 }), fc.integer({ min: 200, max: 2000 }), (count, widthMax) => {
      const { points: spots, connectors: bends, width, height, nodeWidth } = layoutTrail(count, widthMax)
      assert.equal(bends.length, count - 1)
      assert.ok(width <= widthMax + 1e-6)
      for (const [index, { x, y }] of spots.entries()) {
        assert.ok(x >= 0 && x + nodeWidth <= width + 1e-6 && y >= 0 && y + nodeHeight <= height)
        for (const other of spots.slice(index + 1))
          assert.ok(Math.abs(other.x - x) >= nodeWidth || Math.abs(other.y - y) >= nodeHeight)
      }
    }),
  )
})
