// Coverage and cursors of ingesters.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { addCoverage, coverageOf, cursorOf, moveCursor } from '#storage/coverage.ts'
import { stateMigrations } from '#storage/migrations.ts'
import type { CreateLocation } from './store-location.ts'

export function testCoverage(createLocation: CreateLocation): void {
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
