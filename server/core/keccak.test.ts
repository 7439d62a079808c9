import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bytesToHex, getAddress, type Hex, keccak256 as reference } from 'viem'
import { checksummed, keccak256 } from './keccak.ts'

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
