import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext } from '#test/context.ts'
import { importLabels } from './import-labels.ts'
import { stagedRecordsMin } from './staging.ts'

test('a large import reports how many records there are, and each batch of them', async () => {
  await using context = await openContext()
  const count = stagedRecordsMin + 500
  const entities = Array.from({ length: count }, (_, at) => ({ chains: ['1'], slug: `entity-${at}`, name: `E ${at}` }))
  const author = { by: 'ann', via: 'test', atMs: context.clock.now() }
  const importAll = async () => {
    let planned = 0
    const steps: number[] = []
    await importLabels(context.ingest, author, JSON.stringify({ entities }), {
      ...{ format: 'json', source: 'import', everyChain: ['1'] },
      progress: { plan: (records) => (planned += records), step: (records) => steps.push(records) },
    })
    return { planned, steps, done: steps.reduce((sum, step) => sum + step, 0) }
  }
  // Records that are stored already count too.
  for (let times = 0; times < 2; times++) {
    const { planned, steps, done } = await importAll()
    assert.deepEqual([planned, done], [count, count])
    assert.ok(steps.length > 10, String(steps.length))
  }
})
