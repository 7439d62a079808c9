// Which payload pays what a block deducts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block } from '#sources/beacon/block.ts'
import { payloadStatus } from '#sources/beacon/payload-status.ts'
import { findDeductions } from './deductions.ts'

/** A chain: each block names its slot and whether it builds on the payload of the block before it. */
function chainOf(...blocks: readonly (readonly [slot: number, onParent: boolean])[]): Block[] {
  let last = 'fulu'
  let previous = 'fulu'
  return blocks.map(([slot, onParent]) => {
    const parentBlockHash: string = onParent ? previous : last
    if (onParent) last = previous
    previous = `payload ${slot}`
    return { slot, bid: { parentBlockHash, blockHash: previous } } as unknown as Block
  })
}

const described = (chain: readonly Block[], from = 1, until = 100) =>
  findDeductions(chain, from, until).map(({ block, payers }) => [block.slot, ...payers.map(({ slot }) => slot)])

test('a block on a full payload deducts what its own payload pays, if that becomes part of the chain', () => {
  assert.deepEqual(described(chainOf([1, true], [2, true], [3, true])), [
    [1, 1],
    [2, 2],
    [3, 3],
  ])
})

test('after an empty payload, the next block deducts nothing, and its payload pays the list of the block before', () => {
  assert.deepEqual(described(chainOf([1, true], [2, true], [3, false], [4, true])), [[1, 1], [2, 3, 2], [3], [4, 4]])
})

test('several empty payloads in a row, also over empty slots', () => {
  const chain = chainOf([1, true], [4, false], [5, false], [9, false], [10, true])
  assert.deepEqual(described(chain), [[1, 9, 1, 4, 5], [4], [5], [9], [10, 10]])
})

test('if no known payload is part of the chain yet, every block since the deduction may have the list', () => {
  assert.deepEqual(described(chainOf([1, true], [2, true], [3, false], [5, false])), [[1, 1], [2, 2, 3, 5], [3], [5]])
})

test('only blocks of the requested slots are listed, but later payloads may pay for them', () => {
  assert.deepEqual(described(chainOf([7, true], [8, true], [9, false], [10, true]), 8, 9), [[8, 9, 8]])
})

test('the first block of the fork deducts: the payload of its parent is part of that block', () => {
  const fulu = { slot: 5, payload: { hash: 'fulu' } } as unknown as Block
  assert.deepEqual(described([fulu, ...chainOf([8, true], [9, true])]), [
    [8, 8],
    [9, 9],
  ])
})

test('the status of a payload is unknown until the block has a child', () => {
  const [first, second] = chainOf([1, true], [2, false]) as [Block, Block]
  assert.deepEqual([payloadStatus(first, second), payloadStatus(second, undefined)], ['empty', 'unknown'])
  const fulu = { slot: 5, payload: { hash: 'x' } } as unknown as Block
  assert.deepEqual([payloadStatus(fulu, undefined), payloadStatus(fulu, first)], ['full', 'full'])
})
