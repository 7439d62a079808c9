import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkId, networkIdsEnd } from './network-id.ts'

test('the number of a network follows from its name, and never changes', () => {
  const names = ['mainnet', 'hoodi', 'holesky', 'sepolia', 'devnet', 'ephemery', 'kurtosis']
  assert.deepEqual(names.map(networkId), [1, 2, 3, 4, 423, 1456, 733])
})

test('numbers of other names begin after those of known names and fit into a key', () => {
  const ids = Array.from({ length: 10_000 }, (_, at) => networkId(`n${at}`))
  assert.ok(Math.min(...ids) >= 16)
  assert.ok(Math.max(...ids) < networkIdsEnd)
  assert.ok(new Set(ids).size > 1900, 'spread over all numbers')
})
