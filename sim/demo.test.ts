import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#io/clock.ts'
import type { Duties } from '#store/duties.ts'
import { createKey } from '#store/keys.ts'
import { openDesk } from '#test/desk.ts'
import { openDemo } from './demo.ts'
import { contentsOf } from './mark.ts'

test('a folder with keys alone counts as empty, one with the demo world as demo, also when its making was cut short', async () => {
  await using desk = await openDesk()
  await createKey(desk.state, { name: 'early', plan: 'free' }, desk.clock, desk.random)
  assert.equal(await contentsOf(desk.state), 'nothing')
  const demo = await openDemo()
  try {
    let writes = 0
    const duties: Duties = {
      ...desk.duties,
      // The chains of the two networks are written, and nothing else.
      update: (...args) => (writes++ < 2 ? desk.duties.update(...args) : Promise.reject(new Error('cut short'))),
    }
    await assert.rejects(demo.load({ ...desk, clock: systemClock, duties }), /cut short/)
    assert.equal(await contentsOf(desk.state), 'demo')
    const samples = await demo.load({ ...desk, clock: systemClock })
    assert.equal(samples.indices.length, 5)
    assert.deepEqual(await demo.load({ ...desk, clock: systemClock }), samples)
  } finally {
    await demo.close()
  }
})
