// Packed sets of validators.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import fc from 'fast-check'
import { presenceLevel } from './layout.ts'
import { addMember, addSet, emptySet, hasMember, membersOf, packSet, unpackSet } from './presence.ts'

const size = presenceLevel.validators

const setOf = (members: Iterable<number>): Uint8Array => {
  const set = emptySet()
  for (const number of members) addMember(set, number)
  return set
}
const range = (from: number, until: number): number[] => Array.from({ length: until - from }, (_, at) => from + at)

test('a set can be restored, and takes no more bytes than its members, its gaps or its bitmap', () => {
  const half = range(0, size).filter((at) => at % 2 === 0)
  const sets: readonly (readonly [string, number[], number])[] = [
    ['empty', [], 0],
    ['all', range(0, size), 0],
    ['the first and the last', [0, size - 1], 4],
    ['few', [3, 255, 256, 257, 20_000], 10],
    ['all but few', range(0, size).filter((at) => at !== 7 && at !== 8 && at !== 32_000), 6],
    ['half', half, size / 8],
    ['as many as a bitmap is short for', range(0, size / 16), size / 8],
    ['one fewer', range(1, size / 16), size / 8 - 2],
    ['all but as many', range(size / 16, size), size / 8],
    ['all but one fewer', range(size / 16 - 1, size), size / 8 - 2],
  ]
  for (const [name, members, bodyBytes] of sets) {
    const bytes = packSet(setOf(members))
    assert.equal(bytes.length, 5 + bodyBytes, name)
    const set = unpackSet(bytes)
    assert.deepEqual(membersOf(set), members, name)
    assert.deepEqual(
      range(0, size).filter((at) => hasMember(set, at)),
      members,
      name,
    )
  }
})

test('any set can be restored, also from a part of a larger buffer', () => {
  const numbers = fc.array(fc.nat(size - 1), { maxLength: 300 })
  fc.assert(
    fc.property(numbers, fc.boolean(), fc.nat(9), (list, isInverted, offset) => {
      const set = setOf(list)
      if (isInverted) for (let at = 0; at < set.length; at++) set[at] = ~(set[at] as number)
      const bytes = packSet(set)
      const buffer = new Uint8Array(bytes.length + 20).fill(255)
      buffer.set(bytes, offset)
      assert.deepEqual(unpackSet(buffer.subarray(offset, offset + bytes.length)), set)
    }),
    { numRuns: 60 },
  )
})

test('the union has the members of both sets, and changes only the first', () => {
  const [one, other] = [setOf([1, 2, 9000]), setOf([2, 3, size - 1])]
  addSet(one, other)
  assert.deepEqual(membersOf(one), [1, 2, 3, 9000, size - 1])
  assert.deepEqual(membersOf(other), [2, 3, size - 1])
})

test('a set with any damaged byte, or a truncated one, is refused', () => {
  for (const members of [[5, 600], range(0, size).filter((at) => at !== 77), range(0, size / 2)]) {
    const bytes = packSet(setOf(members))
    for (let at = 0; at < Math.min(bytes.length, 40); at++) {
      for (const bit of [1, 2, 128]) {
        const damaged = Uint8Array.from(bytes)
        damaged[at] = (damaged[at] as number) ^ bit
        assert.throws(() => unpackSet(damaged), { code: 'store.unavailable' }, `byte ${at}`)
      }
    }
    for (const length of [0, 3, bytes.length - 1])
      assert.throws(() => unpackSet(bytes.subarray(0, length)), { code: 'store.unavailable' }, `${length} bytes`)
  }
})

test('the format of each kind of set is pinned byte by byte', () => {
  const hexOf = (members: readonly number[]) => Buffer.from(packSet(setOf(members))).toString('hex')
  const change = 'another layout of bytes needs another kind, and a reader for both'
  assert.equal(hexOf([3, 258]), '0183457cce03000201', change)
  assert.equal(hexOf(range(0, size).filter((at) => at !== 258)), '026922de360201', change)
  assert.equal(hexOf(range(1, size / 2)), `03b35e588afe${'ff'.repeat(size / 16 - 1)}${'00'.repeat(size / 16)}`, change)
})
