import { strict as assert } from 'node:assert'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cover, moveCursor } from './coverage.ts'
import { openFacts, openState, openStores } from './open.ts'

async function folder(): Promise<{ dir: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-open-'))
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

test('the data folder is made, for its owner only, with one file per store', async () => {
  await using here = await folder()
  const dir = join(here.dir, 'deep', 'data')
  const stores = await openStores(dir)
  assert.equal((await stat(dir)).mode & 0o777, 0o700)
  await stores.close()
  assert.deepEqual((await readdir(dir)).sort(), ['facts.duckdb', 'state.sqlite'])
})

test('state opens beside a running server, which goes on to own the facts', async () => {
  await using here = await folder()
  const server = await openStores(here.dir)
  const command = await openState(here.dir)
  await command.write((tx) => tx.run("insert into cursors (stream, at) values ('blocks', 1)"))
  assert.deepEqual(await server.state.get('select at from cursors'), { at: 1 })
  await command.close()
  await server.close()
})

test('the embedded facts hold as much in memory as they are given', async () => {
  await using here = await folder()
  const held = async (options?: { factsMemoryMiB: number }) => {
    const facts = await openFacts(here.dir, options)
    const [row] = await facts.query<{ held: string }>("select current_setting('memory_limit') as held")
    await facts.close()
    return row?.held
  }
  assert.deepEqual([await held(), await held({ factsMemoryMiB: 1024 })], ['448.0 MiB', '1.0 GiB'])
})

test('when the facts cannot be opened the state is let go again', async () => {
  await using here = await folder()
  await writeFile(join(here.dir, 'facts.duckdb'), 'not a database')
  await assert.rejects(openStores(here.dir), /facts\.duckdb is not a database/)
  // The last connection to leave takes the journal with it.
  assert.deepEqual((await readdir(here.dir)).sort(), ['facts.duckdb', 'state.sqlite'])
})

test('a data folder that cannot be made is named', async () => {
  await using here = await folder()
  await writeFile(join(here.dir, 'file'), '')
  const dir = join(here.dir, 'file', 'data')
  await assert.rejects(openStores(dir), (error: Error) =>
    error.message.includes(`the data folder ${dir} cannot be created`),
  )
})

test('a store that a move has not finished is not opened for serving, and is let go again', async () => {
  for (const half of ['state', 'facts'] as const) {
    await using here = await folder()
    const stores = await openStores(here.dir)
    if (half === 'state') await stores.state.write((tx) => moveCursor(tx, 'move/unfinished', 1))
    else await stores.facts.write((tx) => cover(tx, 'move/unfinished', 0, 1))
    await stores.close()
    // Twice: the first refusal must not keep the files.
    for (let tries = 0; tries < 2; tries++) await assert.rejects(openStores(here.dir), /a move into this store has not/)
    await (await openState(here.dir)).close()
    await (await openFacts(here.dir)).close()
  }
})
