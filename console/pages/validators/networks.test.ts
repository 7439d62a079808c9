import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultNetwork } from './networks.ts'
import { parseView } from './view.ts'

const stream = (name: string, group: 'explorer' | 'validators' = 'validators') => ({ group, name })

test('the default network is the first with data; mainnet comes first', () => {
  assert.equal(defaultNetwork([stream('chain 1', 'explorer'), stream('network hoodi')]), 'hoodi')
  assert.equal(defaultNetwork([stream('network hoodi'), stream('network mainnet')]), 'mainnet')
  assert.equal(defaultNetwork([]), 'mainnet')
})

test('a valid network in the address overrides the default', () => {
  assert.equal(parseView(new URLSearchParams('network=holesky'), 'hoodi').network, 'holesky')
  assert.equal(parseView(new URLSearchParams(''), 'hoodi').network, 'hoodi')
  assert.equal(parseView(new URLSearchParams('network=Moon'), 'hoodi').network, 'hoodi')
})
