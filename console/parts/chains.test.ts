import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainName, chainsIn, coins } from './chains.ts'

test('the chains are those of the explorer’s streams, in their order', () => {
  const streams = [
    { group: 'explorer', name: 'chain 137' },
    { group: 'explorer', name: 'chain 1' },
    { group: 'validators', name: 'network mainnet' },
  ]
  assert.deepEqual(chainsIn({ streams }), ['137', '1'])
  assert.deepEqual(chainsIn({}), [])
})

test('a chain nobody has named goes by its number', () => {
  assert.deepEqual([chainName('1'), chainName('31337')], ['Ethereum (1)', 'chain 31337'])
})

test('an amount is exact as far as it is shown, and something is never nothing', () => {
  assert.equal(coins('1', '407573540925921893'), '0.407573 ETH')
  assert.equal(coins('1', '407573540925921893', 18), '0.407573540925921893 ETH')
  assert.equal(coins('137', '1000000000000000000000'), '1,000 POL')
  // One wei is 10^-18; six places show down to 10^-6.
  assert.equal(coins('1', '1'), '<0.000001 ETH')
  assert.equal(coins('31337', '0'), '0 coins')
})
