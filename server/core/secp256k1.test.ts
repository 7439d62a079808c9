import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recoverAddress, SigningKey } from 'ethers'
import fc from 'fast-check'
import { recoverAddress as byViem, type Hex } from 'viem'
import { recoverer } from './secp256k1.ts'

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const hex = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`
const bytes = (text: string) => Uint8Array.fromHex(text.slice(2))

test('the signer is the one two libraries name, for any key and digest', () => {
  const key = fc.bigInt(1n, order - 1n)
  const digest = fc.bigInt(0n, 2n ** 256n - 1n)
  fc.assert(
    fc.property(key, digest, (secret, words) => {
      const signed = new SigningKey(hex(secret)).sign(hex(words))
      const recover = recoverer({ r: BigInt(signed.r), s: BigInt(signed.s), odd: signed.yParity === 1 })
      assert.equal(recover?.(bytes(hex(words))), recoverAddress(hex(words), signed).toLowerCase())
    }),
    { numRuns: 60 },
  )
})

test('any r and s, also those nobody signed: the same key as a library finds, or none for both', async () => {
  const word = fc.bigInt(0n, 2n ** 256n - 1n)
  await fc.assert(
    fc.asyncProperty(word, word, fc.boolean(), word, async (r, s, odd, words) => {
      const signature = { r: hex(r) as Hex, s: hex(s) as Hex, yParity: odd ? 1 : 0 }
      const theirs = await byViem({ hash: hex(words) as Hex, signature }).catch(() => undefined)
      assert.equal(recoverer({ r, s, odd })?.(bytes(hex(words))), theirs?.toLowerCase())
    }),
    {
      numRuns: 60,
      examples: [
        [0n, 1n, true, 1n],
        [1n, 0n, true, 1n],
        [order, 1n, false, 1n],
        [1n, order, true, 1n],
        [1n, 1n, false, 0n],
      ],
    },
  )
})
