import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext, testNowMs } from '#test/context.ts'
import type { FieldProblem } from '../records/normalize.ts'
import { DriftCount, listDrift } from './drift.ts'

const unknown = (field: string): FieldProblem => ({ field, value: 1, problem: 'unknown' })

test('the number of fields is limited, also within one batch; known fields are still counted', async () => {
  await using context = await openContext()
  const store = (...fields: string[]) => {
    const drift = new DriftCount()
    drift.add('market', fields.map(unknown))
    return context.ingest.write((tx) => drift.store(tx, 'main', testNowMs))
  }
  await store('first')
  await store(...Array.from({ length: 3000 }, (_, at) => `field ${at}`), 'first')
  await store('first', 'late')
  const rows = await listDrift(context.ingest)
  assert.equal(rows.length, 2000)
  assert.equal(rows.find(({ field }) => field === 'first')?.records, 3)
  assert.ok(!rows.some(({ field }) => field === 'late'))
})
