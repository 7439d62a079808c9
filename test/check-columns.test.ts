import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext } from './context.ts'

test('a context of tests refuses to read a column that the query does not return', async () => {
  await using context = await openContext()
  const sql = "select 'a' as name"
  const misspelt = /the column nam is read, but not returned by: select 'a' as name/
  const row = await context.state.get<{ name: string; nam?: string }>(sql)
  assert.deepEqual(row, { name: 'a' })
  assert.throws(() => row?.nam, misspelt)
  const [inTransaction] = await context.ingest.write((tx) => tx.all<{ nam?: string }>(sql))
  assert.throws(() => inTransaction?.nam, misspelt)
})
