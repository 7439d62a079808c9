import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { getContractAddress } from 'viem'
import { createdAddress } from './created.ts'

test('the addresses of another library, at every length of the number', () => {
  const sender = fc
    .uint8Array({ minLength: 20, maxLength: 20 })
    .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
  const edges = fc.constantFrom(0n, 1n, 0x7fn, 0x80n, 0xffn, 0x100n, 0xffffn, 0x10000n, 2n ** 64n - 2n)
  fc.assert(
    fc.property(sender, fc.oneof(edges, fc.bigInt(0n, 2n ** 64n - 2n)), (from, nonce) => {
      const theirs = getContractAddress({ from: from as `0x${string}`, nonce }).toLowerCase()
      assert.equal(createdAddress(from, nonce), theirs)
    }),
  )
})
