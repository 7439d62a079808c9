// Keys and credentials that states share: kept once, never mixed up.
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

/** Records of validators: key of one byte each, credentials of a kind and an address of one byte. */
function records(...validators: readonly (readonly [key: number, kind: number, address: number])[]): Uint8Array {
  const bytes = new Uint8Array(validators.length * stride)
  validators.forEach(([key, kind, address], index) => {
    bytes.fill(key, index * stride, index * stride + 48)
    bytes[index * stride + 48] = kind
    bytes.fill(address, index * stride + 60, index * stride + 80)
  })
  return bytes
}
const told = (names: ValidatorKeys, index: number) => [
  pubkeyOf(names, index)[47],
  withdrawalAddressOf(names, index)?.[19] ?? null,
  withdrawalAddressOf(names, index)?.length ?? null,
]

test('they are copied: the bytes that they came in may be written over', () => {
  const bytes = records([1, 1, 7], [2, 0, 8])
  const names = readValidatorKeys(bytes, stride, 2)
  bytes.fill(0xee)
  assert.deepEqual(
    [told(names, 0), told(names, 1)],
    [
      [1, 7, 20],
      [2, null, null],
    ],
  )
})

test('a state without changes shares them, one with newcomers goes on behind them', () => {
  const first = readValidatorKeys(records([1, 1, 7], [2, 0, 8]), stride, 2)
  const same = readValidatorKeys(records([1, 1, 7], [2, 0, 8]), stride, 2, first)
  const grown = readValidatorKeys(records([1, 1, 7], [2, 0, 8], [3, 2, 9]), stride, 3, same)
  for (const names of [same, grown]) {
    assert.equal(names.pubkeys.buffer, first.pubkeys.buffer)
    assert.equal(names.credentials.buffer, first.credentials.buffer)
  }
  assert.deepEqual([first.pubkeys.length, grown.pubkeys.length], [2 * 48, 3 * 48])
  assert.deepEqual(told(grown, 2), [3, 9, 20])
  // Asked about an earlier state after a later one: the beginning of the same.
  const earlier = readValidatorKeys(records([1, 1, 7]), stride, 1, grown)
  assert.deepEqual([told(earlier, 0), earlier.credentials.length], [[1, 7, 20], 32])
})

test('credentials that change are told apart, and the earlier state keeps its own', () => {
  const first = readValidatorKeys(records([1, 1, 7], [2, 0, 0]), stride, 2)
  const next = readValidatorKeys(records([1, 1, 7], [2, 1, 8]), stride, 2, first)
  assert.deepEqual(
    [told(first, 1), told(next, 1)],
    [
      [2, null, null],
      [2, 8, 20],
    ],
  )
  assert.deepEqual([hasSameCredentials(first, next, 0), hasSameCredentials(first, next, 1)], [true, false])
})

test('keys of another chain are not taken for the same', () => {
  const first = readValidatorKeys(records([1, 1, 7]), stride, 1)
  assert.deepEqual(told(readValidatorKeys(records([9, 1, 5]), stride, 1, first), 0), [9, 5, 20])
  assert.deepEqual(told(first, 0), [1, 7, 20])
})

test('those of some validators have buffers of their own', () => {
  const all = readValidatorKeys(records([1, 1, 7], [2, 0, 8], [3, 2, 9]), stride, 3)
  const some = selectValidatorKeys(all, [2, 0])
  assert.deepEqual(
    [told(some, 0), told(some, 1)],
    [
      [3, 9, 20],
      [1, 7, 20],
    ],
  )
  assert.notEqual(some.pubkeys.buffer, all.pubkeys.buffer)
})
