// RLP and roots of lists, compared with another implementation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesToHex, type Hex, hexToBytes, toRlp } from 'viem'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { rootOf } from '#test/simulator/amsterdam.ts'
import { keccak256 } from './keccak256.ts'
import { encodeRlp, MalformedHex, numberBytes, rootOfList } from './rlp.ts'

const draws = createSeededRandom('rlp')
const randomHex = (bytes: number): Hex => `0x${bytes === 0 ? '' : draws.hex(2 * bytes)}`

test('texts and lists of every length are encoded as viem does', () => {
  for (const bytes of [0, 1, 2, 54, 55, 56, 57, 255, 256, 257, 65_535, 65_536]) {
    const hex = randomHex(bytes)
    assert.equal(bytesToHex(encodeRlp(hex)), toRlp(hex), `${bytes} bytes`)
    assert.equal(bytesToHex(encodeRlp(hexToBytes(hex))), toRlp(hex), `${bytes} bytes that are not text`)
    assert.equal(bytesToHex(encodeRlp([hex, [], [hex]])), toRlp([hex, [], [hex]]), `a list of ${bytes} bytes`)
  }
  assert.equal(encodeRlp(new Uint8Array(0x1000000)).toString('hex', 0, 6), 'bb0100000000')
  for (const hex of ['0x00', '0x01', '0x7f', '0x80', '0xff'] as const) {
    assert.equal(bytesToHex(encodeRlp(hex)), toRlp(hex), hex)
    assert.equal(bytesToHex(encodeRlp([hexToBytes(hex)])), toRlp([hex]), hex)
  }
  for (const [quantity, digits] of [
    ['0x0', '0x'],
    ['0x00', '0x'],
    ['0x7f', '0x7f'],
    ['0x80', '0x80'],
    ['0x100', '0x0100'],
  ] as const)
    assert.equal(bytesToHex(encodeRlp(numberBytes(quantity))), toRlp(digits), quantity)
})

test('a text that is not hexadecimal is refused', () => {
  for (const text of ['0x0g', '0xg0', '0x000', `0x${'00'.repeat(60)}0x`])
    assert.throws(() => encodeRlp(['0x00', [text]]), MalformedHex, text)
})

test('the root of a list is that of the trie of the yellow paper', () => {
  // Short values are part of their parent node. From 128 on, the keys have two bytes, from 256 on three.
  for (const bytes of [1, 10, 31, 32, 33, 600])
    for (const count of [0, 1, 2, 3, 16, 17, 127, 128, 129, 256, 257, 300]) {
      const values = Array.from({ length: count }, () => randomHex(bytes))
      assert.equal(rootOfList(values.map((value) => hexToBytes(value))), rootOf(values), `${count} of ${bytes} bytes`)
    }
})

test('the hash of nothing is that of keccak256', () => {
  assert.equal(keccak256(new Uint8Array()), 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470')
})
