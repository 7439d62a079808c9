import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { indentJson } from './indent-json.ts'

test('indenting changes only white space', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(JSON.parse(indentJson(JSON.stringify(value))), JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('integers beyond 2^53 keep their digits, and brackets inside strings are not indented', () => {
  assert.equal(
    indentJson('{"a":12345678901234567890,"b":"x{,}:"}'),
    '{\n  "a": 12345678901234567890,\n  "b": "x{,}:"\n}',
  )
})
