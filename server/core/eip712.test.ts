import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignTypedDataVersion, TypedDataUtils } from '@metamask/eth-sig-util'
import { TypedDataEncoder } from 'ethers'
import fc from 'fast-check'
import { hashTypedData } from 'viem'
import { type TypedDocument, typedDigest, typeString } from './eip712.ts'

const field = (name: string, type: string) => ({ name, type })
const types = {
  EIP712Domain: [field('name', 'string'), field('chainId', 'uint256'), field('verifyingContract', 'address')],
  Leaf: [field('words', 'string'), field('raw', 'bytes'), field('short', 'bytes4'), field('yes', 'bool')],
  Branch: [field('leaves', 'Leaf[]'), field('numbers', 'uint256[]'), field('low', 'int64')],
  Tree: [field('branch', 'Branch'), field('owner', 'address'), field('height', 'uint256')],
}
const zero = `0x${'00'.repeat(20)}`

const trees = fc.record({
  branch: fc.record({
    leaves: fc.array(
      fc.record({
        words: fc.string({ unit: 'grapheme' }),
        raw: fc.uint8Array({ maxLength: 70 }).map((bytes) => `0x${bytes.toHex()}`),
        short: fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => `0x${bytes.toHex()}`),
        yes: fc.boolean(),
      }),
      { maxLength: 3 },
    ),
    numbers: fc.array(fc.bigInt(0n, 2n ** 256n - 1n), { maxLength: 3 }),
    low: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  }),
  owner: fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => `0x${bytes.toHex()}`),
  height: fc.bigInt(0n, 2n ** 256n - 1n),
})

test('the digest is that of three libraries, for nested types, lists, bytes and signs', () => {
  fc.assert(
    fc.property(trees, fc.integer({ min: 1, max: 2 ** 31 }), (message, chainId) => {
      const domain = { name: 'Forest', chainId, verifyingContract: zero }
      const ours = `0x${typedDigest({ domain, types, primaryType: 'Tree', message }).toHex()}`
      const { EIP712Domain: _, ...used } = types
      assert.equal(ours, TypedDataEncoder.hash(domain, used, message))
      assert.equal(ours, hashTypedData({ domain, types, primaryType: 'Tree', message } as never))
      const theirs = TypedDataUtils.eip712Hash(
        { domain, types, primaryType: 'Tree', message } as never,
        SignTypedDataVersion.V4,
      )
      assert.equal(ours, `0x${theirs.toString('hex')}`)
    }),
    { numRuns: 60 },
  )
})

test('the type string lists what is reached, by name', () => {
  assert.equal(
    typeString(types, 'Tree'),
    'Tree(Branch branch,address owner,uint256 height)Branch(Leaf[] leaves,uint256[] numbers,int64 low)' +
      'Leaf(string words,bytes raw,bytes4 short,bool yes)',
  )
})

test('what is no value of its type is an error with its path', () => {
  const document = (height: unknown, owner: unknown = zero): TypedDocument => ({
    domain: { name: 'Forest', chainId: 1, verifyingContract: zero },
    types: { ...types, Tree: [field('owner', 'address'), field('height', 'uint8')] },
    primaryType: 'Tree',
    message: { owner, height },
  })
  for (const good of [0, 255, 7n, '12', '0xff']) typedDigest(document(good))
  for (const bad of [256, -1, 1.5, '', 'x', null, undefined, {}, 2 ** 60, '0x']) {
    assert.throws(() => typedDigest(document(bad)), /^Error: Tree\.height (is not an integer|does not fit 8 bits)$/)
  }
  assert.throws(() => typedDigest(document(1, '0x12')), /Tree\.owner is not an address/)
  assert.throws(() => typedDigest({ ...document(1), primaryType: 'Bush' }), /the type Bush is not described/)
  const looped = { A: [field('a', 'A')], EIP712Domain: [] }
  const loop: Record<string, unknown> = {}
  loop.a = loop
  assert.throws(() => typedDigest({ domain: {}, types: looped, primaryType: 'A', message: loop }), /too deep/)
})
