// RLP and roots of lists, compared with another implementation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Hex, toRlp } from 'viem'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { rootOf } from '#test/simulator/amsterdam.ts'
import { keccak256 } from './keccak256.ts'
import { rlpList, rlpNumber, rlpString, rootOfList } from './rlp.ts'

const draws = createSeededRandom('rlp')
const randomHex = (bytes: number): string => (bytes === 0 ? '' : draws.hex(2 * bytes))

test('texts and lists of every length are encoded as viem does', () => {
  for (const bytes of [0, 1, 2, 54, 55, 56, 57, 255, 256, 257, 65_535, 65_536]) {
    const hex = randomHex(bytes)
    assert.equal(`0x${rlpString(hex)}`, toRlp(`0x${hex}`), `${bytes} bytes`)
    assert.equal(`0x${rlpList([rlpString(hex), rlpList([])])}`, toRlp([`0x${hex}`, []]), `a list of ${bytes} bytes`)
  }
  for (const hex of ['00', '01', '7f', '80', 'ff']) assert.equal(`0x${rlpString(hex)}`, toRlp(`0x${hex}`), hex)
  for (const [quantity, digits] of [
    ['0x0', '0x'],
    ['0x00', '0x'],
    ['0x7f', '0x7f'],
    ['0x80', '0x80'],
    ['0x100', '0x0100'],
  ] as const)
    assert.equal(`0x${rlpNumber(quantity)}`, toRlp(digits), quantity)
})

test('the root of a list is that of the trie of the yellow paper', () => {
  // Short values are part of their parent node. From 128 on, the keys have two bytes, from 256 on three.
  for (const bytes of [1, 10, 31, 32, 33, 600])
    for (const count of [0, 1, 2, 3, 16, 17, 127, 128, 129, 256, 257, 300]) {
      const values = Array.from({ length: count }, () => randomHex(bytes))
      const hexValues = values.map((value): Hex => `0x${value}`)
      assert.equal(rootOfList(values), rootOf(hexValues), `${count} values of ${bytes} bytes`)
    }
})

test('the hash of nothing is that of keccak256', () => {
  assert.equal(keccak256(new Uint8Array()), 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470')
})
