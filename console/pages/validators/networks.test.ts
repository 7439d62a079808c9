import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lookOf } from './look.ts'
import { usualNetwork } from './networks.ts'

const stream = (name: string, group: 'explorer' | 'validators' = 'validators') => ({ group, name })

test('without a word in the address, the network that is read here is looked at; mainnet goes before the others', () => {
  assert.equal(usualNetwork([stream('chain 1', 'explorer'), stream('network hoodi')]), 'hoodi')
  assert.equal(usualNetwork([stream('network hoodi'), stream('network mainnet')]), 'mainnet')
  assert.equal(usualNetwork([]), 'mainnet')
})

test('an address that names a network is followed', () => {
  assert.equal(lookOf(new URLSearchParams('network=holesky'), 'hoodi').network, 'holesky')
  assert.equal(lookOf(new URLSearchParams(''), 'hoodi').network, 'hoodi')
  assert.equal(lookOf(new URLSearchParams('network=moon'), 'hoodi').network, 'hoodi')
})
