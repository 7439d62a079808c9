import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDesk } from '#test/desk.ts'
import { isMoving, noteStep, stalledAfterMs } from './steps.ts'

test('a stream that this process reads moves with each step of it, for a quarter of an hour', async () => {
  await using desk = await openDesk()
  assert.equal(isMoving(desk, 'chain 1', 7), false)
  noteStep(desk, 'chain 1')
  desk.clock.move(stalledAfterMs)
  assert.equal(isMoving(desk, 'chain 1', 7), true)
  desk.clock.move(1)
  assert.equal(isMoving(desk, 'chain 1', 7), false)
})

test('one that another process reads moves when it has come further since the last look', async () => {
  await using desk = await openDesk()
  assert.equal(isMoving(desk, 'chain 1', 7), false)
  assert.equal(isMoving(desk, 'chain 1', 8), true)
  assert.equal(isMoving(desk, 'chain 2', 8), false)
  desk.clock.move(stalledAfterMs + 1)
  assert.equal(isMoving(desk, 'chain 1', 8), false)
})
