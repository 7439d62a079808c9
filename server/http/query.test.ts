import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { namesMax, type QueryRules, readQuery, valuesPerNameMax } from './query.ts'

const exact: QueryRules = { listsMax: new Map([['indices', 10_000]]), anyCase: false }
const anyCase: QueryRules = { listsMax: new Map(), anyCase: true }

const read = (text: string, rules = exact) => ({ ...readQuery([text], rules) })
const refusal = (text: string, rules = exact): Fault => {
  try {
    readQuery([text], rules)
  } catch (error) {
    assert.ok(error instanceof Fault)
    return error
  }
  return assert.fail('it was not refused')
}

test('repeated names become lists in order; others are strings', () => {
  assert.deepEqual(read('a=1&b=2&a=3&c&a='), { a: ['1', '3', ''], b: '2', c: '' })
  assert.deepEqual(read('&&a=1&&'), { a: '1' })
  assert.deepEqual(read('=x&a=b=c'), { '': 'x', a: 'b=c' })
  assert.deepEqual(read(''), {})
  assert.deepEqual({ ...readQuery(['A=1', 'a=2'], anyCase) }, { a: ['1', '2'] })
  assert.deepEqual(read('__proto__=1').a, undefined)
})

test('percent-encoding and plus signs are decoded; malformed encoding stays unchanged', () => {
  assert.deepEqual(read('a+b=c%20d%C3%A9&e=%zz&f=100%'), { 'a b': 'c dé', e: '%zz', f: '100%' })
  assert.deepEqual(read('%61=1&a=%3D%26'), { a: ['1', '=&'] })
})

test('up to 64 names and 64 values per name are accepted', () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`).join('&')
  assert.equal(Object.keys(read(names(namesMax))).length, 64)
  assert.match(refusal(names(namesMax + 1)).publicMessage, /more than 64 different parameters/)
  assert.equal(read('a&'.repeat(valuesPerNameMax)).a?.length, 64)
  assert.deepEqual(refusal('a&'.repeat(valuesPerNameMax + 1)).problems, [
    { at: ['query', 'a'], message: 'must not be given more than 64 times', value: undefined },
  ])
  assert.equal(refusal('A&a&'.repeat(valuesPerNameMax), anyCase).code, 'input.invalid')
  assert.equal(refusal(`${'n'.repeat(5000)}&`.repeat(65)).problems[0]?.at[1]?.length, 64)
})

test('lists may have the length that the contract allows', () => {
  assert.equal(read('indices=1&'.repeat(10_000)).indices?.length, 10_000)
  assert.equal(refusal('indices=1&'.repeat(10_001)).code, 'input.invalid')
})

/** The number of array elements written while `work` runs, including copies. */
function elementsWritten(work: () => void): number {
  let count = 0
  const methods = Array.prototype as unknown as Record<string, (...given: unknown[]) => unknown>
  const originals = ['push', 'concat', 'flat', 'slice'].map((name) => [name, methods[name]] as const)
  for (const [name, original] of originals) {
    methods[name] = function (...given) {
      const result = original?.apply(this, given)
      count += name === 'push' ? given.length : (result as unknown[]).length
      return result
    }
  }
  try {
    work()
  } finally {
    for (const [name, original] of originals) if (original) methods[name] = original
  }
  return count
}

test('parsing takes linear time and stops at the limit', () => {
  const written = (values: number) => elementsWritten(() => readQuery(['indices=1&'.repeat(values)], exact))
  assert.ok(written(5000) <= 5000)
  assert.ok(written(10_000) <= 10_000)
  const refused = elementsWritten(() => refusal('a&'.repeat(32_768), anyCase))
  assert.ok(refused <= valuesPerNameMax, `${refused}`)
})
