import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLike, parseSearch } from './search.ts'

test('an index or a whole key names one validator', () => {
  assert.deepEqual(parseSearch(' 1232 '), { is: 'one', id: '1232' })
  const key = 'ab'.repeat(48)
  assert.deepEqual(parseSearch(key), { is: 'one', id: key })
  assert.deepEqual(parseSearch(`0x${key}`), { is: 'one', id: `0x${key}` })
})

test('an address may have paid for validators or be paid by them', () => {
  const value = `0x${'Ab'.repeat(20)}`
  assert.deepEqual(parseSearch(value), { is: 'some', by: ['depositAddress', 'withdrawalAddress'], value })
})

test('six digits of a key are enough, fewer and everything else is a name', () => {
  assert.deepEqual(parseSearch('0xabcdef'), { is: 'some', by: ['pubkey'], value: '0xabcdef' })
  for (const value of ['0xabc', 'facade', 'Lantern Pool', '12 Oaks', '-1'])
    assert.deepEqual(parseSearch(value), { is: 'some', by: ['pool', 'nodeOperator'], value })
  assert.deepEqual(parseSearch('  '), { is: 'nothing' })
})

test('a name is like another that is part of it, in whatever case', () => {
  assert.ok(isLike('Lantern Pool', ' lantern '))
  assert.ok(!isLike('Lantern Pool', 'harbour'))
})
