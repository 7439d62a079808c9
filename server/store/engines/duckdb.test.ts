import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { mkdir, mkdtemp, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { DuckDBTypeId } from '@duckdb/node-api'
import { faults } from '#api/faults.ts'
import { Fault } from '#core/fault.ts'
import { startProcess } from '#test/second-process.ts'
import { noTinyDisk, tinyDisk } from '#test/tiny-disk.ts'
import { type FactsPlace, factsSuite, someSums, sums } from '../facts.suite.ts'
import { openDuckdb } from './duckdb.ts'
import { bind } from './duckdb-cells.ts'

interface DuckdbPlace extends FactsPlace {
  readonly dir: string
  readonly file: string
}

async function place(): Promise<DuckdbPlace> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-duckdb-'))
  const file = join(dir, 'facts.duckdb')
  return {
    dir,
    file,
    open: (migrations = [sums]) => openDuckdb(file, migrations),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  }
}

factsSuite('duckdb', place)

/** The operator's words name the file and what to do, the public words are those of the table. */
const saying =
  (file: string, words: RegExp) =>
  (error: unknown): boolean => {
    assert(error instanceof Fault, String(error))
    assert.equal(error.code, 'store.unavailable')
    assert(error.message.includes(file), error.message)
    assert.match(error.message, words)
    assert.equal(error.says, faults['store.unavailable'].says)
    return true
  }

/** A process that has the store open as `facts`. */
const otherProcess = (file: string, code: string, under: readonly string[] = []) =>
  startProcess(
    `const { openDuckdb } = await load('server/store/engines/duckdb.ts')
     const { sums, someSums } = await load('server/store/facts.suite.ts')
     const file = ${JSON.stringify(file)}
     const facts = await openDuckdb(file, [sums])
     const countOf = async (facts) => (await facts.query('select count(*) as n from sums'))[0].n
     ${code}`,
    under,
  )

test('questions of callers who have gone leave the line, and those who watch do not stand in it', async () => {
  await using here = await place()
  const facts = await here.open()
  const gone = new AbortController()
  const moment = await facts.now(gone.signal)
  const order: string[] = []
  const long = 'select sum(a.range * b.range) as s from range(20000) a, range(2000) b'
  const running = [facts.query(long), facts.query(long)].map((one) => one.then(() => order.push('long')))
  const waiting = Array.from({ length: 50 }, () => moment.query(long))
  const last = facts.query('select 1 as x').then(() => order.push('last'))
  gone.abort(new Fault('server.timeout'))
  for (const one of waiting) await assert.rejects(one, { code: 'server.timeout' })
  await facts.aside.query('select 1 as x').then(() => order.push('aside'))
  await Promise.all([...running, last])
  // Fifty long ones would have been before it.
  assert.deepEqual([order[0], order.length], ['aside', 4])
  await facts.close()
})

test('an id list is bits where they are few for each id, and finds the same rows where they are not', async () => {
  const sql = 'select count(*) as n from sums where who in (select id from {who})'
  const bitsOf = (who: readonly number[]) =>
    bind(sql, [], { who }).types.filter(({ typeId }) => typeId === DuckDBTypeId.BIT)
  const every = (step: number, count: number, from = 0) => Array.from({ length: count }, (_, at) => from + at * step)
  const lists = {
    near: every(1, 600),
    sparse: every(1000, 10),
    two: [0, 16_777_215],
    far: [...every(1, 600), 16_777_215],
  }
  assert.deepEqual(
    Object.values(lists).map((who) => bitsOf(who).length),
    [1, 1, 0, 0],
  )
  await using here = await place()
  const facts = await here.open()
  await facts.write((tx) => tx.append('sums', someSums(2000, 1)))
  for (const who of [...Object.values(lists), every(1, 9, 1993), every(7, 100, 3), [1999], []]) {
    const expected = who.filter((id) => id < 2000).length
    assert.deepEqual(await facts.query(sql, [], { who }), [{ n: expected }])
  }
  await facts.close()
})

test('an append that fails tells its first reason, not that of clearing up after it', async () => {
  await using here = await place()
  const facts = await here.open([{ id: 1, name: 'one', up: ['create table positive (n bigint check (n > 0))'] }])
  await assert.rejects(
    facts.write((tx) => tx.append('positive', { n: [1, -1] })),
    /CHECK constraint/,
  )
  assert.deepEqual(await facts.query('select n from positive'), [])
  await facts.close()
})

test('a sum may be wider than its column, and nothing is null', async () => {
  await using here = await place()
  const facts = await here.open()
  await facts.write(async (tx) => {
    await tx.run('insert into sums (who, reward) values (1, ?), (1, ?)', [2n ** 63n - 1n, 2n ** 63n - 1n])
    await tx.run('insert into sums (who, reward) values (2, ?)', [null])
  })
  assert.deepEqual(await facts.query('select sum(reward) as r from sums group by who order by who'), [
    { r: 2n ** 64n - 2n },
    { r: null },
  ])
  assert.deepEqual(await facts.query('select sum(reward) as r from sums where who = 3'), [{ r: null }])
  await facts.close()
})

describe('duckdb: a migration is a transaction', () => {
  const step = (id: number, name: string, ...up: string[]) => ({ id, name, up })

  test('its statements run once', async () => {
    await using here = await place()
    const once = step(1, 'one', 'create table a (n bigint)', 'insert into a values (1)')
    await (await here.open([once])).close()
    const facts = await here.open([once, step(2, 'two', 'insert into a values (2)')])
    assert.deepEqual(await facts.query('select n from a order by n'), [{ n: 1 }, { n: 2 }])
    await facts.close()
  })

  test('one that fails leaves nothing of itself, and those before it stay', async () => {
    await using here = await place()
    const good = step(1, 'good', 'create table a (n bigint)')
    const statements = ['create table b (n bigint)', 'insert into a values (1)', 'insert into nowhere values (1)']
    await assert.rejects(here.open([good, step(2, 'bad', ...statements)]), /nowhere/)
    const mended = await here.open([good, step(2, 'mended', 'create table b (n bigint)')])
    assert.deepEqual(await mended.query('select n from a'), [])
    await mended.close()
  })
})

describe('duckdb has one owner (facts 2, decision 0052)', () => {
  test('a second opening in this process is refused, also by another path; after closing it is not', async () => {
    await using here = await place()
    const facts = await here.open()
    await assert.rejects(here.open(), saying(here.file, /open in this process already/))
    const alias = `${here.dir}-alias`
    await symlink(here.dir, alias)
    await assert.rejects(openDuckdb(join(alias, 'facts.duckdb'), [sums]), saying(here.file, /in this process already/))
    await rm(alias)
    await facts.close()
    await (await here.open()).close()
  })

  test('a worker thread is refused: it would get a database of its own', async () => {
    await using here = await place()
    const engine = new URL('./duckdb.ts', import.meta.url)
    const worker = new Worker(
      `const { parentPort } = require('node:worker_threads')
       import(${JSON.stringify(engine.href)})
         .then(({ openDuckdb }) => openDuckdb(${JSON.stringify(here.file)}, []))
         .then(() => 'opened', (error) => error.message)
         .then((words) => parentPort.postMessage(words))`,
      { eval: true },
    )
    const [words] = await once(worker, 'message')
    await worker.terminate()
    assert.match(words, /facts\.duckdb may be opened on the main thread only; a worker hands its columns/)
    await assert.rejects(stat(here.file), { code: 'ENOENT' })
  })

  test('another process is refused while the first has the file, and the first is not disturbed', async () => {
    await using here = await place()
    await using other = otherProcess(here.file, `say('open'); stay()`)
    assert.equal(await other.line(), 'open')
    await assert.rejects(
      here.open(),
      saying(here.file, /held by another process, most likely a running server; stop it/),
    )
    await assert.rejects(here.open(), saying(here.file, /held by another process/))
    await other.kill()
    await (await here.open()).close()
  })
})

describe('duckdb after a sudden death', () => {
  test('killed in the middle of a transaction: what was confirmed is there, of the rest nothing', async () => {
    await using here = await place()
    await using other = otherProcess(
      here.file,
      `await facts.write((tx) => tx.append('sums', someSums(10, 10)))
       await facts.write(async (tx) => {
         await tx.append('sums', someSums(1000, 300))
         say('in the middle')
         await new Promise(stay)
       })`,
    )
    assert.equal(await other.line(), 'in the middle')
    await other.kill()
    const facts = await here.open()
    assert.deepEqual(await facts.query('select count(*) as n, max(who) as last from sums'), [{ n: 100, last: 9 }])
    await facts.close()
  })

  test('killed at any moment of many commits: whole transactions only, and all that were confirmed', async () => {
    await using here = await place()
    await using other = otherProcess(
      here.file,
      `for (let count = 1; count < 10_000; count += 1) {
         await facts.write(async (tx) => {
           await tx.append('sums', someSums(50, 2))
           await tx.append('sums', someSums(50, 2))
         })
         say(String(count))
       }`,
    )
    let confirmed = 0
    while (confirmed < 25) confirmed = Number(await other.line())
    await other.kill()
    const facts = await here.open()
    const [row] = await facts.query<{ n: number }>('select count(*) as n from sums')
    const rowCount = row?.n ?? 0
    assert.equal(rowCount % 200, 0)
    assert(rowCount >= confirmed * 200, `${rowCount} rows of ${confirmed} transactions`)
    await facts.close()
  })
})

const fillTheDisk = `
  await facts.write((tx) => tx.append('sums', someSums(10, 10)))
  let confirmed = 100
  let words
  for (let round = 0; words === undefined && round < 100; round += 1) {
    const noise = Array.from({ length: 40_000 }, () => Math.random().toString(36))
    const batch = { ...someSums(4000, 10), network: noise }
    await facts.write((tx) => tx.append('sums', batch)).then(() => { confirmed += 40_000 }, (error) => { words = error.message })
  }
  say(words)
  const there = await countOf(facts)
  await facts.close()
  const again = await openDuckdb(file, [sums])
  say([there === confirmed, (await countOf(again)) === confirmed, confirmed].join())
`

async function assertFullDiskIsAFault(file: string, under: readonly string[]): Promise<void> {
  await using other = otherProcess(file, fillTheDisk, under)
  const words = (await other.line()) ?? ''
  assert(words.startsWith(`store.unavailable: ${file} cannot grow because the disk is full; free some space`), words)
  assert.match((await other.line()) ?? '', /^true,true,\d+$/)
}

describe('duckdb on a bad disk', () => {
  test('a file that may not grow is a fault; what was confirmed stays, of the rest nothing', async () => {
    await using here = await place()
    await assertFullDiskIsAFault(here.file, ['bash', '-c', 'trap "" XFSZ; ulimit -f 5000; exec "$0" "$@"'])
  })

  test('a journal that finds no room in the file ends with a restart, after which all that was confirmed is there', async () => {
    await using here = await place()
    // What is large goes into the file at once, what is small into the journal, which is cleared into the file at 16 MiB.
    const fill = `
      let confirmed = 0
      let words
      const put = (rows) => {
        const reward = Array.from({ length: rows }, () => Math.floor(Math.random() * 2 ** 52))
        const batch = { ...someSums(rows / 1000, 1000), reward }
        return facts.write((tx) => tx.append('sums', batch)).then(() => { confirmed += rows }, (error) => { words = error.message })
      }
      await put(1_700_000)
      for (let round = 0; words === undefined && round < 200; round += 1) await put(15_000)
      say(words)
      say(confirmed)
      process.exit()`
    await using other = otherProcess(here.file, fill, [
      ...['bash', '-c', 'trap "" XFSZ; ulimit -f 18000; exec "$0" "$@"'],
    ])
    const words = (await other.line()) ?? ''
    const told = 'was given up because the disk is full; free some space and restart the server'
    assert(words.startsWith(`store.unavailable: ${here.file} ${told}`), words)
    const confirmed = Number(await other.line())
    await other.kill()
    const facts = await here.open()
    assert.deepEqual(await facts.query('select count(*) as n from sums'), [{ n: confirmed }])
    await facts.close()
  })

  test('a full disk is the same', { skip: noTinyDisk }, async () => {
    await using here = await place()
    await assertFullDiskIsAFault(here.file, tinyDisk(here.dir))
  })

  test('a file that is no database is refused and not touched', async () => {
    await using here = await place()
    const words = 'These are somebody’s notes, not a database. '.repeat(500)
    await writeFile(here.file, words)
    await assert.rejects(here.open(), saying(here.file, /is not a database or is damaged; move it away/))
    assert.equal(await readFile(here.file, 'utf8'), words)
  })

  test('a damaged block is a fault, not an answer', async () => {
    await using here = await place()
    const facts = await here.open()
    await facts.write((tx) => tx.append('sums', someSums(1000, 100)))
    await facts.close()
    const { size } = await stat(here.file)
    await using file = await open(here.file, 'r+')
    const noise = Buffer.alloc(size - 12_288, 0xaa)
    await file.write(noise, 0, noise.length, 12_288)
    const read = async () => {
      const damaged = await here.open()
      try {
        await damaged.query('select sum(reward) as r from sums')
      } finally {
        await damaged.close()
      }
    }
    await assert.rejects(read, saying(here.file, /is not a database or is damaged/))
  })

  test('a file cut short is a fault', async () => {
    await using here = await place()
    const facts = await here.open()
    await facts.write((tx) => tx.append('sums', someSums(1000, 100)))
    await facts.close()
    await using file = await open(here.file, 'r+')
    await file.truncate(Math.floor((await file.stat()).size / 2))
    await assert.rejects(here.open(), saying(here.file, /is not a database or is damaged/))
  })

  test('a folder in its place, or no folder at all, is a fault', async () => {
    await using here = await place()
    await mkdir(here.file)
    await assert.rejects(here.open(), saying(here.file, /cannot be read or written/))
    const nowhere = join(here.dir, 'missing', 'facts.duckdb')
    await assert.rejects(openDuckdb(nowhere, [sums]), saying(nowhere, /the folder of .* cannot be used/))
  })

  test('SQL reaches nothing but this file', async () => {
    await using here = await place()
    const facts = await here.open()
    await assert.rejects(facts.query(`select * from read_text('/etc/hostname')`), /disabled by configuration/)
    await assert.rejects(facts.query(`attach '${here.dir}/other.duckdb' as other`), /disabled|cannot/i)
    await assert.rejects(facts.query('set enable_external_access = true'), /cannot/i)
    await facts.close()
  })
})
