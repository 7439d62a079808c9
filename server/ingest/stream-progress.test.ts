import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext } from '#test/context.ts'
import { isMoving, noteStep, stalledAfterMs } from './stream-progress.ts'

test('a stream that this process reads moves with each step of it, for a quarter of an hour', async () => {
  await using context = await openContext()
  assert.equal(isMoving(context, 'chain 1', 7), false)
  noteStep(context, 'chain 1')
  context.clock.advance(stalledAfterMs)
  assert.equal(isMoving(context, 'chain 1', 7), true)
  context.clock.advance(1)
  assert.equal(isMoving(context, 'chain 1', 7), false)
})

test('one that another process reads moves when it has come further since the last look', async () => {
  await using context = await openContext()
  assert.equal(isMoving(context, 'chain 1', 7), false)
  assert.equal(isMoving(context, 'chain 1', 8), true)
  assert.equal(isMoving(context, 'chain 2', 8), false)
  context.clock.advance(stalledAfterMs + 1)
  assert.equal(isMoving(context, 'chain 1', 8), false)
})
