// Staged imports have the same result as one transaction.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { State } from '#storage/state.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { HistoryWriter } from '../history.ts'
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

const importText = (context: TestContext, text: string, strict = false, state: State = context.state) =>
  importLabels(state, author(context), text, { form: 'json', source: 'import', everyChain: ['1'], strict })

const tables = ['labels', 'tagged_addresses', 'label_lists', 'label_changes', 'label_history'] as const

async function registryOf({ state }: TestContext): Promise<object> {
  const rows = tables.map(async (table) => [table, await state.all(`select * from ${table} order by 1, 2, 3`)] as const)
  return Object.fromEntries(await Promise.all(rows))
}

const staged = async ({ state }: TestContext) =>
  (
    await state.get<{ rows: number }>(
      'select (select count(*) from label_import_rows) + (select count(*) from label_imports) as rows',
    )
  )?.rows

/** The result of the same patches in one transaction. */
async function atOnce(context: TestContext, text: string): Promise<void> {
  const { entities, addresses } = JSON.parse(text)
  await context.state.write(async (tx) => {
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

test('an address with an unknown entity is rejected with its line; a strict import then writes nothing', async () => {
  await using context = await openContext()
  const text = file().replace('"entity":"entity-8"', '"entity":"nobody"')
  const strict = await importText(context, text, true)
  assert.deepEqual([strict.done, strict.rejects.length, await readListHead(context.state, '1')], [false, 1, undefined])
  const { done, rejects, addresses } = await importText(context, text)
  assert.deepEqual([done, addresses.added], [true, count / 2 - 1])
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

test('invariant 1: a concurrent edit is neither lost nor overwritten', async () => {
  await using context = await openContext()
  await importText(context, file())
  let edits = 0
  const rename = async (write: number) => {
    // During the first attempt.
    if (write !== 2 || edits++ > 0) return
    await context.state.write((tx) => putLabels(new HistoryWriter(tx, { ...author(context), by: 'bob' }), [renamed]))
  }
  const renamed = { chain: '1', slug: 'entity-4', name: 'Renamed', notes: 'by bob' }
  const { entities } = await importText(context, file(1), false, withInterference(context.state, rename))
  assert.equal(edits, 1)
  const [row] = await context.state.all<{ name: string; notes: string }>(
    "select name, notes from labels where chain = '1' and slug = 'entity-4'",
  )
  assert.deepEqual(row, { name: 'Entity 4', notes: 'by bob' }, 'the file names it again, and leaves the notes alone')
  const changed = Array.from({ length: count / 2 }, (_, at) => at).filter((at) => at % 3 === 0)
  const rows = changed.length + changed.filter((at) => at % 5 === 0).length
  assert.equal(entities.changed, rows + 1)
})

test('if the registry keeps changing, the import falls back to one transaction', async () => {
  await using context = await openContext()
  let edits = 0
  const restless = () =>
    context.state
      .write((tx) => putLabels(new HistoryWriter(tx, author(context)), [{ chain: '7', slug: `restless-${edits++}` }]))
      .then(() => undefined)
  const { done, addresses } = await importText(context, file(), false, withInterference(context.state, restless))
  assert.deepEqual([done, addresses.added, await staged(context)], [true, count / 2, 0])
})

test('invariant 2: nothing is visible before the merge; invariant 3: a later import deletes what a crash left', async () => {
  await using context = await openContext()
  const crash = async (write: number) => {
    if (write === 3) throw new Error('killed')
  }
  await assert.rejects(importText(context, file(), false, withInterference(context.state, crash)), /killed/)
  assert.equal(await readListHead(context.state, '1'), undefined)
  await context.state.write((tx) => tx.run('insert into label_imports (id, at_ms) values (900, 5)'))
  await context.state.write((tx) =>
    tx.run(
      `insert into label_import_rows (import, item, kind, chain, subject, source, action, name, updated_unix)
       values (900, 0, 'entity', '1', 'left-over', '', 'added', 'Left over', 1)`,
    ),
  )
  context.clock.advance(2 * 86_400_000)
  await importText(context, file())
  assert.equal(await staged(context), 0)
  assert.equal((await context.state.all("select slug from labels where slug = 'left-over'")).length, 0)
})
