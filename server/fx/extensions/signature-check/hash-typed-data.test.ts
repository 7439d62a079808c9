import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignTypedDataVersion, TypedDataUtils } from '@metamask/eth-sig-util'
import { TypedDataEncoder } from 'ethers'
import fc from 'fast-check'
import { hashTypedData as hashByViem } from 'viem'
import {
  encodeType,
  hashStruct,
  hashTypedData,
  TypedDataTooLarge,
  type TypedDocument,
  type Types,
} from './hash-typed-data.ts'

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

test('the digest matches three libraries for nested types, lists, bytes and signed integers', () => {
  fc.assert(
    fc.property(trees, fc.integer({ min: 1, max: 2 ** 31 }), (message, chainId) => {
      const domain = { name: 'Forest', chainId, verifyingContract: zero }
      const ours = `0x${hashTypedData({ domain, types, primaryType: 'Tree', message }).toHex()}`
      const { EIP712Domain: _, ...used } = types
      assert.equal(ours, TypedDataEncoder.hash(domain, used, message))
      assert.equal(ours, hashByViem({ domain, types, primaryType: 'Tree', message } as never))
      const theirs = TypedDataUtils.eip712Hash(
        { domain, types, primaryType: 'Tree', message } as never,
        SignTypedDataVersion.V4,
      )
      assert.equal(ours, `0x${theirs.toString('hex')}`)
    }),
    { numRuns: 60 },
  )
})

test('the type string lists the used types sorted by name', () => {
  assert.equal(
    encodeType(types, 'Tree'),
    'Tree(Branch branch,address owner,uint256 height)Branch(Leaf[] leaves,uint256[] numbers,int64 low)' +
      'Leaf(string words,bytes raw,bytes4 short,bool yes)',
  )
})

test('a value that does not fit its type is an error', () => {
  const document = (height: unknown, owner: unknown = zero): TypedDocument => ({
    domain: { name: 'Forest', chainId: 1, verifyingContract: zero },
    types: { ...types, Tree: [field('owner', 'address'), field('height', 'uint8')] },
    primaryType: 'Tree',
    message: { owner, height },
  })
  for (const good of [0, 255, 7n, '12', '0xff']) hashTypedData(document(good))
  for (const bad of [256, -1, 1.5, '', 'x', null, undefined, {}, 2 ** 60, '0x']) {
    assert.throws(() => hashTypedData(document(bad)), /^Error: not a value of type uint8$/)
  }
  assert.throws(() => hashTypedData(document(1, '0x12')), /not a value of type address/)
  assert.throws(() => hashTypedData({ ...document(1), primaryType: 'Bush' }), /type Bush is not defined/)
  const looped = { A: [field('a', 'A')], EIP712Domain: [] }
  const loop: Record<string, unknown> = {}
  loop.a = loop
  assert.throws(() => hashTypedData({ domain: {}, types: looped, primaryType: 'A', message: loop }), /too deep/)
})

const many = (count: number, type = 'uint8') => Array.from({ length: count }, (_, at) => field(`a${at}`, type))
/** A list of structs, each with a list of a large type. */
const wide = (count: number, more: Types = {}): TypedDocument => ({
  domain: {},
  types: { EIP712Domain: [], P: [field('x', 'E[]')], E: [field('a', 'F[]')], F: many(100), ...more },
  primaryType: 'P',
  message: { x: Array.from({ length: count }, () => ({ a: [] })) },
})

test('only types of the standard are accepted, and lists of the length that their type names', () => {
  const hashOf = (type: string, value: unknown) => hashStruct({ Box: [field('held', type)] }, 'Box', { held: value })
  const bytes = (count: number) => `0x${'ab'.repeat(count)}`
  for (const bits of [8, 16, 64, 160, 248, 256]) for (const sign of ['', 'u']) hashOf(`${sign}int${bits}`, 1)
  for (const size of [1, 2, 31, 32]) hashOf(`bytes${size}`, bytes(size))
  for (const bits of ['', 0, 7, 12, 257, 264, 999, '08', '008']) {
    for (const sign of ['', 'u'])
      assert.throws(() => hashOf(`${sign}int${bits}`, 1), /not a value of type|is not a type/)
  }
  for (const size of [0, '01', 33, 40, 99]) {
    assert.throws(() => hashOf(`bytes${size}`, bytes(Number(size))), /not a value of type|is not a type/)
  }
  hashOf('uint8[2][]', [[1, 2]])
  assert.throws(() => hashOf('uint8[2]', [1, 2, 3]), /uint8\[2\] has 3 items/)
  assert.throws(() => hashOf('uint8[2][]', [[1]]), /uint8\[2\] has 1 items/)
})

test('a type is hashed once per digest', () => {
  const readsFor = (count: number) => {
    let reads = 0
    const fields = many(100)
    const document = wide(count)
    const types = { ...document.types }
    Object.defineProperty(types, 'F', { enumerable: true, get: () => ++reads && fields })
    hashTypedData({ ...document, types })
    return reads
  }
  assert.equal(readsFor(500), readsFor(1))
})

test('more types, fields, characters, levels and values than the limits are refused', () => {
  const refused = (document: TypedDocument, expected: RegExp) =>
    assert.throws(
      () => hashTypedData(document),
      (error) => error instanceof TypedDataTooLarge && expected.test(error.message),
    )
  hashTypedData(wide(511))
  refused(wide(512), /at most 1024 values/)
  const types = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`T${at}`, []]))
  hashTypedData(wide(1, types(12)))
  refused(wide(1, types(13)), /at most 16 types/)
  hashTypedData(wide(1, { F: many(126) }))
  refused(wide(1, { F: many(127) }), /at most 128 fields/)
  hashTypedData(wide(1, { F: [field('f'.repeat(64), 'bool')] }))
  refused(wide(1, { F: [field('f'.repeat(65), 'bool')] }), /at most 64 characters/)
  refused(wide(1, { F: [field('f', `bool${'[]'.repeat(31)}`)] }), /at most 64 characters/)
  const deep = (levels: number) => ({
    ...wide(1, { P: [field('x', `uint8${'[]'.repeat(levels)}`)] }),
    message: { x: Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 1) },
  })
  hashTypedData(deep(16))
  refused(deep(17), /too deep: 16 levels/)
})
