// Which rule names a field.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { openEnd } from './periods.ts'
import { presentRules, resolveRules, sortByPrecedence } from './resolve-rules.ts'
import type { StoredRule } from './rules.ts'

const rule = (changes: Partial<StoredRule>): StoredRule => ({
  ...{ selector: 'index', value: '7', days: undefined, kind: 'rule', source: 'a.csv', revision: 1 },
  ...{ pool: null, subpool: null, nodeOperators: null, dvtNetwork: null, dvtOperators: null },
  ...changes,
})

test('rules come before registries and labels, narrow selectors before wide ones, the configuration before imports, new before old', () => {
  const inOrder = [
    rule({ source: 'configuration', pool: 'index, configured' }),
    rule({ pool: 'index, newer', revision: 9, source: 'b.csv' }),
    rule({ pool: 'index, older', revision: 8 }),
    rule({ selector: 'indices', value: '0-9', pool: 'range' }),
    rule({ selector: 'withdrawalAddress', value: '0xab', pool: 'withdrawal, configured', source: 'configured file' }),
    rule({ selector: 'withdrawalAddress', value: '0xab', pool: 'withdrawal', revision: 20 }),
    rule({ selector: 'depositAddress', value: '0xcd', pool: 'deposit', revision: 30 }),
    rule({ kind: 'registry', source: 'registry', pool: 'registry', revision: 40 }),
    rule({ kind: 'label', source: 'label', pool: 'label', revision: 50 }),
  ]
  const names = inOrder.map(({ pool }) => pool)
  for (let shift = 0; shift < inOrder.length; shift++) {
    const shifted = [...inOrder.slice(shift), ...inOrder.slice(0, shift)]
    assert.deepEqual(
      sortByPrecedence(shifted).map(({ pool }) => pool),
      names,
    )
  }
})

test('each field has the value of the first rule that names it; an empty list names none', () => {
  const rules = [
    rule({ pool: 'North' }),
    rule({ selector: 'withdrawalAddress', value: '0xab', pool: 'South', nodeOperators: ['A'], dvtOperators: [] }),
    rule({ kind: 'registry', nodeOperators: ['B'], dvtNetwork: 'Braid', dvtOperators: ['C'] }),
  ]
  const [pool, operators, dvt] = resolveRules(7, rules, 0)
  assert.deepEqual([pool?.value?.name, pool?.value?.rule], ['North', 'index'])
  assert.deepEqual([operators?.value?.operators, operators?.value?.rule], [['A'], 'withdrawalAddress'])
  assert.equal(dvt?.value, null)
  assert.equal(presentRules(sortByPrecedence(rules)).dvt?.selector, 'withdrawalAddress')
})

test('a rule with days applies when they have begun, and is in force until they end', () => {
  const rules = [rule({ pool: 'North' }), rule({ pool: 'South', days: { from: 3, until: 5 } })]
  const poolsOn = (day: number) =>
    resolveRules(7, rules, day)
      .filter(({ field }) => field === 'pool')
      .map(({ value, days }) => [value?.name, days?.from, days?.until])
  const present = ['North', undefined, undefined]
  assert.deepEqual(poolsOn(2), [present])
  assert.deepEqual(poolsOn(3), [present, ['South', 3, openEnd]])
  assert.deepEqual(poolsOn(4), [present, ['South', 3, openEnd]])
  assert.deepEqual(poolsOn(5), [present, ['South', 3, 5]])
})
