import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BlockWithExecution } from '#sources/evm/types.ts'
import { ReadSize } from './read-size.ts'

test('many blocks are read at a time if they have few transactions, and eight if they are full', () => {
  const size = new ReadSize()
  const sizes = [0, 3, 20, 50, 400, 0].map((transactions) => {
    const { blocks } = size
    const block = { block: { transactions: Array.from({ length: transactions }) } } as unknown as BlockWithExecution
    size.measure(Array.from({ length: blocks }, () => block))
    return blocks
  })
  assert.deepEqual(sizes, [8, 64, 64, 64, 32, 8])
})
