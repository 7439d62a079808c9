import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainName, coins } from './chains.ts'

test('a chain is shown by its configured name, else its well-known name, else its id', () => {
  const configured = [
    { id: '5', name: 'Testing ground' },
    { id: '1', name: 'Main' },
  ]
  assert.deepEqual(
    ['5', '1', '10', '31337'].map((id) => chainName(id, configured)),
    ['Testing ground (5)', 'Main (1)', 'OP Mainnet (10)', 'chain 31337'],
  )
  assert.equal(chainName('1'), 'Ethereum (1)')
})

test('amounts are cut, never rounded, and an amount above zero is never shown as 0', () => {
  assert.equal(coins('1', '407573540925921893'), '0.407573 ETH')
  assert.equal(coins('1', '407573540925921893', 18), '0.407573540925921893 ETH')
  assert.equal(coins('137', '1000000000000000000000'), '1,000 POL')
  // One wei is 10^-18; six places show down to 10^-6.
  assert.equal(coins('1', '1'), '<0.000001 ETH')
  assert.equal(coins('31337', '0'), '0 coins')
})

test('the amounts of a column have the same number of decimals', () => {
  const column = ['641000000000000000000', '17145000000000000', '0', '1'].map((wei) => coins('1', wei, 6, 6))
  assert.deepEqual(column, ['641.000000 ETH', '0.017145 ETH', '0.000000 ETH', '<0.000001 ETH'])
})
