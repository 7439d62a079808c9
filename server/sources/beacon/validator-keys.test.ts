// Tests of the public keys and credentials that several states share in memory.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  hasSameCredentials,
  pubkeyOf,
  readValidatorKeys,
  selectValidatorKeys,
  type ValidatorKeys,
  withdrawalAddressOf,
} from './validator-keys.ts'

const stride = 121

/** Validator records whose key and withdrawal address repeat one byte. */
function records(...validators: readonly (readonly [key: number, kind: number, address: number])[]): Uint8Array {
  const bytes = new Uint8Array(validators.length * stride)
  validators.forEach(([key, kind, address], index) => {
    bytes.fill(key, index * stride, index * stride + 48)
    bytes[index * stride + 48] = kind
    bytes.fill(address, index * stride + 60, index * stride + 80)
  })
  return bytes
}
const summaryOf = (keys: ValidatorKeys, index: number) => [
  pubkeyOf(keys, index)[47],
  withdrawalAddressOf(keys, index)?.[19] ?? null,
  withdrawalAddressOf(keys, index)?.length ?? null,
]

test('keys are copied, so the source bytes can be overwritten', () => {
  const bytes = records([1, 1, 7], [2, 0, 8])
  const keys = readValidatorKeys(bytes, stride, 2)
  bytes.fill(0xee)
  assert.deepEqual(
    [summaryOf(keys, 0), summaryOf(keys, 1)],
    [
      [1, 7, 20],
      [2, null, null],
    ],
  )
})

test('an unchanged state shares the arrays, and a state with new validators appends to them', () => {
  const first = readValidatorKeys(records([1, 1, 7], [2, 0, 8]), stride, 2)
  const same = readValidatorKeys(records([1, 1, 7], [2, 0, 8]), stride, 2, first)
  const grown = readValidatorKeys(records([1, 1, 7], [2, 0, 8], [3, 2, 9]), stride, 3, same)
  for (const keys of [same, grown]) {
    assert.equal(keys.pubkeys.buffer, first.pubkeys.buffer)
    assert.equal(keys.credentials.buffer, first.credentials.buffer)
  }
  assert.deepEqual([first.pubkeys.length, grown.pubkeys.length], [2 * 48, 3 * 48])
  assert.deepEqual(summaryOf(grown, 2), [3, 9, 20])
  // Reading an earlier state after a later one returns the start of the same array.
  const earlier = readValidatorKeys(records([1, 1, 7]), stride, 1, grown)
  assert.deepEqual([summaryOf(earlier, 0), earlier.credentials.length], [[1, 7, 20], 32])
})

test('changed credentials are detected, and the earlier state keeps its own', () => {
  const first = readValidatorKeys(records([1, 1, 7], [2, 0, 0]), stride, 2)
  const next = readValidatorKeys(records([1, 1, 7], [2, 1, 8]), stride, 2, first)
  assert.deepEqual(
    [summaryOf(first, 1), summaryOf(next, 1)],
    [
      [2, null, null],
      [2, 8, 20],
    ],
  )
  assert.deepEqual([hasSameCredentials(first, next, 0), hasSameCredentials(first, next, 1)], [true, false])
})

test('one changed byte of an address is not shared with later states', () => {
  const wrong = readValidatorKeys(records([1, 1, 7], [2, 1, 9]), stride, 2)
  const right = readValidatorKeys(records([1, 1, 7], [2, 1, 8]), stride, 2, wrong)
  assert.deepEqual(
    [summaryOf(wrong, 1), summaryOf(right, 1)].map(([, address]) => address),
    [9, 8],
  )
  assert.deepEqual([hasSameCredentials(wrong, right, 0), hasSameCredentials(wrong, right, 1)], [true, false])
})

test('keys of another chain do not share memory', () => {
  const first = readValidatorKeys(records([1, 1, 7]), stride, 1)
  assert.deepEqual(summaryOf(readValidatorKeys(records([9, 1, 5]), stride, 1, first), 0), [9, 5, 20])
  assert.deepEqual(summaryOf(first, 0), [1, 7, 20])
})

test('selected keys are copied into new buffers', () => {
  const all = readValidatorKeys(records([1, 1, 7], [2, 0, 8], [3, 2, 9]), stride, 3)
  const some = selectValidatorKeys(all, [2, 0])
  assert.deepEqual(
    [summaryOf(some, 0), summaryOf(some, 1)],
    [
      [3, 9, 20],
      [1, 7, 20],
    ],
  )
  assert.notEqual(some.pubkeys.buffer, all.pubkeys.buffer)
})
