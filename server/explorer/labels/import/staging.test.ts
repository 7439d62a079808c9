// Staged imports have the same result as one transaction.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { State } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { searchEntries } from '../../extensions/label-search/search-table.ts'
import { HistoryWriter, readHistory } from '../history.ts'
import { putLabels, readListHead } from '../labels.ts'
import { putTags } from '../tags.ts'
import { importLabels } from './import-labels.ts'
import { stagedRecordsMin } from './staging.ts'

const count = stagedRecordsMin + 500
const address = (number: number) => `0x${number.toString(16).padStart(40, '0')}`
const author = (context: TestContext) => ({ by: 'ann', via: 'import labels', atMs: context.clock.now() })

/** Entities on two chains and their addresses, as JSON. `version` changes a third of them. */
function file(version = 0): string {
  const entities = Array.from({ length: count / 2 }, (_, at) => ({
    chains: at % 5 === 0 ? ['1', '137'] : ['1'],
    slug: `entity-${at}`,
    name: `Entity ${at}${at % 3 === 0 && version > 0 ? ` (${version})` : ''}`,
  }))
  const addresses = Array.from({ length: count / 2 }, (_, at) => ({
    chain: '1',
    address: address(at),
    name: `Wallet ${at}`,
    entity: at % 7 === 0 ? '' : `entity-${at}`,
    confidence: at % 3 === 0 ? 50 + version : 50,
  }))
  return JSON.stringify({ entities, addresses })
}

const importText = (context: TestContext, text: string, state: State = context.ingest) =>
  importLabels(state, author(context), text, { format: 'json', source: 'import', everyChain: ['1'] })

const tables = ['labels', 'tagged_addresses', 'label_lists', 'label_changes', 'label_history'] as const

async function registryOf({ ingest }: TestContext): Promise<object> {
  const rows = tables.map(
    async (table) => [table, await ingest.all(`select * from ${table} order by 1, 2, 3`)] as const,
  )
  return Object.fromEntries(await Promise.all(rows))
}

const staged = async ({ ingest }: TestContext) =>
  (
    await ingest.get<{ rows: number }>(
      'select (select count(*) from label_import_rows) + (select count(*) from label_imports) as rows',
    )
  )?.rows

/** The result of the same patches in one transaction. */
async function atOnce(context: TestContext, text: string): Promise<void> {
  const { entities, addresses } = JSON.parse(text)
  await context.ingest.write(async (tx) => {
    const history = new HistoryWriter(tx, author(context))
    await putLabels(
      history,
      entities.flatMap(({ chains, ...rest }: { chains: string[] }) => chains.map((chain) => ({ chain, ...rest }))),
    )
    await putTags(
      history,
      addresses.map((one: object) => ({ source: 'import', ...one })),
    )
  })
}

test('a staged import has the same result as one transaction, including history and revisions', async () => {
  await using one = await openContext()
  await using other = await openContext()
  for (const version of [0, 1, 1]) {
    await importText(one, file(version))
    await atOnce(other, file(version))
    assert.deepEqual(await registryOf(one), await registryOf(other))
    assert.equal(await staged(one), 0)
    for (const context of [one, other]) context.clock.advance(60_000)
  }
})

test('importing the same file again changes nothing and leaves no history', async () => {
  await using context = await openContext()
  const first = await importText(context, file())
  assert.deepEqual(first.addresses, { added: count / 2, changed: 0, unchanged: 0 })
  const before = await registryOf(context)
  const again = await importText(context, file())
  assert.deepEqual([again.entities.added, again.entities.changed, again.addresses.unchanged], [0, 0, count / 2])
  assert.deepEqual(await registryOf(context), before)
})

test('an address with an unknown entity is rejected with its line', async () => {
  await using context = await openContext()
  const text = file().replace('"entity":"entity-8"', '"entity":"nobody"')
  const { rejects, addresses } = await importText(context, text)
  assert.equal(addresses.added, count / 2 - 1)
  assert.match(rejects[0]?.reason ?? '', /no entity nobody/)
  assert.equal(await staged(context), 0)
})

/** Runs something before the nth transaction of the store. */
function withInterference(state: State, before: (write: number) => Promise<void>): State {
  let writes = 0
  const write: State['write'] = async (work, options) => {
    await before(writes++)
    return state.write(work, options)
  }
  return new Proxy(state, {
    get: (target, name) => {
      const value = name === 'write' ? write : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test('rule 1: a concurrent edit is neither lost nor overwritten', async () => {
  await using context = await openContext()
  await importText(context, file())
  let edits = 0
  const rename = async (write: number) => {
    // During the first attempt.
    if (write !== 2 || edits++ > 0) return
    await context.ingest.write((tx) => putLabels(new HistoryWriter(tx, { ...author(context), by: 'bob' }), [renamed]))
  }
  const renamed = { chain: '1', slug: 'entity-4', name: 'Renamed', notes: 'by bob' }
  const { entities } = await importText(context, file(1), withInterference(context.ingest, rename))
  assert.equal(edits, 1)
  const [row] = await context.ingest.all<{ name: string; notes: string }>(
    "select name, notes from labels where chain = '1' and slug = 'entity-4'",
  )
  assert.deepEqual(row, { name: 'Entity 4', notes: 'by bob' }, 'the file names it again, and leaves the notes alone')
  const changed = Array.from({ length: count / 2 }, (_, at) => at).filter((at) => at % 3 === 0)
  const rows = changed.length + changed.filter((at) => at % 5 === 0).length
  assert.equal(entities.changed, rows + 1)
})

test('an import whose clock is days ahead takes nothing from one that is running', async () => {
  await using context = await openContext()
  await importText(context, file())
  const clock = new ManualClock(context.clock.now() + 2 * 86_400_000)
  let others = 0
  const importMeanwhile = async (write: number) => {
    if (write === 3 && others++ === 0) await importText({ ...context, clock }, file())
  }
  await importText(context, file(1), withInterference(context.ingest, importMeanwhile))
  assert.equal(others, 1)
  const { entities } = await importText(context, file(1))
  assert.deepEqual([entities.added, entities.changed], [0, 0], 'all rows were stored')
})

test('if the registry keeps changing, the import falls back to one transaction', async () => {
  await using context = await openContext()
  let edits = 0
  const restless = () =>
    context.ingest
      .write((tx) => putLabels(new HistoryWriter(tx, author(context)), [{ chain: '7', slug: `restless-${edits++}` }]))
      .then(() => undefined)
  const { addresses } = await importText(context, file(), withInterference(context.ingest, restless))
  assert.deepEqual([addresses.added, await staged(context)], [count / 2, 0])
})

test('rule 2: nothing is visible before the merge; rule 3: a later import deletes what a crash left', async () => {
  await using context = await openContext()
  const crash = async (write: number) => {
    if (write === 3) throw new Error('killed')
  }
  await assert.rejects(importText(context, file(), withInterference(context.ingest, crash)), /killed/)
  assert.equal(await readListHead(context.ingest, '1'), undefined)
  await context.ingest.write((tx) => tx.run('insert into label_imports (change, at_ms) values (900, 5)'))
  await context.ingest.write(async (tx) => {
    await tx.run(
      `insert into label_import_rows (change, item, kind, chain, slug, name, updated_unix)
       values (900, 0, 'entity', '1', 'left-over', 'Left over', 1)`,
    )
    await tx.run(
      `insert into label_history (change, item, kind, chain, subject, source, action)
       values (900, 0, 'entity', '1', 'left-over', '', 'added')`,
    )
  })
  assert.deepEqual(await readHistory(context.ingest, { limit: 10 }), [])
  context.clock.advance(2 * 86_400_000)
  await importText(context, file())
  assert.equal(await staged(context), 0)
  for (const [table, column] of [
    ['labels', 'slug'],
    ['label_history', 'subject'],
  ] as const)
    assert.deepEqual(await context.ingest.all(`select 1 from ${table} where ${column} = 'left-over'`), [], table)
})

test('no transaction writes history and labels of a large import, or more than 1000 rows of either', async () => {
  await using context = await openContext()
  const transactions: Record<string, number>[] = []
  const state = stateWith(context.ingest, {
    write: async (work, options) => {
      let rows: Record<string, number> = {}
      const result = await context.ingest.write(async (tx) => {
        rows = {}
        const count = (table: string, added: number) => {
          rows[table] = (rows[table] ?? 0) + added
        }
        const run: typeof tx.run = async (sql, ...values) => {
          const changed = await tx.run(sql, ...values)
          const table = /^\s*insert into (\w+)/.exec(sql)?.[1]
          if (table !== undefined && changed > 1) count(table, changed)
          return changed
        }
        const insertMany: typeof tx.insertMany = (table, columns, added, ...rest) => {
          count(table, added.length)
          return tx.insertMany(table, columns, added, ...rest)
        }
        return work({ ...tx, insertMany, run })
      }, options)
      if (Object.keys(rows).length > 0) transactions.push(rows)
      return result
    },
  })
  await importText(context, file(), state)
  // Each entity with a number that is a multiple of five is on two chains.
  const entities = (count / 2) * 1.2
  const merge = transactions.pop()
  assert.deepEqual(merge, { labels: entities, tagged_addresses: count / 2 })
  assert.ok(transactions.length >= (entities + count / 2) / 1000)
  for (const rows of transactions) {
    assert.deepEqual(Object.keys(rows), ['label_import_rows', 'label_history'])
    for (const rowCount of Object.values(rows)) assert.ok(rowCount <= 1000, `${rowCount} rows`)
  }
})

test('while an import is under way, a search and the history show neither its rows nor its number', async () => {
  await using context = await openContext()
  const before = { chain: '1', slug: 'before', name: 'Harbour before' }
  const put = (patch: typeof before) =>
    context.ingest.write((tx) => putLabels(new HistoryWriter(tx, { ...author(context), by: 'bob' }), [patch]))
  const search = async () =>
    (await searchEntries(context, { words: ['entity'], limit: 3 })).entries.map(({ subject }) => subject)
  await put(before)
  assert.deepEqual(await search(), [])
  let checks = 0
  const check = async (write: number) => {
    // After the first rows of the first attempt. The edit makes its number older than the newest change.
    if (write !== 2 || checks++ > 0) return
    await put({ chain: '1', slug: 'meanwhile', name: 'Harbour meanwhile' })
    assert.deepEqual(await search(), [])
    const subjects = (await readHistory(context.ingest, { limit: 10 })).map(({ subject }) => subject)
    assert.deepEqual(subjects, ['meanwhile', 'before'])
  }
  await importText(context, file(), withInterference(context.ingest, check))
  assert.equal(checks, 1)
  assert.equal((await search()).length, 3)
  const [newest] = await readHistory(context.ingest, { limit: 1 })
  assert.equal(newest?.by, 'ann')
  const orphans = `select count(*) as n from label_history
    where not exists (select 1 from label_changes c where c.change = label_history.change)`
  assert.deepEqual(await context.ingest.get(orphans), { n: 0 })
})
