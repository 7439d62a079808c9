import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureFields } from './failure-fields.ts'

test('the location is a path in the project, also if a folder above it has the name of one of its folders', () => {
  const error = new Error('broken')
  error.stack =
    'Error: broken\n    at f (file:///srv/api/server/http/render.ts:12:3)\n    at g (file:///srv/api/cli/main.ts:1:1)'
  assert.equal(failureFields(error).location, 'server/http/render.ts:12')
})
