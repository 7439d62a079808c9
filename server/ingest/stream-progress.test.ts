import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext } from '#test/context.ts'
import { isProgressing, recordStep, stalledAfterMs } from './stream-progress.ts'

test('a stream of this process makes progress for 15 minutes after each step', async () => {
  await using context = await openContext()
  assert.equal(isProgressing(context, 'chain 1', 7), false)
  recordStep(context, 'chain 1')
  context.clock.advance(stalledAfterMs)
  assert.equal(isProgressing(context, 'chain 1', 7), true)
  context.clock.advance(1)
  assert.equal(isProgressing(context, 'chain 1', 7), false)
})

test('a clock that is set back does not extend the progress of a stream', async () => {
  await using context = await openContext()
  context.clock.wrongByMs = 86_400_000
  recordStep(context, 'chain 1')
  context.clock.wrongByMs = 0
  context.clock.advance(stalledAfterMs + 1)
  assert.equal(isProgressing(context, 'chain 1', 7), false)
})

test('a stream of another process makes progress if its position has changed since the last check', async () => {
  await using context = await openContext()
  assert.equal(isProgressing(context, 'chain 1', 7), false)
  assert.equal(isProgressing(context, 'chain 1', 8), true)
  assert.equal(isProgressing(context, 'chain 2', 8), false)
  context.clock.advance(stalledAfterMs + 1)
  assert.equal(isProgressing(context, 'chain 1', 8), false)
})
