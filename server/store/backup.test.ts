import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { copyStores, manifestName, restoreBackup, rowCounts, sealBackup, verifyBackup } from './backup.ts'
import { openStores, type Stores } from './open.ts'

const madeAtMs = Date.UTC(2026, 10, 15)

async function folder() {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-backup-'))
  return {
    dir,
    data: join(dir, 'data'),
    copy: join(dir, 'copy'),
    again: join(dir, 'again'),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  }
}

/** The same number in both stores, the facts first: a copy of one moment never has more in the state. */
async function step(stores: Stores, count: number): Promise<void> {
  await stores.facts.write((tx) => tx.run('insert into coverage values (?, ?, ?)', ['steps', count, count + 1]))
  await stores.state.write((tx) =>
    tx.run('insert into coverage (stream, from_at, until_at) values (?, ?, ?)', 'steps', count * 2, count * 2 + 1),
  )
}

async function steps({ state, facts }: Stores) {
  const [inFacts] = await facts.query<{ count: number }>(
    `select count(*) as count from coverage where stream = 'steps'`,
  )
  const inState = await state.get<{ count: number }>(`select count(*) as count from coverage where stream = 'steps'`)
  return { state: inState?.count ?? 0, facts: inFacts?.count ?? 0 }
}

describe('backup', () => {
  test('a copy made while both stores are written is one moment of both, and restores to the same rows', async () => {
    await using here = await folder()
    const stores = await openStores(here.data)
    let count = 0
    let isDone = false
    const writing = (async () => {
      while (!isDone) await step(stores, count++)
    })()
    while (count < 20) await new Promise((resolve) => setTimeout(resolve, 1))
    const before = count
    await copyStores(here.data, stores.facts, here.copy)
    const after = count
    while (count < after + 5) await new Promise((resolve) => setTimeout(resolve, 1))
    isDone = true
    await writing
    assert.deepEqual(await steps(stores), { state: count, facts: count })
    await stores.close()

    const manifest = await sealBackup(here.copy, madeAtMs, '1.2.3')
    assert.deepEqual([manifest.version, manifest.madeAt], ['1.2.3', '2026-11-15T00:00:00.000Z'])
    assert.deepEqual(await restoreBackup(here.copy, here.again), manifest)
    const restored = await openStores(here.again)
    const found = await steps(restored)
    // The writer is between the two stores, or before the first: never two steps apart.
    assert.ok(found.facts === found.state || found.facts === found.state + 1, JSON.stringify(found))
    assert.ok(found.facts >= before - 1 && found.facts <= after + 1, `${before} ${found.facts} ${after}`)
    assert.deepEqual(await rowCounts(restored), manifest.rows)
    await restored.close()
  })

  test('the file stays locked against a second owner after it was copied', async () => {
    await using here = await folder()
    const stores = await openStores(here.data)
    await copyStores(here.data, stores.facts, here.copy)
    const script = `import('${new URL('./open.ts', import.meta.url).href}').then(({ openStores }) => openStores('${here.data}'))`
    const second = promisify(execFile)(process.execPath, ['--eval', script])
    await assert.rejects(second, /another process|in use|lock/i)
    await stores.close()
  })

  test('what is committed but still in the journal is copied too', async () => {
    await using here = await folder()
    const stores = await openStores(here.data)
    await step(stores, 0)
    assert.ok((await stat(join(here.data, 'facts.duckdb.wal'))).size > 0)
    await copyStores(here.data, stores.facts, here.copy)
    await stores.close()
    const { rows } = await sealBackup(here.copy, madeAtMs, '1')
    assert.equal(rows.facts.coverage, 1)
    assert.equal(rows.state.coverage, 1)
  })

  test('a copy that fails leaves nothing behind, so that the same folder can be named again', async () => {
    await using here = await folder()
    const stores = await openStores(here.data)
    const half = join(here.dir, 'half')
    await mkdir(half)
    await copyFile(join(here.data, 'state.sqlite'), join(half, 'state.sqlite'))
    // A folder where the facts should be cannot be copied.
    await mkdir(join(half, 'facts.duckdb'))
    await assert.rejects(copyStores(half, stores.facts, here.copy), /facts\.duckdb cannot be copied/)
    assert.deepEqual(await readdir(here.copy), [])
    await copyStores(here.data, stores.facts, here.copy)
    await stores.close()
  })

  test('only the owner may read it', async () => {
    await using here = await folder()
    await made(here)
    assert.equal((await stat(here.copy)).mode & 0o777, 0o700)
    for (const name of ['state.sqlite', 'facts.duckdb', manifestName])
      assert.equal((await stat(join(here.copy, name))).mode & 0o777, 0o600, name)
  })

  test('nothing is written into a folder that is not empty', async () => {
    await using here = await folder()
    await mkdir(here.copy)
    await writeFile(join(here.copy, 'mine'), '')
    const stores = await openStores(here.data)
    await assert.rejects(copyStores(here.data, stores.facts, here.copy), /is not empty; name a new folder/)
    await stores.close()
    await made({ ...here, copy: here.again })
    await assert.rejects(restoreBackup(here.again, here.copy), /is not empty; name a new folder/)
  })
})

async function made({ data, copy }: { data: string; copy: string }): Promise<void> {
  const stores = await openStores(data)
  for (let count = 0; count < 50; count++) await step(stores, count)
  await copyStores(data, stores.facts, copy)
  await stores.close()
  await sealBackup(copy, madeAtMs, '1')
}

describe('a backup that is not whole is refused', () => {
  const damages: readonly (readonly [name: string, damage: (dir: string) => Promise<void>, words: RegExp])[] = [
    ['no manifest', (dir) => rm(join(dir, manifestName)), /no finished backup/],
    ['a file is missing', (dir) => rm(join(dir, 'facts.duckdb')), /facts\.duckdb is missing/],
    ['a file was cut', (dir) => cut(join(dir, 'state.sqlite')), /state\.sqlite has \d+ bytes, not \d+/],
    ['a byte was changed', (dir) => flip(join(dir, 'facts.duckdb')), /facts\.duckdb is not what was backed up/],
    [
      'the manifest is of another format',
      (dir) => reformat(join(dir, manifestName)),
      /cannot be understood \(format 2\)/,
    ],
  ]
  for (const [name, damage, words] of damages) {
    test(name, async () => {
      await using here = await folder()
      await made(here)
      await verifyBackup(here.copy)
      await damage(here.copy)
      await assert.rejects(restoreBackup(here.copy, here.again), words)
    })
  }

  test('a copy of a broken state file is not sealed', async () => {
    await using here = await folder()
    const stores = await openStores(here.data)
    await stores.state.write(async (tx) => {
      for (let at = 0; at < 2000; at++)
        await tx.run('insert into cursors (stream, at) values (?, ?)', `stream ${at}`, at)
    })
    await copyStores(here.data, stores.facts, here.copy)
    await stores.close()
    await flip(join(here.copy, 'state.sqlite'))
    await assert.rejects(sealBackup(here.copy, madeAtMs, '1'), /not usable/)
  })
})

async function cut(path: string): Promise<void> {
  await using file = await open(path, 'r+')
  await file.truncate((await file.stat()).size - 100)
}

/** A stretch in the middle, where there are rows. */
async function flip(path: string): Promise<void> {
  await using file = await open(path, 'r+')
  const { size } = await file.stat()
  await file.write(Buffer.alloc(8192, 0xa5), 0, 8192, Math.floor(size / 2 / 4096) * 4096)
}

async function reformat(path: string): Promise<void> {
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace('"format": 1', '"format": 2'))
}
