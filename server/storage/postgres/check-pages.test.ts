// Damages pages of a stopped PostgreSQL server, and checks that `checkPostgresPages` finds them.
import assert from 'node:assert/strict'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { moveCursor } from '#storage/coverage.ts'
import { openStores } from '#storage/open.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { checkPostgresPages } from './check-pages.ts'

const pageBytes = 8192

/** Writes bytes into the file of a table or an index while the server is stopped. */
async function damage(server: PostgresServer, name: string, at: number, bytes: Uint8Array): Promise<void> {
  const row = await server.sql<{ path: string }>(`select pg_relation_filepath('${name}') as path`)
  // Otherwise, the server writes the page again when it recovers.
  await server.sql('checkpoint')
  await server.kill()
  const file = await open(join(server.dir, 'data', row?.path ?? ''), 'r+')
  await file.write(bytes, 0, bytes.length, at)
  await file.close()
  await server.start()
}

/** Two pages or more of cursors. */
async function filledDatabase(server: PostgresServer): Promise<{ readonly url: string; readonly schema: string }> {
  const url = await server.schema()
  const stores = await openStores('/nowhere', { state: url })
  await stores.state.write(async (tx) => {
    for (let at = 0; at < 300; at += 1) await moveCursor(tx, `test/${'x'.repeat(50)}/${at}`, at)
  })
  await stores.close()
  return { url, schema: /search_path%3D(\w+)/.exec(url)?.[1] ?? '' }
}

const namesOf = ({ damaged }: Awaited<ReturnType<typeof checkPostgresPages>>) => damaged.map(({ name }) => name)

describe('checkPostgresPages', { skip: noPostgres }, () => {
  test('without amcheck, a page that cannot be read is found by its table, and what is not checked is reported', async () => {
    await using server = await startPostgres()
    const { url, schema } = await filledDatabase(server)
    const intact = await checkPostgresPages(url)
    assert.deepEqual([intact.damaged, intact.indexes], [[], 0])
    assert.ok(intact.tables > 40, 'both schemas')
    assert.match(intact.notChecked.join('; '), /^indexes \(needs the extension amcheck.*; bytes that changed/)
    await damage(server, `${schema}.cursors`, pageBytes, Buffer.alloc(64, 0xff))
    const found = await checkPostgresPages(url)
    assert.deepEqual(namesOf(found), [`${schema}.cursors`])
    assert.match(found.damaged[0]?.reason ?? '', /invalid page in block 1/)
  })

  test('with checksums, a byte that changed inside a value is found', async () => {
    await using server = await startPostgres()
    const { url, schema } = await filledDatabase(server)
    await server.enableChecksums()
    assert.equal((await checkPostgresPages(url)).notChecked.length, 1)
    await damage(server, `${schema}.cursors`, 2 * pageBytes - 20, Buffer.from('y'))
    assert.deepEqual(namesOf(await checkPostgresPages(url)), [`${schema}.cursors`])
  })

  test('with amcheck, a damaged index is found, and tables in the schema of duties', async () => {
    await using server = await startPostgres()
    const { url, schema } = await filledDatabase(server)
    await server.sql('create extension amcheck schema public')
    const intact = await checkPostgresPages(url)
    assert.deepEqual([intact.damaged, intact.indexes > 60, intact.notChecked.length], [[], true, 1])
    // The keys of a leaf page in another order.
    await damage(server, `${schema}.cursors_pkey`, 2 * pageBytes - 2000, Buffer.alloc(1500, 0x7a))
    assert.deepEqual(namesOf(await checkPostgresPages(url)), [`${schema}.cursors_pkey`])
    await damage(server, `${schema}_duties.duty_networks_pkey`, 0, Buffer.alloc(64, 0xff))
    assert.ok(namesOf(await checkPostgresPages(url)).includes(`${schema}_duties.duty_networks_pkey`))
  })
})
