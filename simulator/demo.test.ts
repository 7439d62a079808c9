import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { Duties } from '#storage/duties.ts'
import { createKey } from '#storage/keys.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { onlyInLongRun } from '#test/long.ts'
import { type Demo, startDemo } from './demo.ts'
import { contentsOf } from './demo-mark.ts'

test('a folder with keys alone counts as empty, one with the demo world as demo, also when its making was cut short', async () => {
  await openCutShort(async (context) => assert.equal(await contentsOf(context.state), 'demo'))
})

test('a demo world that was cut short is made whole by the next start', { skip: onlyInLongRun }, async () => {
  await openCutShort(async (context, demo) => {
    const samples = await demo.load({ ...context, clock: systemClock })
    assert.equal(samples.indices.length, 5)
    assert.deepEqual(await demo.load({ ...context, clock: systemClock }), samples)
  })
})

async function openCutShort(work: (context: TestContext, demo: Demo) => Promise<void>): Promise<void> {
  await using context = await openContext()
  await createKey(context.state, { name: 'early', plan: 'free' }, context.clock, context.random)
  assert.equal(await contentsOf(context.state), 'nothing')
  const demo = await startDemo()
  try {
    let writes = 0
    const duties: Duties = {
      ...context.duties,
      // The chains of the two networks are written, and nothing else.
      update: (...args) => (writes++ < 2 ? context.duties.update(...args) : Promise.reject(new Error('cut short'))),
    }
    await assert.rejects(demo.load({ ...context, clock: systemClock, duties }), /cut short/)
    await work(context, demo)
  } finally {
    await demo.close()
  }
}
