import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Result } from './batch.ts'
import { notTestedLine } from './summary.ts'

test('the last line of a run counts what was not tested by reason', () => {
  const result = (outcome: Result['outcome'], reason?: string): Result => ({
    ...{ file: 'a.test.ts', name: 'a', outcome },
    ...(reason !== undefined && { reason }),
  })
  const results = [
    result('passed'),
    result('skipped', 'Redis is not installed'),
    result('skipped', 'only in the long run'),
    result('skipped', 'Redis is not installed'),
  ]
  assert.equal(
    notTestedLine(results, ['group browser: pages']),
    'NOT TESTED: group browser: pages; 2 (Redis is not installed); 1 (only in the long run)\n',
  )
  assert.equal(notTestedLine([result('passed')], []), '')
})
