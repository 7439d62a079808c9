import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MarketBitmap } from './market-bitmap.ts'

const numbers = fc.array(fc.nat(20_000), { maxLength: 60 })
const bitmapOf = (members: Iterable<number>) => {
  const bitmap = new MarketBitmap()
  for (const number of members) bitmap.add(number)
  return bitmap
}
const sorted = (members: Iterable<number>) => [...members].sort((a, b) => a - b)

test('behaves like a set, also after it was stored', () => {
  fc.assert(
    fc.property(numbers, numbers, (some, others) => {
      const [one, other] = [new Set(some), new Set(others)]
      const stored = MarketBitmap.decode(bitmapOf(one).encode())
      assert.deepEqual([...stored.numbers()], sorted(one))
      assert.equal(stored.size, one.size)
      for (const number of [...one, ...other]) assert.equal(stored.has(number), one.has(number))
      stored.addAll(bitmapOf(other))
      assert.deepEqual([...stored.numbers()], sorted(one.union(other)))
      stored.removeAll(bitmapOf(one))
      assert.deepEqual([...stored.numbers()], sorted(other.difference(one)))
    }),
  )
})

test('the same set has the same bytes, and 30 000 markets of a pass take few', () => {
  const larger = bitmapOf([5, 19_999])
  larger.removeAll(bitmapOf([19_999]))
  assert.deepEqual(larger.encode(), bitmapOf([5]).encode())
  assert.ok(bitmapOf(Array.from({ length: 30_000 }, (_, number) => number)).encode().length < 200)
})
