import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recoverAddress, SigningKey } from 'ethers'
import fc from 'fast-check'
import { recoverAddress as byViem, type Hex } from 'viem'
import { addressRecovery } from './recover-address.ts'

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const hex = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`
const bytes = (text: string) => Uint8Array.fromHex(text.slice(2))

test('a digest for which the key would be the point at infinity has no signer', () => {
  // With R = G and s = z, s·R − z·G is zero. The x of G:
  const r = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n
  const recover = addressRecovery({ r, s: 5n, isOdd: false })
  assert.equal(recover?.(bytes(hex(5n))), undefined)
  assert.match(recover?.(bytes(hex(6n))) ?? '', /^0x[0-9a-f]{40}$/)
})

test('the address is the one that a library recovers, for any key and digest', () => {
  const key = fc.bigInt(1n, order - 1n)
  const digest = fc.bigInt(0n, 2n ** 256n - 1n)
  fc.assert(
    fc.property(key, digest, (secret, words) => {
      const signed = new SigningKey(hex(secret)).sign(hex(words))
      const recover = addressRecovery({ r: BigInt(signed.r), s: BigInt(signed.s), isOdd: signed.yParity === 1 })
      assert.equal(recover?.(bytes(hex(words))), recoverAddress(hex(words), signed).toLowerCase())
    }),
    { numRuns: 60 },
  )
})

test('any r and s: the same address as another library recovers, or none for both', async () => {
  const word = fc.bigInt(0n, 2n ** 256n - 1n)
  await fc.assert(
    fc.asyncProperty(word, word, fc.boolean(), word, async (r, s, isOdd, words) => {
      const signature = { r: hex(r) as Hex, s: hex(s) as Hex, yParity: isOdd ? 1 : 0 }
      const theirs = await byViem({ hash: hex(words) as Hex, signature }).catch(() => undefined)
      assert.equal(addressRecovery({ r, s, isOdd })?.(bytes(hex(words))), theirs?.toLowerCase())
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
