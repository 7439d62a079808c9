import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSearch } from './search.ts'

test('an index or a complete public key identifies one validator', () => {
  assert.deepEqual(parseSearch(' 1232 '), { kind: 'one', id: '1232' })
  const key = 'ab'.repeat(48)
  assert.deepEqual(parseSearch(key), { kind: 'one', id: key })
  assert.deepEqual(parseSearch(`0x${key}`), { kind: 'one', id: `0x${key}` })
})

test('an address is searched as deposit address and as withdrawal address', () => {
  const value = `0x${'Ab'.repeat(20)}`
  assert.deepEqual(parseSearch(value), { kind: 'some', by: ['depositAddress', 'withdrawalAddress'], value })
})

test('six digits after 0x are searched as a public key; anything shorter or else is a name', () => {
  assert.deepEqual(parseSearch('0xabcdef'), { kind: 'some', by: ['pubkey'], value: '0xabcdef' })
  for (const value of ['0xabc', 'facade', 'Lantern Pool', '12 Oaks', '-1'])
    assert.deepEqual(parseSearch(value), { kind: 'name', value })
  assert.deepEqual(parseSearch('  '), { kind: 'empty' })
})
