import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#io/clock.ts'
import type { Duties } from '#store/duties.ts'
import { createKey } from '#store/keys.ts'
import { openContext } from '#test/context.ts'
import { openDemo } from './demo.ts'
import { contentsOf } from './mark.ts'

test('a folder with keys alone counts as empty, one with the demo world as demo, also when its making was cut short', async () => {
  await using context = await openContext()
  await createKey(context.state, { name: 'early', plan: 'free' }, context.clock, context.random)
  assert.equal(await contentsOf(context.state), 'nothing')
  const demo = await openDemo()
  try {
    let writes = 0
    const duties: Duties = {
      ...context.duties,
      // The chains of the two networks are written, and nothing else.
      update: (...args) => (writes++ < 2 ? context.duties.update(...args) : Promise.reject(new Error('cut short'))),
    }
    await assert.rejects(demo.load({ ...context, clock: systemClock, duties }), /cut short/)
    assert.equal(await contentsOf(context.state), 'demo')
    const samples = await demo.load({ ...context, clock: systemClock })
    assert.equal(samples.indices.length, 5)
    assert.deepEqual(await demo.load({ ...context, clock: systemClock }), samples)
  } finally {
    await demo.close()
  }
})
