// Limits of waiting writes, and closing.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { type CreateLocation, countCounters, insertCounter } from './store-location.ts'

export function testLimits(createLocation: CreateLocation): void {
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
    const under = state.write((tx) => tx.run(insertCounter, 'a', 1))
    await state.close()
    await under
    await assert.rejects(state.get('select 1'), unavailable)
    await assert.rejects(
      state.write((tx) => tx.run(insertCounter, 'b', 1)),
      unavailable,
    )
    assert.throws(() => state.version(), unavailable)
    const again = await location.open()
    assert.equal(await countCounters(again), 1)
    await again.close()
  })
}
