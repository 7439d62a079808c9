import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bytesToHex, getAddress, type Hex } from 'viem'
import { checksumAddress, hasWrongChecksum } from './checksum-address.ts'

test('the checksum equals that of an independent library', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
      const address: Hex = bytesToHex(bytes)
      assert.equal(checksumAddress(address), getAddress(address))
    }),
  )
})

test('one letter in the wrong case is a wrong checksum; single-case addresses have no checksum', () => {
  const right = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  assert.equal(checksumAddress(right), right)
  const digits = right.slice(2)
  for (const one of [right, right.toLowerCase(), `0x${digits.toUpperCase()}`, `0x${'1'.repeat(40)}`]) {
    assert.equal(hasWrongChecksum(one), false, one)
  }
  for (const [at, letter] of [...digits].entries()) {
    const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
    const wrong = `0x${digits.slice(0, at)}${other}${digits.slice(at + 1)}`
    assert.equal(hasWrongChecksum(wrong), other !== letter, wrong)
  }
})
