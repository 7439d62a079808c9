// A test file that leaves a timer running, for test/groups.test.ts.
import { test } from 'node:test'

test('passes, and leaves a timer running', () => {
  setInterval(() => {}, 60_000)
})
