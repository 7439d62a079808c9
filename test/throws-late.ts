// A test file with an error that nothing catches, for test/groups.test.ts.

import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { failureNotes } from './failure-notes.ts'

failureNotes.add('The simulated beacon node is teku.')

describe('a suite that is defined asynchronously', async () => {
  await sleep(1)
  test('throws in a timer of a suite', () => {
    setTimeout(() => {
      throw new Error('in a timer')
    }, 1)
    return new Promise(() => {})
  })
})

test('passes', () => sleep(1))
