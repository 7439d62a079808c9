// The version of the database, which changes with each commit of any process.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { type CreateLocation, countCounters, insertCounter } from './store-location.ts'

export function testVersion(createLocation: CreateLocation): void {
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
    await ours.write((tx) => tx.run(insertCounter, 'ours', 1))
    assert.equal(changed(), true)
    await others.write((tx) => tx.run(insertCounter, 'others', 1))
    // Commits of others are noticed with the next turn, or slightly later over a network. The read in between must not
    // hide the change.
    await nextEventLoopTurn()
    assert.equal(await countCounters(ours), 2)
    const before = seen.at(-1)
    for (let tick = 0; tick < 1_000_000 && ours.version() === before; tick += 1) await nextEventLoopTurn()
    assert.equal(changed(), true)
    await ours
      .write(async (tx) => {
        await tx.run(insertCounter, 'more', 1)
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
