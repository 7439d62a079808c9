import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bytesToHex, getAddress, type Hex, keccak256 as reference } from 'viem'
import { checksummed, isMistyped, keccak256 } from './keccak.ts'

test('the digest of nothing is the well-known one', () => {
  const expected = 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'
  assert.equal(Buffer.from(keccak256(new Uint8Array())).toString('hex'), expected)
})

test('every length around the block border agrees with an independent library', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 420 }), (input) => {
      assert.equal(bytesToHex(keccak256(input)), reference(input))
    }),
  )
  for (const length of [135, 136, 137, 271, 272, 273]) {
    const input = new Uint8Array(length).fill(7)
    assert.equal(bytesToHex(keccak256(input)), reference(input))
  }
})

test('the letter case of addresses agrees with an independent library', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
      const address: Hex = bytesToHex(bytes)
      assert.equal(checksummed(address), getAddress(address))
    }),
  )
})

test('mixed case with one letter wrong is mistyped; the right case and letters all of one case are not', () => {
  const right = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  assert.equal(checksummed(right), right)
  const digits = right.slice(2)
  for (const one of [right, right.toLowerCase(), `0x${digits.toUpperCase()}`, `0x${'1'.repeat(40)}`]) {
    assert.equal(isMistyped(one), false, one)
  }
  for (const [place, letter] of [...digits].entries()) {
    const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
    const wrong = `0x${digits.slice(0, place)}${other}${digits.slice(place + 1)}`
    assert.equal(isMistyped(wrong), other !== letter, wrong)
  }
})
