// Snapshots: several reads of the same state.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { State, StateReader } from '#storage/state.ts'
import { type CreateLocation, countCounters, insertCounter } from './store-location.ts'

export function testSnapshots(createLocation: CreateLocation): void {
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
    await state.write((tx) => tx.run(insertCounter, 'a', 1))
    const seen = await state.snapshot(async (reader) => {
      const first = await counted(reader)
      await state.write((tx) => tx.run(insertCounter, 'b', 2))
      await other.write((tx) => tx.run(insertCounter, 'c', 3))
      return [
        first,
        await counted(reader),
        (await reader.all('select name from counters')).length,
        await countCounters(state),
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
    assert.equal(await countCounters(state), 0)
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
    await state.write((tx) => tx.run(insertCounter, 'a', 1))
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
