import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDuties } from '#storage/open.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { dutiesOnThreads } from './store.ts'

test('threads share the connections for reads, at least two each', { skip: noPostgres }, async () => {
  await using postgres = await startPostgres()
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-duties-'))
  const options = { state: await postgres.schema(), stateConnections: 6 }
  const state = await openDuties(dir, options)
  const duties = dutiesOnThreads(state, { dir, options }, 2)
  try {
    const countAll = async () => {
      const row = await postgres.sql<{ n: number }>(
        "select count(*)::int as n from pg_stat_activity where application_name = 'tetrad'",
      )
      return row?.n ?? 0
    }
    const own = await countAll()
    await Promise.all(Array.from({ length: 100 }, () => duties.query('countRows', undefined)))
    const ofThreads = (await countAll()) - own
    // Each thread also has one that polls and one that writes.
    assert.ok(ofThreads > 2 && ofThreads <= 2 * (3 + 2), `${ofThreads} connections`)
  } finally {
    await duties.close()
    await state.close()
    await rm(dir, { recursive: true, force: true })
  }
})
