import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Result } from './batch.ts'
import { toRepeat, withFirstFailures } from './repeat.ts'
import { notTestedLine, summaryOf } from './summary.ts'

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

const failing: Result = { file: 'a.test.ts', name: 'waits', outcome: 'failed', reason: 'Error: too late' }
const passing: Result = { file: 'a.test.ts', name: 'waits', outcome: 'passed' }

test('a process that fails is repeated, unless it ran alone, many fail, or a long run asks for every failure', () => {
  const failed = (name: string) => ({ name, results: [failing] })
  const passed = { name: 'passed', results: [passing] }
  assert.deepEqual(toRepeat([passed, failed('b')], false), [failed('b')])
  assert.deepEqual(toRepeat([failed('b')], false), [])
  assert.deepEqual(toRepeat([passed, failed('b')], true), [])
  assert.deepEqual(toRepeat(['a', 'b', 'c', 'd'].map(failed), false), [])
})

test('a test that passes only when repeated is named with its first failure', () => {
  const ended: Result = { file: 'b.test.ts', name: 'unit ended with 1', outcome: 'failed', reason: 'Killed' }
  const second = { name: 'unit', results: [passing, { file: 'b.test.ts', name: 'adds', outcome: 'passed' } as const] }
  const { results } = withFirstFailures({ name: 'unit', results: [failing, ended] }, second)
  const text = summaryOf(results, [])
  assert.match(text, /UNSTABLE, passed only alone: a\.test\.ts: waits\n {4}Error: too late\n/)
  assert.match(text, /UNSTABLE, passed only alone: b\.test\.ts: unit ended with 1\n {4}Killed\n/)
  const failedAgain = withFirstFailures({ name: 'unit', results: [failing] }, { name: 'unit', results: [failing] })
  assert.deepEqual(failedAgain.results, [failing])
})
