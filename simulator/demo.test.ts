import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { Duties } from '#storage/duties.ts'
import { createKey } from '#storage/keys.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { onlyInLongRun } from '#test/long.ts'
import { type Demo, startDemo } from './demo.ts'
import { contentsOf } from './demo-mark.ts'

test('a folder with keys only is empty; one with incomplete demo data is a demo', async () => {
  await withInterruptedLoad(async (context) => assert.equal(await contentsOf(context.state), 'demo'))
})

test('the next start completes an interrupted load', { skip: onlyInLongRun }, async () => {
  await withInterruptedLoad(async (context, demo) => {
    const samples = await demo.load({ ...context, clock: systemClock })
    assert.equal(samples.indices.length, 5)
    assert.deepEqual(await demo.load({ ...context, clock: systemClock }), samples)
  })
})

async function withInterruptedLoad(work: (context: TestContext, demo: Demo) => Promise<void>): Promise<void> {
  await using context = await openContext()
  await createKey(context.state, { name: 'early', plan: 'free' }, context.clock, context.random)
  assert.equal(await contentsOf(context.state), 'nothing')
  const demo = await startDemo()
  try {
    let writes = 0
    const duties: Duties = {
      ...context.duties,
      // Only the chains of the two networks are written.
      update: (...args) => (writes++ < 2 ? context.duties.update(...args) : Promise.reject(new Error('interrupted'))),
    }
    await assert.rejects(demo.load({ ...context, clock: systemClock, duties }), /interrupted/)
    await work(context, demo)
  } finally {
    await demo.close()
  }
}
