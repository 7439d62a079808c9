// Transactions: atomic, isolated, serialized, not nested.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type CreateLocation, countCounters, insertCounter } from './store-location.ts'

export function testTransactions(createLocation: CreateLocation): void {
  test('resolved writes are there after reopening; failed ones have no effect (storage/state.ts, rule 1)', async () => {
    await using location = await createLocation()
    const first = await location.open()
    await first.write((tx) => tx.run(insertCounter, 'kept', 1))
    const broken = first.write(async (tx) => {
      await tx.run(insertCounter, 'lost', 1)
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
      await tx.run(insertCounter, 'a', 1)
      assert.equal(await countCounters(state), 0)
      assert.deepEqual(await tx.get('select value from counters'), { value: 1 })
    })
    assert.equal(await countCounters(state), 1)
    await state.close()
  })

  test('writes are serialized: 100 slow increments are all counted (storage/state.ts, rule 2)', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write((tx) => tx.run(insertCounter, 'a', 0))
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
      await tx.run(insertCounter, 'a', 1)
      await tx.run(insertCounter, 'a', 2).catch(() => {})
    })
    await assert.rejects(work, /unique/i)
    assert.equal(await countCounters(state), 0)
    await state.write((tx) => tx.run(insertCounter, 'a', 3))
    assert.equal(await countCounters(state), 1)
    await state.close()
  })

  test('a write inside a write is refused instead of waiting for itself', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await assert.rejects(
      state.write(() => state.write((tx) => tx.run(insertCounter, 'a', 1))),
      /inside another/,
    )
    assert.equal(await countCounters(state), 0)
    await state.close()
  })

  test('a transaction used after its end is refused', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const tx = await state.write(async (inside) => inside)
    await assert.rejects(tx.run(insertCounter, 'a', 1), /after its end/)
    assert.equal(await countCounters(state), 0)
    await state.close()
  })
}
