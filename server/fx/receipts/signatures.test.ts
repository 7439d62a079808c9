import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalJson } from './canonical-json.ts'
import { fingerprintOf, isSignedBy, privateKeyOf, publicBytesOf, signEd25519 } from './ed25519.ts'

test('Ed25519: the first test vector of RFC 8032, section 7.1', async () => {
  const seed = Uint8Array.fromHex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60')
  const key = privateKeyOf(seed)
  assert.equal(publicBytesOf(key).toHex(), 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a')
  assert.equal(
    (await signEd25519(key, new Uint8Array())).toHex(),
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  )
  assert.equal(fingerprintOf(publicBytesOf(key)).length, 16)
})

test('a signature is valid for its message and key only, and a wrong length is invalid', async () => {
  const key = privateKeyOf(new Uint8Array(32).fill(7))
  const other = publicBytesOf(privateKeyOf(new Uint8Array(32).fill(8)))
  const message = Uint8Array.of(1, 2, 3)
  const signature = await signEd25519(key, message)
  assert.equal(isSignedBy(publicBytesOf(key), message, signature), true)
  assert.equal(isSignedBy(publicBytesOf(key), Uint8Array.of(1, 2, 4), signature), false)
  assert.equal(isSignedBy(other, message, signature), false)
  assert.equal(isSignedBy(publicBytesOf(key), message, signature.subarray(1)), false)
  assert.equal(isSignedBy(new Uint8Array(31), message, signature), false)
})

test('canonical JSON is sorted by name, without spaces, and omits only undefined members', () => {
  assert.equal(
    canonicalJson({ b: [1, { z: null, a: 'ü"\n' }], a: true, '10': 'x', '9': 'y', gone: undefined }),
    '{"10":"x","9":"y","a":true,"b":[1,{"a":"ü\\"\\n","z":null}]}',
  )
  for (const bad of [1.5, 2 ** 53, Number.NaN, 1n, undefined, () => 1]) assert.throws(() => canonicalJson(bad))
})

test('canonical JSON does not depend on the order of members', () => {
  const value = fc.letrec((tie) => ({
    value: fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
  })).value
  const reversed = (node: unknown): unknown => {
    if (typeof node !== 'object' || node === null) return node
    if (Array.isArray(node)) return node.map(reversed)
    return Object.fromEntries(
      Object.entries(node)
        .reverse()
        .map(([name, member]) => [name, reversed(member)]),
    )
  }
  fc.assert(
    fc.property(value, (one) => {
      assert.equal(canonicalJson(reversed(one)), canonicalJson(one))
      assert.deepEqual(JSON.parse(canonicalJson(one)), JSON.parse(JSON.stringify(one)))
    }),
  )
})
