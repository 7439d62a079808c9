import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#io/clock.ts'
import type { Facts } from '#store/facts.ts'
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
    const facts: Facts = {
      engine: desk.facts.engine,
      query: (sql, values, lists) => desk.facts.query(sql, values, lists),
      aside: desk.facts.aside,
      now: () => desk.facts.now(),
      // The two networks' chains are told, and that is all.
      write: (work) => (writes++ < 2 ? desk.facts.write(work) : Promise.reject(new Error('cut short'))),
      version: () => undefined,
      close: async () => {},
    }
    await assert.rejects(demo.load({ ...desk, clock: systemClock, facts }), /cut short/)
    assert.equal(await contentsOf(desk.state), 'demo')
    const samples = await demo.load({ ...desk, clock: systemClock })
    assert.equal(samples.indices.length, 5)
    assert.deepEqual(await demo.load({ ...desk, clock: systemClock }), samples)
  } finally {
    await demo.close()
  }
})
