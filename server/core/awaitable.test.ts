import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { whenReady } from './awaitable.ts'

test('the next step runs at once for a value, and later for a promise', async () => {
  assert.equal(
    whenReady(1, (value) => value + 1),
    2,
  )
  const later = whenReady(Promise.resolve(1), (value) => value + 1)
  assert.ok(later instanceof Promise)
  assert.equal(await later, 2)
})
