// The table of the label search: it is prepared ahead, and an update does not disturb a search that is running.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { HistoryWriter } from '../../labels/history.ts'
import { putLabels, removeLabel } from '../../labels/labels.ts'
import { createTableRefresher } from './refresh-table.ts'
import { searchEntries, type TableContext } from './search-table.ts'

const change = (context: TestContext, work: (history: HistoryWriter) => Promise<unknown>) =>
  context.ingest.write((tx) => work(new HistoryWriter(tx, { by: 'ann', via: 'test', atMs: 1 })))

const putEntities = (context: TestContext, count: number, name: string) =>
  change(context, (history) =>
    putLabels(
      history,
      Array.from({ length: count }, (_, at) => ({ chain: '1', slug: `entity-${at}`, name: `${name} ${at}` })),
    ),
  )

const subjectsOf = async (context: TableContext, word: string, limit = 50) =>
  (await searchEntries(context, { words: [word], limit })).entries.map(({ subject }) => subject)

test('a search that is running does not see a change that another search applies', async () => {
  await using context = await openContext()
  // A search pauses after every 5000 entries.
  await putEntities(context, 40_000, 'old')
  assert.equal((await subjectsOf(context, 'old')).length, 50)
  const before = await context.ingest.get('select max(change) as change from label_changes')
  await change(context, async (history) => {
    await removeLabel(history, '1', 'entity-0')
    await putLabels(history, [{ chain: '1', slug: 'entity-0', name: 'old 0' }])
  })
  // It read the number of the last change just before the change.
  const earlier = { ...context, ingest: { ...context.ingest, get: async () => before } as typeof context.ingest }
  const first = subjectsOf(earlier, '0')
  for (let tick = 0; tick < 2; tick++) await nextEventLoopTurn()
  const second = subjectsOf(context, '0')
  for (const found of [await first, await second])
    assert.equal(found.filter((subject) => subject === 'entity-0').length, 1)
})

test('after a series of changes, the table is read again ahead of the next search, if there was one before', async () => {
  await using context = await openContext()
  let reads = 0
  const each: typeof context.ingest.each = (sql, ...values) => {
    reads += 1
    return context.ingest.each(sql, ...values)
  }
  const counting = { ...context, ingest: { ...context.ingest, each } }
  const refresh = createTableRefresher(counting)
  await putEntities(context, 10, 'first')
  for (let round = 0; round < 3; round++) await refresh()
  assert.equal(reads, 0, 'nobody has searched yet')
  await subjectsOf(counting, 'first')
  assert.equal(reads, 2)
  // More changes than are applied one by one.
  await putEntities(context, 3000, 'second')
  await refresh()
  assert.equal(reads, 2, 'changes may follow')
  await refresh()
  assert.equal(reads, 4)
  assert.equal((await subjectsOf(counting, 'second')).length, 50)
  await refresh()
  assert.equal(reads, 4)
})
