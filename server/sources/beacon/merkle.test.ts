// Compares progressive hash trees with the recursive definition of EIP-7916 and EIP-7495.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { progressive } from './merkle.ts'
import {
  bitlistType,
  byteListType,
  bytesType,
  containerType,
  listType,
  progressiveContainerType,
  rootOf,
  uint64ListType,
  uintType,
} from './ssz-type.ts'

const hash = (a: Uint8Array, b: Uint8Array) => createHash('sha256').update(a).update(b).digest()
const zero = Buffer.alloc(32)

/** A tree with exactly `leaves` leaves, a power of two. */
function merkleize(chunks: readonly Uint8Array[], leaves: number): Uint8Array {
  if (leaves === 1) return chunks[0] ?? zero
  return hash(merkleize(chunks.slice(0, leaves / 2), leaves / 2), merkleize(chunks.slice(leaves / 2), leaves / 2))
}

function merkleizeProgressive(chunks: readonly Uint8Array[], leaves = 1): Uint8Array {
  if (chunks.length === 0) return zero
  return hash(merkleize(chunks.slice(0, leaves), leaves), merkleizeProgressive(chunks.slice(leaves), leaves * 4))
}

function chunksOf(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / 32) }, (_, at) => {
    const chunk = Buffer.alloc(32)
    chunk.set(bytes.subarray(at * 32, at * 32 + 32))
    return chunk
  })
}

function withLength(root: Uint8Array, length: number): string {
  const bytes = Buffer.alloc(32)
  bytes.writeUInt32LE(length)
  return `0x${hash(root, bytes).toString('hex')}`
}

// The trees of a list end after 1, 5, 21 and 85 chunks.
const anyBytes = fc.uint8Array({ maxLength: 90 * 32 })

test('bytes and integers in progressive lists', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const root = merkleizeProgressive(chunksOf(bytes))
      assert.equal(rootOf(byteListType(progressive), bytes), withLength(root, bytes.length))
      const whole = bytes.subarray(0, bytes.length - (bytes.length % 8))
      const numbers = merkleizeProgressive(chunksOf(whole))
      assert.equal(rootOf(uint64ListType(progressive), whole), withLength(numbers, whole.length / 8))
    }),
  )
})

test('bits in progressive lists, without the end marker', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 6000 }), (bits) => {
      const bytes = Buffer.alloc(Math.floor(bits.length / 8) + 1)
      const plain = Buffer.alloc(Math.ceil(bits.length / 8))
      for (const target of [bytes, plain])
        bits.forEach((bit, at) => {
          if (bit) target[at >> 3] = (target[at >> 3] as number) | (1 << (at & 7))
        })
      const last = bits.length >> 3
      bytes[last] = (bytes[last] as number) | (1 << (bits.length & 7))
      const root = merkleizeProgressive(chunksOf(plain))
      assert.equal(rootOf(bitlistType(progressive), bytes), withLength(root, bits.length))
    }),
    { numRuns: 30 },
  )
})

test('records in progressive lists', () => {
  const record = containerType({ a: uintType(8), b: bytesType(32) })
  for (const count of [0, 1, 2, 5, 6, 21, 22, 60]) {
    const records = Array.from({ length: count }, (_, at) => Buffer.alloc(40, at + 1))
    const roots = records.map((bytes) => Buffer.from(rootOf(record, bytes).slice(2), 'hex'))
    const expected = withLength(merkleizeProgressive(roots), count)
    assert.equal(rootOf(listType(record, progressive), Buffer.concat(records)), expected)
  }
})

test('a progressive container is hashed with the bits of its fields', () => {
  for (const count of [1, 3, 5, 13, 19]) {
    const fields = Object.fromEntries(Array.from({ length: count }, (_, at) => [`field${at}`, bytesType(32)]))
    const values = Array.from({ length: count }, (_, at) => Buffer.alloc(32, at + 7))
    const active = Buffer.alloc(32)
    active.writeUInt32LE(2 ** count - 1)
    const expected = hash(merkleizeProgressive(values), active)
    assert.equal(rootOf(progressiveContainerType(fields), Buffer.concat(values)), `0x${expected.toString('hex')}`)
  }
})
