import { strict as assert } from 'node:assert'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { startControlServer } from '#runtime/control-socket.ts'
import { openPostgres } from '#test/open-database.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { startProcess } from '#test/second-process.ts'
import { type StoreLocation, tables } from '#test/state-suite/store-location.ts'
import { stateSuite } from '#test/state-suite.ts'
import { laterMigrations, upgradeSuite } from '#test/upgrade-suite.ts'
import { cursorOf, moveCursor } from '../coverage.ts'
import { stateMigrations } from '../migrations.ts'
import { openDuties, openState, openStores } from '../open.ts'
import type { State } from '../state.ts'
import { parsePostgresUrl } from './address.ts'
import { numberPlaceholders, toPostgresSql } from './dialect.ts'
import { PostgresSession } from './session.ts'

describe('on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  async function createLocation(): Promise<StoreLocation & { readonly url: string }> {
    const url = await server.schema()
    return {
      url,
      open: (migrations = [tables]) => openPostgres(url, migrations, { connections: 4 }),
      [Symbol.asyncDispose]: async () => {},
    }
  }

  stateSuite('postgres', createLocation)
  upgradeSuite('postgres', createLocation)

  test('concurrent increments of two processes with the same lock are serialized (storage/state.ts, rule 2)', async () => {
    await using location = await createLocation()
    // With a default of the database under which a write would not see what was written while it waited.
    const url = `${location.url}${encodeURIComponent(' -c default_transaction_isolation=serializable')}`
    const state = await location.open()
    await state.write((tx) => tx.run("insert into counters values ('n', 0)"))
    const code = `
      const { openPostgres } = await load('test/open-database.ts')
      const { tables } = await load('test/state-suite/store-location.ts')
      const state = await openPostgres(${JSON.stringify(url)}, [tables], { connections: 2 })
      print('open')
      const increment = async (tx) => {
        const { value } = await tx.get('select value from counters')
        await tx.run('update counters set value = ?', value + 1)
      }
      await Promise.all(Array.from({ length: 60 }, () => state.write(increment, { lock: 'markets' })))
      await state.close()
      print('done')`
    await using one = startProcess(code)
    await using other = startProcess(code)
    for (const printed of ['open', 'done'])
      for (const process of [one, other]) assert.equal(await process.line(), printed)
    assert.deepEqual(await state.get('select value from counters'), { value: 120 })
    await state.close()
  })

  test('an upgrade is refused only while a server runs on the same data folder', async () => {
    await using location = await createLocation()
    await using undo = new AsyncDisposableStack()
    const dir = undo.adopt(await mkdtemp(join(tmpdir(), 'tetrad-rolling-')), (path) => rm(path, { recursive: true }))
    const old = undo.adopt(await location.open(stateMigrations), (state) => state.close())
    const newest = async () => (await old.get<{ id: number }>('select max(id) as id from migrations'))?.id
    const control = await startControlServer(dir, {})
    await assert.rejects(openState(dir, { state: location.url }, { shared: laterMigrations }), /a server is running on/)
    assert.equal(await newest(), stateMigrations.length)
    await control.close()
    await (await openState(dir, { state: location.url }, { shared: laterMigrations })).close()
    assert.equal(await newest(), laterMigrations.length)
  })

  test('two installations can share a database in separate schemas', async () => {
    await using one = await createLocation()
    await using two = await createLocation()
    const [a, b] = [await one.open(), await two.open()]
    const before = b.version()
    const gate = Promise.withResolvers<void>()
    const held = a.write(() => gate.promise)
    await b.write((tx) => tx.run("insert into counters values ('b', 1)"))
    gate.resolve()
    await held
    assert.deepEqual(await a.all('select * from counters'), [])
    assert.equal(b.version(), before + 1)
    await a.close()
    await b.close()
  })

  test('a type that SQLite does not have is an error', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write((tx) => tx.run("insert into counters values ('a', 1)"))
    for (const sql of ['select 1 = 1 as x', 'select 1.5 as x', 'select sum(value) as x from counters'])
      await assert.rejects(state.get(sql), /cast it to bigint or text/)
    assert.deepEqual(await state.get('select 1.5::float8 as x, -7::smallint as y'), { x: 1.5, y: -7 })
    await state.close()
  })

  test('rows of any size are read completely', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const sizes = [0, 1, 65_500, 65_536, 300_000, ...Array.from({ length: 60 }, (_, at) => at * 97)]
    const rows = sizes.map((size, id) => [id, 'ü'.repeat(size % 1000), new Uint8Array(size).fill(id)] as const)
    await state.write((tx) => tx.insertMany('things', ['id', 'words', 'raw'], rows))
    const found = await state.all<{ id: number; words: string; raw: Uint8Array }>('select * from things order by id')
    assert.deepEqual(
      found.map(({ id, words, raw }) => [id, words, raw]),
      rows,
    )
    await state.close()
  })

  test('many rows can be inserted with some columns, then with others', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const ids = Array.from({ length: 60 }, (_, id) => id)
    for (const [name, value, first] of [
      ['words', 'a', 0],
      ['raw', Uint8Array.of(1), 60],
    ] as const) {
      const rows = ids.map((id) => [first + id, value])
      await state.write((tx) => tx.insertMany('things', ['id', name], rows))
    }
    const found = await state.all('select words, raw, count(*) as n from things group by words, raw order by words')
    assert.deepEqual(found, [
      { words: 'a', raw: null, n: 60 },
      { words: null, raw: Uint8Array.of(1), n: 60 },
    ])
    await state.close()
  })

  test('U+0000 is replaced by U+FFFD (storage/state.ts, rule 9)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const rows = Array.from({ length: 60 }, (_, id) => [id, 'a\0b', null])
    await state.write(async (tx) => {
      await tx.insertMany('things', ['id', 'words', 'raw'], rows)
      await tx.run('insert into things (id, words) values (?, ?)', 60, '\0')
    })
    const found = await state.all('select words, count(*) as n from things group by words order by words')
    assert.deepEqual(found, [
      { words: 'a\uFFFDb', n: 60 },
      { words: '\uFFFD', n: 1 },
    ])
    await state.close()
  })

  test('reads cannot write', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await assert.rejects(state.get("insert into counters values ('a', 1) returning value"), /does not accept writes/)
    await state.close()
  })

  test('a connection with too many prepared statements is replaced', async () => {
    await using location = await createLocation()
    const state = await openPostgres(location.url, [tables], { connections: 1 })
    const backend = async () => (await state.get<{ pid: number }>('select pg_backend_pid() as pid'))?.pid
    const first = await backend()
    for (let number = 0; number < 520; number += 1)
      assert.deepEqual(await state.get(`select ${number} as n`), { n: number })
    assert.notEqual(await backend(), first)
    await state.close()
  })

  test('prepared statements are renewed after a migration changed the table', async () => {
    await using location = await createLocation()
    const state = await openPostgres(location.url, [tables], { connections: 1 })
    await state.write((tx) => tx.run("insert into counters values ('a', 1)"))
    for (let times = 0; times < 3; times += 1) await state.get('select * from counters')
    await state.write((tx) => tx.run('alter table counters add column more bigint not null default 7'))
    assert.deepEqual(await state.get('select * from counters'), { name: 'a', value: 1, more: 7 })
    await state.close()
  })

  describe('duties', () => {
    const rowsOf = async (state: State) => (await state.all<{ stream: string }>('select stream from cursors')).length

    test('have their own schema, whose tables take precedence over those of the state', async () => {
      const url = await server.schema()
      const [state, duties] = [await openState('', { state: url }), await openDuties('', { state: url })]
      await state.write((tx) => moveCursor(tx, 'a', 1))
      await duties.write(async (tx) => {
        await moveCursor(tx, 'b', 2)
        await moveCursor(tx, 'c', 3)
      })
      assert.deepEqual([await rowsOf(state), await rowsOf(duties)], [1, 2])
      assert.equal(await duties.snapshot(async (reader) => cursorOf(reader, 'a')), undefined)
      // Writes of duties check their lease.
      assert.deepEqual(await duties.all('select name from leases'), [])
      await duties.close()
      await state.close()
    })

    test('a commit of one does not wait for a transaction of the other, and does not change its version', async () => {
      const url = await server.schema()
      const [state, duties] = [await openState('', { state: url }), await openDuties('', { state: url })]
      const version = state.version()
      const gate = Promise.withResolvers<void>()
      const long = duties.write(async (tx) => {
        await moveCursor(tx, 'a', 1)
        await gate.promise
      })
      await state.write((tx) => moveCursor(tx, 'b', 1))
      const versionAfterWrite = state.version()
      assert.notEqual(versionAfterWrite, version)
      gate.resolve()
      await long
      await state.write(async () => {})
      assert.equal(state.version(), versionAfterWrite)
      await duties.close()
      await state.close()
    })

    test('can be opened by several servers that start at the same time on an empty database', async () => {
      const url = await server.schema()
      const dir = await mkdtemp(join(tmpdir(), 'tetrad-start-'))
      const opening = Array.from({ length: 5 }, (_, number) => openStores(join(dir, String(number)), { state: url }))
      for (const stores of await Promise.all(opening)) {
        assert.deepEqual([await rowsOf(stores.state), await rowsOf(stores.duties)], [0, 0])
        await stores.close()
      }
      await rm(dir, { recursive: true })
    })

    test('need a schema: the error says how the owner creates it, and then it can be used', async () => {
      await server.sql(`create role modest login; create schema modest authorization modest`)
      const search = encodeURIComponent('-c search_path=modest')
      const url = `postgres://modest@127.0.0.1:${server.port}/postgres?options=${search}`
      await (await openState('', { state: url })).close()
      await assert.rejects(
        openDuties('', { state: url }),
        /has no permission to create the schema modest_duties; .* run: create schema "modest_duties" authorization "modest"/,
      )
      await server.sql('create schema modest_duties authorization modest')
      const duties = await openDuties('', { state: url })
      assert.equal(await rowsOf(duties), 0)
      await duties.close()
    })
  })

  test('errors of connecting say what to do, without the password', async () => {
    await server.sql("create role guarded login password 'correct horse'")
    const at = `127.0.0.1:${server.port}`
    const refused = async (url: string, words: RegExp) =>
      assert.rejects(openPostgres(url, [tables], { connections: 1, waitMs: 100 }), (error) => {
        assert(error instanceof Fault && error.code === 'store.unavailable', String(error))
        assert.match(error.message, words)
        assert.doesNotMatch(`${error.message} ${error.stack} ${JSON.stringify(error.cause)}`, /hunter2/)
        return true
      })
    await refused(
      `postgres://guarded:hunter2@${at}/postgres`,
      /: PostgreSQL at \S+ refuses this user; check user, pass/,
    )
    await refused(`postgres://postgres:hunter2@${at}/nowhere`, /: PostgreSQL at \S+ has no such database; create it/)
    await refused('postgres://postgres:hunter2@127.0.0.1:9/postgres', /cannot be reached.*ECONNREFUSED/)
    await server.sql("create database latin template template0 encoding 'LATIN1' locale_provider libc locale 'C'")
    await refused(
      `postgres://postgres@${at}/latin`,
      /: PostgreSQL at \S+ has the encoding LATIN1 in this database, but must have UTF8; .* encoding 'UTF8' template template0/,
    )
    await server.sql('create database frozen')
    await server.sql('alter database frozen set default_transaction_read_only = on')
    const readOnly =
      /: PostgreSQL at \S+ does not accept writes: .*; configure the primary, or .*default_transaction_read_only/
    await refused(`postgres://postgres@${at}/frozen`, readOnly)
    await server.sql('create schema foreign_keys; create table foreign_keys.keys (id integer)')
    const search = encodeURIComponent('-c search_path=foreign_keys')
    await assert.rejects(openState('', { state: `postgres://postgres@${at}/postgres?options=${search}` }), (error) => {
      assert(error instanceof Fault && error.code === 'store.unavailable', String(error))
      assert.match(error.message, /: PostgreSQL at \S+ has a table of another program .*"keys" already exists/)
      return true
    })
    const session = await PostgresSession.open(
      parsePostgresUrl(`postgres://guarded:correct%20horse@${at}/postgres`),
      'read',
    )
    await session.close()
  })
})

describe('dialect', () => {
  test('placeholders are numbered, except in quotes, names and comments', () => {
    const cases: readonly (readonly [string, string])[] = [
      ['select ?, ?', 'select $1, $2'],
      ["select '?', ?, 'it''s ?'", "select '?', $1, 'it''s ?'"],
      ['select "a?" from t -- why?\nwhere b = ?', 'select "a?" from t -- why?\nwhere b = $1'],
      ['select 1', 'select 1'],
      [
        "select 'in (select value from json_each(?))' where a = ? and b in (select value from json_each(?)) and c = ?",
        "select 'in (select value from json_each(?))' where a = $1 and b = any(array(select json_array_elements_text($2::json)::bigint)) and c = $3",
      ],
      [
        'select a from t where b in (select atom from json_each(?)) and c = ?',
        'select a from t where b = any(array(select json_array_elements_text($1::json))) and c = $2',
      ],
      [
        'select a from json_each(?) as k join t on t.b = k.value ->> 0 where c = ?',
        'select a from json_array_elements($1::json) as k (value) join t on t.b = k.value ->> 0 where c = $2',
      ],
      [
        'with ids as (select a + value as value from t, json_each(?) where b = ?) select c from u where d in (select value from ids)',
        'with ids as (select a + value as value from t, (select json_array_elements_text($1::json)::bigint as value) as list where b = $2) select c from u where d = any(array(select value from ids))',
      ],
    ]
    for (const [sql, expected] of cases) assert.equal(numberPlaceholders(sql), expected)
  })

  test('text columns are ordered by bytes; other SQL stays unchanged', () => {
    const sql = `create table a (x text primary key, y text not null, -- some text here
      z text, w text
    ); select 'text' as text_of, cast(x as text) from json_array_elements_text(y)`
    const expected = `create table a (x text collate "C" primary key, y text collate "C" not null, -- some text here
      z text collate "C", w text collate "C"
    ); select 'text' as text_of, cast(x as text collate "C") from json_array_elements_text(y)`
    assert.equal(toPostgresSql(sql), expected)
    assert.equal(toPostgresSql('alter table a add column b text'), 'alter table a add column b text collate "C"')
  })

  test('there is one URL per host, and the name has no password', () => {
    assert.deepEqual(parsePostgresUrl('postgresql://me:secret@one:1,[::1]:2,three/db?sslmode=require'), {
      name: 'PostgreSQL at one:1,[::1]:2,three/db',
      addresses: [
        'postgresql://me:secret@one:1/db?sslmode=require',
        'postgresql://me:secret@[::1]:2/db?sslmode=require',
        'postgresql://me:secret@three/db?sslmode=require',
      ],
    })
    assert.equal(parsePostgresUrl('postgres://host').name, 'PostgreSQL at host')
  })
})
