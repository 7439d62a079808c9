import { strict as assert } from 'node:assert'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openState, openStores } from './open.ts'

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
