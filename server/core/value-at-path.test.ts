import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valueAtPath } from './value-at-path.ts'

const document = { data: { list: [{ price: '1.08' }] }, none: null }

for (const [path, expected] of [
  ['', document],
  ['data.list.0.price', '1.08'],
  ['data.missing.price', undefined],
  ['none.price', undefined],
  ['data.constructor', undefined],
  ['__proto__.toString', undefined],
] as const) {
  test(`"${path}"`, () => assert.deepEqual(valueAtPath(document, path), expected))
}
