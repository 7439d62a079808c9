import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interpretSearch } from './interpret.ts'

test('a text is interpreted by its form; a number can be a validator or a market', () => {
  const hex = (digits: number) => `0x${'aB'.repeat(digits / 2)}`
  assert.deepEqual(interpretSearch(`  ${hex(40)} `), { address: hex(40).toLowerCase() })
  assert.deepEqual(interpretSearch(hex(96).slice(2)), { pubkey: hex(96).toLowerCase() })
  assert.deepEqual(interpretSearch('12'), { validatorIndex: 12, marketId: '12' })
  assert.deepEqual(interpretSearch(hex(64)), { transaction: hex(64).toLowerCase(), pubkey: hex(64).toLowerCase() })
  for (const text of ['validator 12', 'Validator #12', 'validator12'])
    assert.deepEqual(interpretSearch(text), { validatorIndex: 12 })
  const quote = '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c'
  assert.deepEqual(interpretSearch(quote.toUpperCase()), { quote })
  assert.deepEqual(interpretSearch('0xabcdef'), { words: '0xabcdef', pubkey: '0xabcdef' })
  assert.deepEqual(interpretSearch('0xabc'), { words: '0xabc' })
  assert.deepEqual(interpretSearch('facade'), { words: 'facade' })
  assert.deepEqual(interpretSearch('Harbour bridge'), { words: 'Harbour bridge' })
  assert.deepEqual(interpretSearch('  '), {})
})

test('a key and a sign-in link are not searched', () => {
  for (const secret of ['tetrad:demo:AAAA', ' tetrad:x:', '/#/sign-in/link_abc'])
    assert.deepEqual(interpretSearch(secret), {})
})
