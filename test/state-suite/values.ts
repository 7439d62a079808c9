// Reading and writing rows: values, parameters, iteration.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type CreateLocation, insertCounter } from './store-location.ts'

export function testValues(createLocation: CreateLocation): void {
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

  test('a list of texts, and a list of keys of several columns, is one value (storage/state.ts)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const names = ['a', 'it\'s "b"', 'ünï ☃', 'back\\slash', '7']
    await state.write((tx) =>
      tx.insertMany(
        'things',
        ['id', 'words'],
        names.map((words, id) => [id, words]),
      ),
    )
    const inList = 'select id from things where words in (select atom from json_each(?)) and id < ? order by id'
    assert.deepEqual(await state.all(inList, JSON.stringify([...names, 'none']), 4), [
      { id: 0 },
      { id: 1 },
      { id: 2 },
      { id: 3 },
    ])
    assert.deepEqual(await state.all(inList, '[]', 4), [])
    const joined = `select t.id, k.value ->> 0 as key from json_each(?) as k
      join things t on t.words = k.value ->> 0 and t.id = cast(k.value ->> 1 as bigint) where t.id > ? order by t.id`
    const keys = [...names.map((words, id) => [words, id]), ['a', 3], ['none', 0]]
    assert.deepEqual(
      await state.all(joined, JSON.stringify(keys), 0),
      names.slice(1).map((key, at) => ({ id: at + 1, key })),
    )
    await state.close()
  })

  test('an integer beyond 2^53 is an error, never a rounded number (storage/state.ts, rule 5)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write((tx) => tx.run(insertCounter, 'a', 2n ** 53n + 1n))
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
    const upsert = `${insertCounter} on conflict (name) do update set value = counters.value + excluded.value returning value`
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

  test('insertMany stores only the rows that fulfil a condition', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write((tx) => tx.run(insertCounter, 'n1', 7))
    const rows = Array.from({ length: 120 }, (_, at) => [`n${at}`, at])
    const changed = await state.write((tx) =>
      tx.insertMany(
        'counters',
        ['name', 'value'],
        rows,
        `where new.value < 60 and not exists (select 1 from counters where name = 'absent') on conflict do nothing`,
      ),
    )
    assert.equal(changed, 59)
    assert.deepEqual(await state.get('select count(*) as n, max(value) as last from counters'), { n: 60, last: 59 })
    assert.deepEqual(await state.get(`select value from counters where name = 'n1'`), { value: 7 })
    await state.close()
  })

  test('updateMany and deleteMany change the rows with the given keys, and no others', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const ids = Array.from({ length: 700 }, (_, id) => id)
    const names = ['ünï ☃ 𝄞', "it's", 'a"b\\c', '']
    const things = async () =>
      (
        await state.all<{ id: number; words: string | null; raw: Uint8Array | null }>(
          'select * from things order by id',
        )
      ).map(({ id, words, raw }) => [id, words, raw])
    await state.write((tx) =>
      tx.insertMany(
        'things',
        ['id', 'words', 'raw'],
        ids.map((id) => [id, 'old', Uint8Array.of(1)]),
      ),
    )
    const changed = ids.filter((id) => id % 3 === 0)
    const values = (id: number) => [id, names[id % names.length] ?? null, id % 2 === 0 ? null : Uint8Array.of(id % 256)]
    const updated = await state.write(async (tx) => [
      await tx.updateMany('things', ['id'], ['words', 'raw'], [...changed, 9999].map(values)),
      await tx.updateMany('things', ['id'], ['words'], [[1, null]]),
      await tx.updateMany('things', ['id'], ['words'], []),
    ])
    assert.deepEqual(updated, [changed.length, 1, 0])
    const expected = ids.map((id) => (id % 3 === 0 ? values(id) : [id, id === 1 ? null : 'old', Uint8Array.of(1)]))
    assert.deepEqual(await things(), expected)
    const deleted = await state.write(async (tx) => [
      await tx.deleteMany(
        'things',
        ['id', 'words'],
        ids.map((id) => [id, 'old']),
      ),
      await tx.deleteMany('things', ['id'], []),
    ])
    const left = expected.filter(([, words]) => words !== 'old')
    assert.deepEqual(deleted, [ids.length - left.length, 0])
    assert.deepEqual(await things(), left)
    await state.close()
  })

  test('a recent read sees the writes of this process (storage/state.ts, rule 8)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    for (let value = 0; value < 5; value += 1) {
      await state.write((tx) => tx.run(insertCounter, `n${value}`, value))
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
