// Migrations: each runs once and completely.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import type { Migration } from '#storage/state.ts'
import type { CreateLocation } from './store-location.ts'

const step = (id: number, name: string, ...statements: string[]): Migration => ({ id, name, up: () => statements })

export function testMigrations(createLocation: CreateLocation): void {
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
