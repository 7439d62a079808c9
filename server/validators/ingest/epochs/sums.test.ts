import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counts, measures } from '#validators/ratings/measures.ts'
import { Sums } from './sums.ts'

const some = [2, 3, 30]

const filled = (validators = some): Sums => {
  const sums = new Sums()
  sums.ensureCapacity(40)
  for (const validator of validators) {
    sums.mark(validator)
    for (const [at, name] of measures.entries()) sums.add(name, validator, validator * 1000 + at)
  }
  return sums
}

test('each measure has a column of its own in the one buffer of a piece, narrow ones whole numbers', () => {
  const most = Array.from({ length: 36 }, (_, at) => at + 3)
  const { validator, sums } = filled(most).take()
  assert.deepEqual([...validator], most)
  for (const [at, name] of measures.entries()) {
    assert.deepEqual(
      [...sums[name]],
      most.map((one) => one * 1000 + at),
      name,
    )
    assert.equal(sums[name] instanceof Int32Array, counts.includes(name as (typeof counts)[number]), name)
  }
  assert.equal(new Set(Object.values(sums).map(({ buffer }) => buffer)).size, 1)
})

test('few have columns of their size, which keep nothing else in memory', () => {
  const { validator, sums } = filled().take()
  assert.deepEqual([...validator], some)
  assert.ok(Object.values(sums).every(({ buffer, byteLength }) => buffer.byteLength === byteLength))
})

test('those that are not kept are left out; what is added later begins at nothing', () => {
  const sums = filled()
  assert.deepEqual([...sums.take((validator) => validator !== 3).validator], [2, 30])
  sums.add('earnings', 5, 7)
  const { validator, sums: next } = sums.take()
  assert.deepEqual([[...validator], [...next.earnings], [...next.assigned]], [[5], [7], [0]])
})

test('cleared, nothing is left of what was added and not taken', () => {
  const sums = filled()
  sums.clear()
  sums.add('earnings', 3, 1)
  const { validator, sums: left } = sums.take()
  assert.deepEqual([[...validator], [...left.earnings], [...left.assigned]], [[3], [1], [0]])
})

test('more room keeps what is there', () => {
  const sums = filled()
  sums.ensureCapacity(1000)
  sums.add('earnings', 999, 4)
  const { validator, sums: all } = sums.take()
  assert.deepEqual([...validator], [2, 3, 30, 999])
  assert.equal(all.assigned[0], 2000 + measures.indexOf('assigned'))
})
