import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeEvidence } from './describe-evidence.ts'

test('a rule names its selector, a registry what it knows', () => {
  const describe = (kind: 'rule' | 'registry' | 'label', source: string, rule: string) =>
    describeEvidence({ kind, source, rule })
  assert.equal(describe('rule', 'pools.csv', 'index'), 'by a rule of pools.csv (index)')
  const byAddress = 'by the registry rocket-pool on the chain, which knows its withdrawal address'
  assert.equal(describe('registry', 'rocket-pool', 'withdrawalAddress'), byAddress)
  assert.equal(describe('label', 'labels', 'withdrawalAddress'), 'by the label of its withdrawal address')
  assert.equal(describe('label', 'labels', `depositAddress 0x${'1'.repeat(40)}`), 'by the label of its deposit address')
  const byKey = 'by the registry lido on the chain, which knows its key and its withdrawal address'
  assert.equal(describe('registry', 'lido', 'pubkey'), byKey)
})
