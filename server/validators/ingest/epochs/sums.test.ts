import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counts, measures } from '#validators/method/measures.ts'
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

test('all columns of a segment share one buffer, and counts are 32-bit integers', () => {
  const most = Array.from({ length: 36 }, (_, at) => at + 3)
  const { validator, sums } = filled(most).take()
  assert.deepEqual([...validator], most)
  for (const [at, name] of measures.entries()) {
    assert.deepEqual(
      [...sums[name]],
      most.map((index) => index * 1000 + at),
      name,
    )
    assert.equal(sums[name] instanceof Int32Array, counts.includes(name as (typeof counts)[number]), name)
  }
  assert.equal(new Set(Object.values(sums).map(({ buffer }) => buffer)).size, 1)
})

test('the columns of a few validators are small copies', () => {
  const { validator, sums } = filled().take()
  assert.deepEqual([...validator], some)
  assert.ok(Object.values(sums).every(({ buffer, byteLength }) => buffer.byteLength === byteLength))
})

test('take returns only the selected validators, and later sums start at zero', () => {
  const sums = filled()
  assert.deepEqual([...sums.take((validator) => validator !== 3).validator], [2, 30])
  sums.add('earnings', 5, 7)
  const { validator, sums: next } = sums.take()
  assert.deepEqual([[...validator], [...next.earnings], [...next.assigned]], [[5], [7], [0]])
})

test('clear removes all sums', () => {
  const sums = filled()
  sums.clear()
  sums.add('earnings', 3, 1)
  const { validator, sums: left } = sums.take()
  assert.deepEqual([[...validator], [...left.earnings], [...left.assigned]], [[3], [1], [0]])
})

test('ensureCapacity keeps the existing sums', () => {
  const sums = filled()
  sums.ensureCapacity(1000)
  sums.add('earnings', 999, 4)
  const { validator, sums: all } = sums.take()
  assert.deepEqual([...validator], [2, 3, 30, 999])
  assert.equal(all.assigned[0], 2000 + measures.indexOf('assigned'))
})
