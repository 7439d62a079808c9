// The guarantees of every database engine, by the numbers in server/storage/state.ts.
import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { addCoverage, coverageOf, cursorOf, moveCursor } from '#storage/coverage.ts'
import { stateMigrations } from '#storage/migrations.ts'
import type { Migration, State, StateReader, StateWriter, WriteOptions } from '#storage/state.ts'

/** An empty database for one test. Opening it twice simulates two processes. */
export interface StoreLocation extends AsyncDisposable {
  open(migrations?: readonly Migration[]): Promise<State>
}

export const tables: Migration = {
  id: 1,
  name: 'tables',
  up: ({ bytes, strict, clustered }) => [
    `create table counters (name text primary key, value bigint not null) ${clustered}`,
    `create table things (id bigint primary key, words text, raw ${bytes}) ${strict}`,
    `create table parts (thing bigint not null references things (id)) ${strict}`,
  ],
}

const step = (id: number, name: string, ...statements: string[]): Migration => ({ id, name, up: () => statements })

const add = 'insert into counters (name, value) values (?, ?)'
const countOf = async (state: State): Promise<number | undefined> =>
  (await state.get<{ n: number }>('select count(*) as n from counters'))?.n

export function stateSuite(name: string, createLocation: () => Promise<StoreLocation>): void {
  describe(`${name}: reading and writing`, () => values(createLocation))
  describe(`${name}: transactions`, () => transactions(createLocation))
  describe(`${name}: grouped writes`, () => together(createLocation))
  describe(`${name}: snapshots`, () => snapshots(createLocation))
  describe(`${name}: version`, () => versions(createLocation))
  describe(`${name}: migrations`, () => migrations(createLocation))
  describe(`${name}: coverage`, () => coverage(createLocation))
  describe(`${name}: limits and closing`, () => limits(createLocation))
}

function values(createLocation: () => Promise<StoreLocation>): void {
  test('a row is returned unchanged as a plain object (storage/state.ts, rule 5)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const rows = [
      { id: Number.MAX_SAFE_INTEGER, words: 'ünï ☃ 𝄞 \' " ?', raw: Uint8Array.of(0, 255, 7) },
      { id: -1, words: '', raw: new Uint8Array() },
      { id: 0, words: null, raw: null },
    ]
    const changed = await state.write(async (tx) => {
      let sum = 0
      for (const { id, words, raw } of rows) sum += await tx.run('insert into things values (?, ?, ?)', id, words, raw)
      return sum
    })
    assert.equal(changed, 3)
    for (const row of rows) assert.deepEqual(await state.get('select * from things where id = ?', row.id), row)
    assert.deepEqual(await state.all('select id from things order by id'), [{ id: -1 }, { id: 0 }, { id: rows[0]?.id }])
    assert.equal(await state.get('select * from things where id = ?', 99), undefined)
    await state.close()
  })

  test('a list of whole numbers is one value (storage/state.ts)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const ids = [Number.MAX_SAFE_INTEGER, -1, 0, 7]
    await state.write(async (tx) => {
      for (const id of ids) await tx.run('insert into things (id) values (?)', id)
    })
    const idsIn = async (list: readonly number[]) =>
      (
        await state.all<{ id: number }>(
          'select id from things where id < ? and id in (select value from json_each(?)) and id > ? order by id',
          ...[2 ** 52, JSON.stringify(list), -2],
        )
      ).map(({ id }) => id)
    assert.deepEqual(await idsIn([...ids, 7, 99]), [-1, 0, 7])
    assert.deepEqual(await idsIn([]), [])
    await state.close()
  })

  test('an integer beyond 2^53 is an error, never a rounded number (storage/state.ts, rule 5)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write((tx) => tx.run(add, 'a', 2n ** 53n + 1n))
    await assert.rejects(state.get('select value from counters'))
    assert.deepEqual(await state.get('select cast(value as text) as value from counters'), {
      value: '9007199254740993',
    })
    await state.close()
  })

  test('each returns rows in order from one snapshot, while others read and write', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write(async (tx) => {
      for (let id = 0; id < 2500; id += 1) await tx.run('insert into things (id) values (?)', id)
    })
    const seen: number[] = []
    for await (const { id } of state.each<{ id: number }>('select id from things where id >= ? order by id', 10)) {
      if (id === 10) await state.write((tx) => tx.run('delete from things where id >= ?', 100))
      if (id === 11) assert.deepEqual(await state.get('select count(*) as n from things'), { n: 100 })
      seen.push(id)
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 2490 }, (_, index) => index + 10),
    )
    await state.close()
  })

  test('each can be ended early, any number of times', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write((tx) => tx.run('insert into things (id) values (1), (2), (3)'))
    for (let round = 0; round < 50; round += 1) {
      for await (const row of state.each('select id from things order by id')) {
        assert.deepEqual(row, { id: 1 })
        break
      }
    }
    await state.close()
  })

  test('returning, on conflict and foreign keys work', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const upsert = `${add} on conflict (name) do update set value = counters.value + excluded.value returning value`
    assert.deepEqual(await state.write((tx) => tx.get(upsert, 'a', 2)), { value: 2 })
    assert.deepEqual(await state.write((tx) => tx.all(upsert, 'a', 3)), [{ value: 5 }])
    await assert.rejects(state.write((tx) => tx.run('insert into parts values (?)', 404)))
    await state.close()
  })

  test('insertMany is like single inserts, for few and many rows with any content', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const words = ['plain', '', 'tab\tline\nreturn\r', 'back\\slash \\N \\. \\x41', 'ünï ☃ 𝄞', null]
    const rowOf = (id: number) => [id, words[id % words.length] ?? null, id % 4 ? Uint8Array.of(0, 92, id % 256) : null]
    for (const count of [0, 1, 7, 50, 51, 300]) {
      await state.write((tx) => tx.run('delete from things'))
      const rows = Array.from({ length: count }, (_, id) => rowOf(id))
      const changed = await state.write((tx) => tx.insertMany('things', ['id', 'words', 'raw'], rows))
      assert.equal(changed, count)
      const found = await state.all<{ id: number; words: string; raw: Uint8Array }>('select * from things order by id')
      assert.deepEqual(
        found.map((row) => [row.id, row.words, row.raw]),
        rows,
      )
    }
    await state.close()
  })

  test('insertMany handles conflicts with existing rows, twice in one transaction, and can be rolled back', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const columns = ['name', 'value']
    const least = 'on conflict (name) do update set value = excluded.value where excluded.value < counters.value'
    const rows = (value: number) => Array.from({ length: 200 }, (_, at) => [`n${at}`, at % 2 ? value : 100])
    const changes = await state.write(async (tx) => [
      await tx.insertMany('counters', columns, rows(50), least),
      await tx.insertMany('counters', columns, rows(20), least),
      await tx.insertMany('counters', columns, rows(70), least),
    ])
    assert.deepEqual(changes, [200, 100, 0])
    const sum = 'select cast(sum(value) as bigint) as n from counters'
    assert.deepEqual(await state.get(sum), { n: 100 * 100 + 100 * 20 })
    const undone = state.write(async (tx) => {
      await tx.insertMany('counters', columns, rows(1), least)
      await tx.insertMany('counters', columns, rows(0))
    })
    await assert.rejects(undone, /unique/i)
    assert.deepEqual(await state.get(sum), { n: 12_000 })
    await state.close()
  })

  test('a recent read sees the writes of this process (storage/state.ts, rule 8)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    for (let value = 0; value < 5; value += 1) {
      await state.write((tx) => tx.run(add, `n${value}`, value))
      assert.deepEqual(await state.recent.get('select count(*) as n from counters'), { n: value + 1 })
    }
    assert.equal((await state.recent.all('select name from counters')).length, 5)
    await state.close()
  })

  test('text is ordered and compared by bytes', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const names = ['a', 'B', 'Z', 'ä', 'a-b', 'aB', 'a b', '_', 'A']
    await state.write((tx) =>
      tx.insertMany(
        'counters',
        ['name', 'value'],
        names.map((name) => [name, 1]),
      ),
    )
    const rows = await state.all<{ name: string }>('select name from counters where name >= ? order by name', 'A')
    assert.deepEqual(
      rows.map(({ name }) => name),
      names.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))),
    )
    await state.close()
  })
}

function transactions(createLocation: () => Promise<StoreLocation>): void {
  test('resolved writes are there after reopening; failed ones have no effect (storage/state.ts, rule 1)', async () => {
    await using location = await createLocation()
    const first = await location.open()
    await first.write((tx) => tx.run(add, 'kept', 1))
    const broken = first.write(async (tx) => {
      await tx.run(add, 'lost', 1)
      throw new Error('changed my mind')
    })
    await assert.rejects(broken, /changed my mind/)
    await first.close()
    const second = await location.open()
    assert.deepEqual(await second.all('select name from counters'), [{ name: 'kept' }])
    await second.close()
  })

  test('only the transaction itself sees uncommitted data (storage/state.ts, rule 2)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write(async (tx) => {
      await tx.run(add, 'a', 1)
      assert.equal(await countOf(state), 0)
      assert.deepEqual(await tx.get('select value from counters'), { value: 1 })
    })
    assert.equal(await countOf(state), 1)
    await state.close()
  })

  test('writes are serialized: 100 slow increments are all counted (storage/state.ts, rule 2)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write((tx) => tx.run(add, 'a', 0))
    const increment = () =>
      state.write(async (tx) => {
        const row = await tx.get<{ value: number }>('select value from counters')
        await state.get('select 1')
        await tx.run('update counters set value = ?', (row?.value ?? 0) + 1)
      })
    await Promise.all(Array.from({ length: 100 }, increment))
    assert.deepEqual(await state.get('select value from counters'), { value: 100 })
    await state.close()
  })

  test('a failed statement fails its transaction, even if its error is caught (storage/state.ts, rule 4)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const work = state.write(async (tx) => {
      await tx.run(add, 'a', 1)
      await tx.run(add, 'a', 2).catch(() => {})
    })
    await assert.rejects(work, /unique/i)
    assert.equal(await countOf(state), 0)
    await state.write((tx) => tx.run(add, 'a', 3))
    assert.equal(await countOf(state), 1)
    await state.close()
  })

  test('a write inside a write is refused instead of waiting for itself', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await assert.rejects(
      state.write(() => state.write((tx) => tx.run(add, 'a', 1))),
      /inside another/,
    )
    assert.equal(await countOf(state), 0)
    await state.close()
  })

  test('a transaction used after its end is refused', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const tx = await state.write(async (inside) => inside)
    await assert.rejects(tx.run(add, 'a', 1), /after its end/)
    assert.equal(await countOf(state), 0)
    await state.close()
  })
}

function together(createLocation: () => Promise<StoreLocation>): void {
  const shared = { together: true }

  test('each is durable when it resolves, in order, with its own result (state 1, 6)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const names = Array.from({ length: 600 }, (_, at) => `n${at}`)
    const order: string[] = []
    const results = await Promise.all(
      names.map((name, at) =>
        state.write(async (tx) => {
          await tx.run(add, name, at)
          order.push(name)
          return (await tx.get<{ n: number }>('select count(*) as n from counters'))?.n
        }, shared),
      ),
    )
    assert.deepEqual(order, names)
    assert.deepEqual(
      results,
      names.map((_, at) => at + 1),
    )
    assert.equal(await countOf(state), names.length)
    await state.close()
    const again = await location.open()
    assert.equal(await countOf(again), names.length)
    await again.close()
  })

  test('each goes before waiting long writes, and one long write follows (storage/write-queue.ts, 1, 2)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const order: string[] = []
    const write = (name: string, options = {}) =>
      state.write(async (tx) => {
        await tx.run(add, name, 1)
        order.push(name)
      }, options)
    const gate = Promise.withResolvers<void>()
    const first = state.write(() => gate.promise)
    const long = ['long 1', 'long 2', 'long 3'].map((name) => write(name))
    const short = write('short 1', shared)
    // More of them arrive while the first one is written: they wait for one long write only.
    const more = short.then(() => Promise.all([write('short 2', shared), write('short 3', shared)]))
    gate.resolve()
    await Promise.all([first, ...long, more])
    assert.deepEqual(order, ['short 1', 'long 1', 'short 2', 'short 3', 'long 2', 'long 3'])
    await state.close()
  })

  test('a failure undoes only the statements of that write (storage/state.ts, rule 6)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const attempts = Array.from({ length: 30 }, (_, at) =>
      state.write(async (tx) => {
        await tx.run(add, `half ${at}`, 1)
        if (at % 3 === 1) throw new Error(`own ${at}`)
        // A violated constraint fails the member even if it is caught (storage/state.ts, rule 4).
        if (at % 3 === 2) await tx.run(add, 'half 0', 1).catch(() => {})
        await tx.run(add, `whole ${at}`, 1)
      }, shared),
    )
    const outcomes = await Promise.allSettled(attempts)
    outcomes.forEach((outcome, at) => {
      assert.equal(outcome.status, at % 3 === 0 ? 'fulfilled' : 'rejected', String(at))
    })
    const rows = await state.all<{ name: string }>('select name from counters')
    assert.equal(rows.length, 20)
    assert(rows.every(({ name }) => Number(name.split(' ')[1]) % 3 === 0))
    await state.close()
  })

  test('none of them is visible before all are committed (storage/state.ts, rule 2)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const seen: (number | undefined)[] = []
    const readBoth = async (tx: StateWriter, name: string) => {
      await tx.run(add, name, 1)
      seen.push(await countOf(state))
    }
    await Promise.all(['a', 'b', 'c'].map((name) => state.write((tx) => readBoth(tx, name), shared)))
    assert.deepEqual(seen, [0, 0, 0])
    assert.equal(await countOf(state), 3)
    await state.close()
  })

  test('they are serialized with other writes: increments of both kinds are all counted (storage/state.ts, rule 2)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write((tx) => tx.run(add, 'n', 0))
    const increment = (options?: WriteOptions) =>
      state.write(async (tx) => {
        const row = await tx.get<{ value: number }>('select value from counters')
        await new Promise((resolve) => setImmediate(resolve))
        await tx.run('update counters set value = ?', (row?.value ?? 0) + 1)
      }, options)
    await Promise.all(Array.from({ length: 60 }, (_, at) => increment(at % 2 === 0 ? shared : undefined)))
    assert.deepEqual(await state.get('select value from counters'), { value: 60 })
    await state.close()
  })

  test('nested and too many writes are refused; closing waits for running ones', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const nested = state.write(() => state.write(async () => 1, shared), shared)
    await assert.rejects(nested, /a write was started inside another/)
    const gate = Promise.withResolvers<void>()
    const held = state.write(() => gate.promise)
    let done = 0
    const count = () =>
      state.write(async () => {
        done += 1
      }, shared)
    const results = Promise.allSettled(Array.from({ length: 10_100 }, count))
    gate.resolve()
    await held
    const closed = state.close()
    const refused = (await results).filter((result) => result.status === 'rejected')
    await closed
    assert(refused.length > 0)
    assert.equal(done, 10_100 - refused.length)
    await assert.rejects(count(), (error) => error instanceof Fault && error.code === 'store.unavailable')
  })
}

function snapshots(createLocation: () => Promise<StoreLocation>): void {
  const counted = async (reader: StateReader) =>
    (await reader.get<{ n: number }>('select count(*) as n from counters'))?.n

  /** Snapshots that end on request. */
  function held(state: State) {
    const gate = Promise.withResolvers<void>()
    const begun: number[] = []
    const take = (number: number, signal?: AbortSignal) =>
      state.snapshot(async (reader) => {
        begun.push(number)
        await gate.promise
        return counted(reader)
      }, signal)
    return { begun, take, end: () => gate.resolve() }
  }

  test('all reads see the same snapshot, despite commits in between', async () => {
    await using location = await createLocation()
    const [state, other] = [await location.open(), await location.open()]
    await state.write((tx) => tx.run(add, 'a', 1))
    const seen = await state.snapshot(async (reader) => {
      const first = await counted(reader)
      await state.write((tx) => tx.run(add, 'b', 2))
      await other.write((tx) => tx.run(add, 'c', 3))
      return [
        first,
        await counted(reader),
        (await reader.all('select name from counters')).length,
        await countOf(state),
      ]
    })
    assert.deepEqual(seen, [1, 1, 1, 3])
    assert.equal(await state.snapshot(counted), 3)
    await Promise.all([state.close(), other.close()])
  })

  test('snapshots cannot write', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await assert.rejects(state.snapshot((reader) => reader.all(`insert into counters values ('a', 1) returning name`)))
    assert.equal(await countOf(state), 0)
    await state.close()
  })

  test('snapshots wait for a free connection', async () => {
    await using location = await createLocation()
    const [state, other] = [await location.open(), await location.open()]
    const { begun, take, end } = held(state)
    const all = Array.from({ length: 20 }, (_, number) => take(number))
    while (begun.length < 4) await other.get('select 1 as one')
    for (let trip = 0; trip < 5; trip++) await other.get('select 1 as one')
    assert.deepEqual(begun.toSorted(), [0, 1, 2, 3])
    end()
    assert.deepEqual(await Promise.all(all), new Array(20).fill(0))
    await Promise.all([state.close(), other.close()])
  })

  test('a snapshot aborted before its start does not run', async () => {
    await using location = await createLocation()
    const [state, other] = [await location.open(), await location.open()]
    const { begun, take, end } = held(state)
    const [gone, leaves] = [new AbortController(), new AbortController()]
    const reason = new Error('the caller has gone')
    gone.abort(reason)
    await assert.rejects(take(-1, gone.signal), reason)
    const running = [0, 1, 2, 3].map((number) => take(number, leaves.signal))
    while (begun.length < 4) await other.get('select 1 as one')
    const waiting = assert.rejects(take(-2, leaves.signal), reason)
    leaves.abort(reason)
    end()
    await waiting
    assert.deepEqual(
      [await Promise.all(running), begun.toSorted()],
      [
        [0, 0, 0, 0],
        [0, 1, 2, 3],
      ],
    )
    await Promise.all([state.close(), other.close()])
  })

  test('a failed snapshot releases its connection and its snapshot', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const fails = async (reader: StateReader) => {
      await counted(reader)
      throw new Error('no such luck')
    }
    for (let tries = 0; tries < 10; tries++) {
      await assert.rejects(state.snapshot(fails), /no such luck/)
      await assert.rejects(state.snapshot((reader) => reader.get('select nonsense')))
    }
    await state.write((tx) => tx.run(add, 'a', 1))
    assert.deepEqual(await Promise.all([1, 2, 3, 4].map(() => state.snapshot(counted))), [1, 1, 1, 1])
    await state.close()
  })

  test('closing waits for running snapshots; later ones are refused', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const { begun, take, end } = held(state)
    const running = take(0)
    while (begun.length < 1) await nextEventLoopTurn()
    let isClosed = false
    const closing = state.close().then(() => {
      isClosed = true
    })
    for (let tick = 0; tick < 50; tick++) await nextEventLoopTurn()
    assert.equal(isClosed, false)
    end()
    assert.equal(await running, 0)
    await closing
    await assert.rejects(take(1), (error: Error) => error instanceof Fault && error.code === 'store.unavailable')
  })
}

function versions(createLocation: () => Promise<StoreLocation>): void {
  test('version changes with every commit of any process, and with nothing else (storage/state.ts, rule 3)', async () => {
    await using location = await createLocation()
    const ours = await location.open()
    const others = await location.open()
    const seen = [ours.version()]
    const changed = (): boolean => {
      seen.push(ours.version())
      return seen.at(-1) !== seen.at(-2)
    }
    assert.equal(changed(), false)
    await ours.get('select 1')
    assert.equal(changed(), false)
    await ours.write((tx) => tx.run(add, 'ours', 1))
    assert.equal(changed(), true)
    await others.write((tx) => tx.run(add, 'others', 1))
    // Commits of others are noticed with the next turn, or slightly later over a network. The read in between must not
    // hide the change.
    await nextEventLoopTurn()
    assert.equal(await countOf(ours), 2)
    const before = seen.at(-1)
    for (let tick = 0; tick < 1_000_000 && ours.version() === before; tick += 1) await nextEventLoopTurn()
    assert.equal(changed(), true)
    await ours
      .write(async (tx) => {
        await tx.run(add, 'more', 1)
        assert.equal(changed(), false)
        throw new Error('undone')
      })
      .catch(() => {})
    assert.equal(changed(), false)
    assert.equal(new Set(seen).size, 3)
    await ours.close()
    await others.close()
  })
}

function migrations(createLocation: () => Promise<StoreLocation>): void {
  test('each runs once, in order; new ones are applied to an old database', async () => {
    await using location = await createLocation()
    const once = step(1, 'one', 'create table a (n bigint)', 'insert into a values (1)')
    await (await location.open([once])).close()
    await (await location.open([once])).close()
    const state = await location.open([once, step(2, 'two', 'insert into a values (2)')])
    assert.deepEqual(await state.all('select n from a order by n'), [{ n: 1 }, { n: 2 }])
    assert.deepEqual(await state.all('select id, name from migrations order by id'), [
      { id: 1, name: 'one' },
      { id: 2, name: 'two' },
    ])
    await state.close()
  })

  test('two processes that start at the same time run each migration once', async () => {
    await using location = await createLocation()
    const list = [step(1, 'one', 'create table a (n bigint)'), step(2, 'two', 'insert into a values (1)')]
    const both = await Promise.all([location.open(list), location.open(list)])
    assert.deepEqual(await both[0].all('select n from a'), [{ n: 1 }])
    for (const state of both) await state.close()
  })

  test('a failed migration has no effect, and earlier ones stay', async () => {
    await using location = await createLocation()
    const good = step(1, 'good', 'create table a (n bigint)')
    const bad = step(
      2,
      'bad',
      'create table b (n bigint)',
      'insert into a values (1)',
      'insert into nowhere values (1)',
    )
    await assert.rejects(location.open([good, bad]), /nowhere/)
    const mended = await location.open([good, step(2, 'mended', 'create table b (n bigint)')])
    assert.deepEqual(await mended.all('select n from a'), [])
    assert.deepEqual(await mended.all('select name from migrations order by id'), [
      { name: 'good' },
      { name: 'mended' },
    ])
    await mended.close()
  })

  test('a newer database is refused with both numbers and not changed', async () => {
    await using location = await createLocation()
    const list = [step(1, 'one'), step(2, 'two'), step(3, 'three', 'create table a (n bigint)')]
    await (await location.open(list)).close()
    await assert.rejects(
      location.open([step(1, 'one')]),
      (error) =>
        error instanceof Fault &&
        error.code === 'store.unavailable' &&
        /number 3, this version knows 1\. Start the newer version/.test(error.message),
    )
    const again = await location.open(list)
    assert.deepEqual(await again.all('select n from a'), [])
    await again.close()
  })
}

function coverage(createLocation: () => Promise<StoreLocation>): void {
  test('ranges of a stream are merged, separately for each stream', async () => {
    await using location = await createLocation()
    const state = await location.open(stateMigrations)
    await state.write(async (tx) => {
      await addCoverage(tx, 'blocks:1', 10, 20)
      await addCoverage(tx, 'blocks:1', 30, 40)
      await addCoverage(tx, 'blocks:10', 0, 100)
      await addCoverage(tx, 'blocks:1', 50, 50)
    })
    assert.deepEqual(await coverageOf(state, 'blocks:1'), [
      { from: 10, until: 20 },
      { from: 30, until: 40 },
    ])
    await state.write((tx) => addCoverage(tx, 'blocks:1', 20, 30))
    assert.deepEqual(await coverageOf(state, 'blocks:1'), [{ from: 10, until: 40 }])
    assert.deepEqual(await coverageOf(state, 'blocks:10'), [{ from: 0, until: 100 }])
    assert.deepEqual(await coverageOf(state, 'blocks:7'), [])
    await state.close()
  })

  test('coverage and cursor are part of the transaction', async () => {
    await using location = await createLocation()
    const state = await location.open(stateMigrations)
    const work = state.write(async (tx) => {
      await addCoverage(tx, 'blocks:1', 0, 5)
      await moveCursor(tx, 'blocks:1', 5)
      throw new Error('the rows did not arrive')
    })
    await assert.rejects(work)
    assert.deepEqual(await coverageOf(state, 'blocks:1'), [])
    assert.equal(await cursorOf(state, 'blocks:1'), undefined)
    await state.write((tx) => moveCursor(tx, 'blocks:1', 5))
    await state.write((tx) => moveCursor(tx, 'blocks:1', 9))
    assert.equal(await cursorOf(state, 'blocks:1'), 9)
    await state.close()
  })
}

function limits(createLocation: () => Promise<StoreLocation>): void {
  const unavailable = (error: unknown): boolean => error instanceof Fault && error.code === 'store.unavailable'

  test('writes beyond the limit of the queue are refused, and waiting ones succeed', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const gate = Promise.withResolvers<void>()
    const held = state.write(() => gate.promise)
    let done = 0
    const count = () =>
      state.write(async () => {
        done += 1
      })
    const results = Promise.allSettled(Array.from({ length: 10_100 }, count))
    gate.resolve()
    await held
    const refused = (await results).filter((result) => result.status === 'rejected')
    assert(refused.length > 0)
    assert(refused.every(({ reason }) => unavailable(reason)))
    assert.equal(done, 10_100 - refused.length)
    await state.close()
  })

  test('closing waits for running writes; afterwards everything is refused', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const under = state.write((tx) => tx.run(add, 'a', 1))
    await state.close()
    await under
    await assert.rejects(state.get('select 1'), unavailable)
    await assert.rejects(
      state.write((tx) => tx.run(add, 'b', 1)),
      unavailable,
    )
    assert.throws(() => state.version(), unavailable)
    const again = await location.open()
    assert.equal(await countOf(again), 1)
    await again.close()
  })
}
