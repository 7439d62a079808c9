import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { layoutTrail, nodeHeight } from './layout.ts'

test('three columns: rows alternate their direction, and labels next to a turn point inwards', () => {
  // 3 × 208 + 2 × 108 = 840 is the minimum for three columns.
  const layout = layoutTrail(7, 840)
  assert.equal(layout.columns, 3)
  assert.deepEqual(
    layout.points.map(({ x, y }) => [x, y]),
    [
      [0, 0],
      [316, 0],
      [632, 0],
      [632, 128],
      [316, 128],
      [0, 128],
      [0, 256],
    ],
  )
  assert.equal(layout.height, 256 + nodeHeight)
  assert.deepEqual(
    layout.connectors.map(({ label }) => label.anchor),
    ['middle', 'middle', 'end', 'middle', 'middle', 'start'],
  )
  // Arrows point from funder to funded address: right to left in the first row, left to right in the second.
  assert.deepEqual([layout.connectors[0]?.from.x, layout.connectors[0]?.to.x], [316, 208])
  assert.deepEqual([layout.connectors[3]?.from.x, layout.connectors[3]?.to.x], [524, 632])
})

test('one pixel less than the minimum for three columns gives two', () => assert.equal(layoutTrail(7, 839).columns, 2))

test('nodes grow with the space that is left, up to a limit', () => {
  assert.equal(layoutTrail(3, 900).nodeWidth, (900 - 2 * 108) / 3)
  assert.equal(layoutTrail(3, 1400).nodeWidth, 270)
})

test('a narrow screen has one column of its full width', () => {
  const layout = layoutTrail(3, 300)
  assert.deepEqual([layout.columns, layout.nodeWidth, layout.width], [1, 300, 300])
  assert.ok(layout.connectors.every(({ label }) => label.anchor === 'start'))
})

test('a trail without addresses has an empty layout', () => assert.deepEqual(layoutTrail(0, 500).points, []))

test('for any number of addresses and any width, nodes do not overlap and the layout fits the width', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 101 }), fc.integer({ min: 200, max: 2000 }), (count, widthMax) => {
      const { points, connectors, width, height, nodeWidth } = layoutTrail(count, widthMax)
      assert.equal(connectors.length, count - 1)
      assert.ok(width <= widthMax + 1e-6)
      for (const [index, { x, y }] of points.entries()) {
        assert.ok(x >= 0 && x + nodeWidth <= width + 1e-6 && y >= 0 && y + nodeHeight <= height)
        for (const other of points.slice(index + 1))
          assert.ok(Math.abs(other.x - x) >= nodeWidth || Math.abs(other.y - y) >= nodeHeight)
      }
    }),
  )
})
