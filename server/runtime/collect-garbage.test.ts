import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextEventLoopTurn } from './clock.ts'
import { collectGarbage } from './collect-garbage.ts'

test('what nothing refers to is gone', async () => {
  const kept = { rows: [1] }
  const garbage = Array.from({ length: 100 }, () => new WeakRef({ rows: [1] }))
  const reference = new WeakRef(kept)
  // In its own turn, a WeakRef keeps its object.
  await nextEventLoopTurn()
  await collectGarbage()
  assert.equal(garbage.filter((garbageReference) => garbageReference.deref()).length, 0)
  assert.equal(reference.deref(), kept)
})
