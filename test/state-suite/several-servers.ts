// What the groups rely on when several servers share a database. Each test opens it twice.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { createFxCaches } from '#fx/context.ts'
import { type NewQuote, type Replay, storeQuote } from '#fx/pricing/quotes.ts'
import { getReceiptSigner, rotateReceiptKey } from '#fx/receipts/receipt-key.ts'
import { createKeyFinder } from '#http/key-cache.ts'
import { type LeaseContext, runUnderLease } from '#ingest/lease.ts'
import { LeaseLost } from '#ingest/lease-lost.ts'
import { leasedState } from '#ingest/leased-stores.ts'
import { dropIdempotencyKeys } from '#operations/retention.ts'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import { createKey, findKey, revokeKey, rotateKey } from '#storage/keys.ts'
import { stateMigrations } from '#storage/migrations.ts'
import type { GroupWrite, State, StateWriter } from '#storage/state.ts'
import { addUsage, dayOf } from '#storage/usage.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import { stateWith } from '../authorization.ts'
import { waitForMoment } from '../wait-until.ts'
import { type CreateLocation, countCounters, insertCounter, writeInGroup } from './store-location.ts'

const nowMs = Date.UTC(2026, 10, 15)
const dayMs = 86_400_000
const [clock, random] = [systemClock, systemRandom]

/** The state of a server that stops before its next commit, until it is released. */
function stopBeforeCommit(state: State) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const write: State['write'] = (work, options) =>
    state.write(async (tx) => {
      const result = await work(tx)
      reached.resolve()
      await released.promise
      return result
    }, options)
  const writeTogether: State['writeTogether'] = async (group, item) => {
    const [result] = await write((tx) => group(tx, [item]))
    return result as never
  }
  return { state: stateWith(state, { write, writeTogether }), reached: reached.promise, release: released.resolve }
}

/** Enough for a write that has started and does not have to wait. */
async function giveTime(state: State): Promise<void> {
  for (let read = 0; read < 100; read += 1) {
    await state.get('select 1 as one')
    await nextEventLoopTurn()
  }
}

/** The state of a server whose groups take some time to commit. */
function slowGroups(state: State): State {
  /** A group is known by its function. */
  const slow = new Map<unknown, GroupWrite<never, unknown>>()
  const slowDown =
    <Item, Result>(group: GroupWrite<Item, Result>): GroupWrite<Item, Result> =>
    async (tx, items) => {
      const results = await group(tx, items)
      await giveTime(state)
      return results
    }
  const writeTogether: State['writeTogether'] = (group, item) =>
    state.writeTogether(slow.getOrInsertComputed(group, () => slowDown(group)) as typeof group, item)
  return stateWith(state, { writeTogether })
}

const contextOf = (state: State) => ({ state, clock, random, fx: createFxCaches() })

async function newQuote(state: State): Promise<NewQuote> {
  const { id } = await getReceiptSigner(contextOf(state))
  const quoteId = random.uuid()
  return {
    ...{ id: quoteId, keyId: 'caller', createdMs: nowMs, asOfMs: nowMs, nonce: null, pricedFrom: '{}' },
    ...{ receiptKey: id, receiptSignature: new Uint8Array(64), reply: new TextEncoder().encode(quoteId) },
  }
}

const replayOf = (idempotencyKey: string, bodyHash = 'same'): Replay => ({ keyId: 'caller', idempotencyKey, bodyHash })
const countQuotes = async (state: State, receiptKey?: string): Promise<number> => {
  const where = receiptKey === undefined ? '' : `where receipt_key = '${receiptKey}'`
  return (await state.get<{ n: number }>(`select count(*) as n from fx_quotes ${where}`))?.n ?? 0
}

export function testSeveralServers(createLocation: CreateLocation): void {
  async function openTwo() {
    const resources = new AsyncDisposableStack()
    const location = resources.use(await createLocation())
    const open = async () => resources.adopt(await location.open(stateMigrations), (state) => state.close())
    return { one: await open(), other: await open(), [Symbol.asyncDispose]: () => resources.disposeAsync() }
  }

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

  testLeases()
  testQuotes()
  testKeys()

  function testLeases(): void {
    const pace = { heartbeatMs: 600_000, expiryMs: 0, checkMs: 1 }
    const lease = { name: 'rates', wait: true, pace }
    const never = new AbortController().signal
    const leaseContext = (state: State): LeaseContext => ({ ingest: leasedState(state), clock, random, log: silentLog })
    const set = (state: State, at: number) => leasedState(state).write((tx) => moveCursor(tx, 'rates', at))

    test('after a lease was taken over, no transaction of its former holder commits, not even one that had begun (storage/state.ts, rule 12)', async () => {
      await using servers = await openTwo()
      const { one, other } = servers
      const stopped = stopBeforeCommit(one)
      const former = runUnderLease(leaseContext(one), lease, () => set(stopped.state, 1), never)
      await stopped.reached
      const next = runUnderLease(leaseContext(other), lease, () => cursorOf(other, 'rates'), never)
      await giveTime(other)
      stopped.release()
      const outcome = await Promise.allSettled([former])
      const seen = await next
      assert.ok(seen)
      assert.equal(
        await cursorOf(one, 'rates'),
        seen.done,
        `it changed after the lease was taken: ${outcome[0].status}`,
      )
    })

    test('a process that tries to take over a lease from a frozen holder writes everything else meanwhile', async (t) => {
      await using servers = await openTwo()
      const { one, other } = servers
      if (one.engine === 'sqlite') return t.skip('a transaction locks the whole file')
      const stopped = stopBeforeCommit(one)
      const former = runUnderLease(leaseContext(one), lease, () => set(stopped.state, 1), never)
      await stopped.reached
      let attempts = 0
      const counted = stateWith(other, {
        write: (work, options) => {
          attempts += 1
          return other.write(work, options)
        },
      })
      const next = runUnderLease(leaseContext(counted), lease, () => cursorOf(other, 'rates'), never)
      try {
        await waitForMoment(() => attempts > 0)
        await other.write((tx) => moveCursor(tx, 'meanwhile', 1))
      } finally {
        stopped.release()
      }
      const [outcome] = await Promise.allSettled([former, next])
      // PostgreSQL ends the connection of a frozen holder after a while. The write did not wait for that.
      assert.equal(outcome.status, 'fulfilled')
      assert.equal((await next)?.done, 1)
    })

    test('of two processes that take over a lease at the same time, one gets it (storage/state.ts, rule 12)', async () => {
      await using servers = await openTwo()
      const { one, other } = servers
      for (let round = 0; round < 3; round += 1) {
        const over = Promise.withResolvers<void>()
        let holders = 0
        let holdersMax = 0
        const hold = async () => {
          holders += 1
          holdersMax = Math.max(holdersMax, holders)
          await over.promise
          holders -= 1
        }
        // The second one sees the row of the first one as of a live process.
        const patient = { ...lease, pace: { ...pace, expiryMs: 600_000 } }
        const stopped = stopBeforeCommit(one)
        const first = runUnderLease(leaseContext(stopped.state), patient, hold, never)
        await stopped.reached
        const second = runUnderLease(leaseContext(other), patient, hold, never)
        await giveTime(other)
        stopped.release()
        await waitForMoment(async () => holders > 0)
        await giveTime(other)
        over.resolve()
        await Promise.all([first, second])
        assert.equal(holdersMax, 1)
      }
    })

    test('a former holder of a lease that wakes up commits nothing (storage/state.ts, rule 12)', async () => {
      await using servers = await openTwo()
      const { one, other } = servers
      const [begun, taken, over] = [0, 0, 0].map(() => Promise.withResolvers<void>()) as [
        PromiseWithResolvers<void>,
        PromiseWithResolvers<void>,
        PromiseWithResolvers<void>,
      ]
      const former = runUnderLease(
        leaseContext(one),
        lease,
        async () => {
          await set(one, 1)
          begun.resolve()
          await taken.promise
          await set(one, 2)
        },
        never,
      )
      await begun.promise
      const next = runUnderLease(
        leaseContext(other),
        lease,
        async () => {
          taken.resolve()
          await over.promise
          await set(other, 3)
        },
        never,
      )
      await assert.rejects(former, LeaseLost)
      assert.equal(await cursorOf(one, 'rates'), 1)
      over.resolve()
      await next
      assert.equal(await cursorOf(one, 'rates'), 3)
    })
  }

  function testQuotes(): void {
    const store = async (state: State, replay: Replay, atMs = nowMs): Promise<string> => {
      const build = async () => ({ ...(await newQuote(state)), createdMs: atMs })
      return new TextDecoder().decode((await storeQuote(state, build, replay)).reply)
    }

    test('an idempotency key that is used on two servers at once makes one quote (storage/state.ts, rule 13)', async () => {
      await using servers = await openTwo()
      const { one, other } = servers
      for (let key = 0; key < 5; key += 1) {
        const calls = Array.from({ length: 12 }, (_, at) => store(at % 2 === 0 ? one : other, replayOf(`order ${key}`)))
        assert.equal(new Set(await Promise.all(calls)).size, 1)
        assert.equal(await countQuotes(one), key + 1)
      }
      // After a day the keys are free again, once.
      const later = nowMs + dayMs + 1
      const again = await Promise.all([one, other].map((state) => store(state, replayOf('order 1'), later)))
      assert.equal(new Set(again).size, 1)
      assert.equal(await countQuotes(one), 6)
    })

    test('an expired idempotency key that is used again is not deleted (storage/state.ts, rule 13)', async () => {
      await using servers = await openTwo()
      const { one, other } = servers
      await store(one, replayOf('order'))
      const later = nowMs + dayMs + 1
      const stopped = stopBeforeCommit(one)
      const renewed = store(stopped.state, replayOf('order'), later)
      await stopped.reached
      const context = { state: other, clock: { ...clock, now: () => later } }
      const deleting = dropIdempotencyKeys(context, new AbortController().signal)
      await giveTime(other)
      stopped.release()
      await deleting
      assert.equal(await store(other, replayOf('order'), later), await renewed)
      assert.equal(await countQuotes(one), 2)
    })

    test('a server waits for the quote that another one is storing with the same idempotency key (storage/state.ts, rule 13)', async () => {
      await using servers = await openTwo()
      const { one, other } = servers
      await getReceiptSigner(contextOf(one))
      const stopped = stopBeforeCommit(one)
      const first = store(stopped.state, replayOf('order'))
      await stopped.reached
      const second = store(other, replayOf('order'))
      const differing = store(other, replayOf('order', 'another body'))
      const refused = assert.rejects(differing, (error) => error instanceof Fault && error.code === 'fx.idempotency')
      await giveTime(other)
      stopped.release()
      assert.equal(await second, await first)
      await refused
      assert.equal(await countQuotes(other), 1)
    })

    test('once a rotation of the receipt key is committed, no quote commits that the old key has signed (storage/state.ts, rule 14)', async () => {
      await using servers = await openTwo()
      const { one, other } = servers
      const { id } = await getReceiptSigner(contextOf(one))
      const stopped = stopBeforeCommit(one)
      const quoted = store(stopped.state, replayOf('order'))
      await stopped.reached
      const rotating = rotateReceiptKey(contextOf(other)).then(() => countQuotes(other, id))
      await giveTime(other)
      stopped.release()
      await quoted
      assert.equal(await countQuotes(one, id), await rotating)
    })

    test('quotes that are stored while the receipt key is rotated are signed by a key that is not retired (storage/state.ts, rule 14)', async () => {
      await using servers = await openTwo()
      const { one, other } = servers
      await getReceiptSigner(contextOf(one))
      const slow = [slowGroups(one), slowGroups(other)]
      const quoting = Array.from({ length: 40 }, (_, at) => store(slow[at % 2] ?? one, replayOf(`order ${at}`)))
      const retired: [key: string, quotes: number][] = []
      for (let rotation = 0; rotation < 4; rotation += 1) {
        const { id } = await getReceiptSigner(contextOf(one))
        await rotateReceiptKey(contextOf(rotation % 2 === 0 ? one : other))
        retired.push([id, await countQuotes(one, id)])
      }
      assert.equal(new Set(await Promise.all(quoting)).size, 40)
      for (const [key, quotes] of retired) assert.equal(await countQuotes(one, key), quotes)
    })
  }

  function testKeys(): void {
    test('a revoked or rotated API key is refused by every server once it notices the commit (storage/state.ts, rule 15)', async () => {
      await using servers = await openTwo()
      const { one, other } = servers
      const find = createKeyFinder({ state: other, clock })
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
      await using servers = await openTwo()
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
}
