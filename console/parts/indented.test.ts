import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { indented } from './indented.ts'

test('only white space changes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(JSON.parse(indented(JSON.stringify(value))), JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('an integer beyond 2^53 keeps its digits, a bracket in a string stays there', () => {
  assert.equal(indented('{"a":12345678901234567890,"b":"x{,}:"}'), '{\n  "a": 12345678901234567890,\n  "b": "x{,}:"\n}')
})
