import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createdAddress } from '#core/created.ts'
import type { SeenBlock } from '#io/evm/shapes.ts'
import { isOwnCreation } from './probe-stand.ts'

const sender = `0x${'22'.repeat(20)}`
const made = createdAddress(sender, 7n)

const seen = (...transactions: { from: string; nonce?: bigint; to: string | null }[]): SeenBlock => ({
  block: {
    ...{ number: 1, hash: '0x1', parentHash: '0x0', timeUnix: 1, miner: sender, withdrawals: [] },
    transactions: transactions.map((tx, index) => ({ hash: `0x${index}`, index, valueWei: 0n, ...tx })),
  },
  insight: { form: 'traced', moves: [] },
})

test('only the transaction whose sender and number make the address is its creation', () => {
  const other = { from: sender, nonce: 6n, to: null }
  assert.equal(isOwnCreation(seen(other, { from: sender, nonce: 7n, to: null }), made), true)
  assert.equal(isOwnCreation(seen(other), made), false)
  assert.equal(isOwnCreation(seen({ from: made, nonce: 7n, to: null }), made), false)
  // A call with the same number makes nothing, and without the number nothing can be told.
  assert.equal(isOwnCreation(seen({ from: sender, nonce: 7n, to: made }), made), false)
  assert.equal(isOwnCreation(seen({ from: sender, to: null }), made), false)
})
