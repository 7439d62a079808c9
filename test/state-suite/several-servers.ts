// What every part of a server relies on when several servers share a database: numbers, own writes and API keys
// (storage/state.ts, rules 10, 11 and 15). Leases: leases.ts. Quotes: stored-quotes.ts.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { createKeyFinder } from '#http/key-cache.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { createKey, findKey, revokeKey, rotateKey } from '#storage/keys.ts'
import type { State, StateWriter } from '#storage/state.ts'
import { addUsage, dayOf } from '#storage/usage.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import { provenTimeOf } from '../proven-time.ts'
import { waitForMoment } from '../wait-until.ts'
import { type CreateLocation, countCounters, insertCounter, writeInGroup } from './store-location.ts'
import { clock, giveTime, nowMs, openTwoServers, random, stopBeforeCommit } from './two-servers.ts'

export function testSeveralServers(createLocation: CreateLocation): void {
  test('numbers that writes assign are unique and become visible in order (storage/state.ts, rule 10)', async () => {
    await using location = await createLocation()
    const [one, other] = [await location.open(), await location.open()]
    const assign = (state: State) =>
      state.write((tx) => tx.run('insert into things (id) select coalesce(max(id), 0) + 1 from things'), {
        lock: 'markets',
      })
    let isDone = false
    const reading = (async () => {
      while (!isDone) {
        const row = await other.get<{ last: number | null; n: number }>(
          'select max(id) as last, count(*) as n from things',
        )
        assert.equal(row?.last ?? 0, row?.n)
        await nextEventLoopTurn()
      }
    })()
    await Promise.all(Array.from({ length: 60 }, (_, at) => assign(at % 2 === 0 ? one : other)))
    isDone = true
    await reading
    assert.deepEqual(await one.get('select max(id) as n from things'), { n: 60 })
    await Promise.all([one.close(), other.close()])
  })

  test('a process reads what it has written, also from caches and with recent (storage/state.ts, rule 11)', async () => {
    await using location = await createLocation()
    const [state, other] = [await location.open(), await location.open()]
    const counts = cacheUntilVersionChanges<number | undefined>()
    const cached = async () => counts(state, 'counters', () => countCounters(state))
    for (let written = 1; written <= 10; written += 1) {
      const write = (tx: StateWriter) => tx.run(insertCounter, `n${written}`, 1)
      await (written % 2 === 0 ? writeInGroup(state, write) : state.write(write))
      const rows = []
      for await (const row of state.each('select name from counters')) rows.push(row)
      const seen = [
        await cached(),
        await countCounters(state),
        await state.snapshot(async (reader) => (await reader.all('select name from counters')).length),
        (await state.recent.all('select name from counters')).length,
        rows.length,
      ]
      assert.deepEqual(seen, [written, written, written, written, written])
    }
    // What it has noticed of others is as good as its own.
    const before = state.version()
    await other.write((tx) => tx.run(insertCounter, 'theirs', 1))
    await waitForMoment(async () => state.version() !== before)
    assert.deepEqual([await cached(), (await state.recent.all('select name from counters')).length], [11, 11])
    await Promise.all([state.close(), other.close()])
  })

  test('a revoked or rotated API key is refused by every server once it notices the commit (storage/state.ts, rule 15)', async () => {
    await using servers = await openTwoServers(createLocation)
    const { one, other } = servers
    const find = createKeyFinder({ state: other, provenTime: provenTimeOf(clock) })
    const { id, key } = await createKey(one, { name: 'caller', plan: 'free' }, clock, random)
    await waitForMoment(async () => (await find(key)) !== undefined)
    const rotated = await rotateKey(one, { id }, clock, random)
    assert.ok(rotated)
    await waitForMoment(async () => (await find(key)) === undefined)
    assert.equal((await find(rotated.key))?.id, id)
    const before = other.version()
    await revokeKey(one, id, clock)
    await waitForMoment(async () => other.version() !== before)
    assert.deepEqual([await find(rotated.key), await find(key)], [undefined, undefined])
  })

  test('counting calls of a key does not undo its revocation (storage/state.ts, rule 15)', async () => {
    await using servers = await openTwoServers(createLocation)
    const { one, other } = servers
    const { id } = await createKey(one, { name: 'caller', plan: 'free' }, clock, random)
    const stopped = stopBeforeCommit(one)
    const count = { day: dayOf(nowMs), keyId: id, endpoint: 'fx.createQuote', outcome: 'accepted', calls: 1 } as const
    const counting = addUsage(stopped.state, [count], new Map([[id, nowMs]]))
    await stopped.reached
    const revoking = revokeKey(other, id, clock)
    const counted = addUsage(other, [count], new Map([[id, nowMs + 1]]))
    await giveTime(other)
    stopped.release()
    await Promise.all([counting, counted, revoking])
    const { revokedAtMs, lastUsedAtMs } = (await findKey(one, id)) ?? {}
    assert.equal(typeof revokedAtMs, 'number')
    assert.equal(lastUsedAtMs, nowMs + 1)
    assert.deepEqual(await one.get('select calls from usage'), { calls: 2 })
  })
}
