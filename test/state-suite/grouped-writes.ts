// Items that are written together: they share a transaction but fail separately.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import type { StateWriter } from '#storage/state.ts'
import { type CreateLocation, countCounters, insertCounter, writeInGroup } from './store-location.ts'

export function testGroupedWrites(createLocation: CreateLocation): void {
  test('each is durable when it resolves, in order, with its own result (storage/state.ts, rule 6)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const names = Array.from({ length: 600 }, (_, at) => `n${at}`)
    const order: string[] = []
    const results = await Promise.all(
      names.map((name, at) =>
        writeInGroup(state, async (tx) => {
          await tx.run(insertCounter, name, at)
          order.push(name)
          return (await tx.get<{ n: number }>('select count(*) as n from counters'))?.n
        }),
      ),
    )
    assert.deepEqual(order, names)
    assert.deepEqual(
      results,
      names.map((_, at) => at + 1),
    )
    assert.equal(await countCounters(state), names.length)
    await state.close()
    const again = await location.open()
    assert.equal(await countCounters(again), names.length)
    await again.close()
  })

  test('writes and groups begin in the order of their arrival', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const order: string[] = []
    const add = (name: string) => async (tx: StateWriter) => {
      await tx.run(insertCounter, name, 1)
      order.push(name)
    }
    const gate = Promise.withResolvers<void>()
    const first = state.write(() => gate.promise)
    // On PostgreSQL, groups have a queue of their own.
    const write = (name: string) =>
      state.engine === 'sqlite' && name === 'c' ? writeInGroup(state, add(name)) : state.write(add(name))
    const waiting = ['a', 'b', 'c', 'd'].map(write)
    gate.resolve()
    await Promise.all([first, ...waiting])
    assert.deepEqual(order, ['a', 'b', 'c', 'd'])
    await state.close()
  })

  test('a failure undoes only the statements of that write (storage/state.ts, rule 6)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const attempts = Array.from({ length: 30 }, (_, at) =>
      writeInGroup(state, async (tx) => {
        await tx.run(insertCounter, `half ${at}`, 1)
        if (at % 3 === 1) throw new Error(`own ${at}`)
        // A violated constraint fails the member even if it is caught (storage/state.ts, rule 4).
        if (at % 3 === 2) await tx.run(insertCounter, 'half 0', 1).catch(() => {})
        await tx.run(insertCounter, `whole ${at}`, 1)
      }),
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
    const writeAndCount = async (tx: StateWriter, name: string) => {
      await tx.run(insertCounter, name, 1)
      seen.push(await countCounters(state))
    }
    await Promise.all(['a', 'b', 'c'].map((name) => writeInGroup(state, (tx) => writeAndCount(tx, name))))
    assert.deepEqual(seen, [0, 0, 0])
    assert.equal(await countCounters(state), 3)
    await state.close()
  })

  test('groups of one process are serialized: increments are all counted (storage/state.ts, rule 2)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write((tx) => tx.run(insertCounter, 'n', 0))
    const increment = async (tx: StateWriter) => {
      const row = await tx.get<{ value: number }>('select value from counters')
      await new Promise((resolve) => setImmediate(resolve))
      await tx.run('update counters set value = ?', (row?.value ?? 0) + 1)
    }
    await Promise.all(Array.from({ length: 30 }, () => writeInGroup(state, increment)))
    for (let at = 0; at < 30; at += 1) await writeInGroup(state, increment)
    assert.deepEqual(await state.get('select value from counters'), { value: 60 })
    await state.close()
  })

  test('nested and too many writes are refused; closing waits for running ones', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const nested = writeInGroup(state, () => writeInGroup(state, async () => 1))
    await assert.rejects(nested, /a write was started inside another/)
    const gate = Promise.withResolvers<void>()
    const held = state.write(() => gate.promise)
    let done = 0
    const count = () =>
      writeInGroup(state, async () => {
        done += 1
      })
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
