// Leases when several servers share a database (storage/state.ts, rule 12).
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type LeaseContext, runUnderLease } from '#ingest/lease.ts'
import { LeaseLost } from '#ingest/lease-lost.ts'
import { leasedState } from '#ingest/leased-stores.ts'
import { silentLog } from '#runtime/log.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import type { State } from '#storage/state.ts'
import { stateWith } from '../authorization.ts'
import { waitForMoment } from '../wait-until.ts'
import type { CreateLocation } from './store-location.ts'
import { clock, giveTime, openTwoServers, random, stopBeforeCommit } from './two-servers.ts'

export function testLeases(createLocation: CreateLocation): void {
  const pace = { heartbeatMs: 600_000, expiryMs: 0, checkMs: 1 }
  const lease = { name: 'rates', wait: true, pace }
  const never = new AbortController().signal
  const leaseContext = (state: State): LeaseContext => ({ ingest: leasedState(state), clock, random, log: silentLog })
  const set = (state: State, at: number) => leasedState(state).write((tx) => moveCursor(tx, 'rates', at))

  test('after a lease was taken over, no transaction of its former holder commits, not even one that had begun (storage/state.ts, rule 12)', async () => {
    await using servers = await openTwoServers(createLocation)
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
    assert.equal(await cursorOf(one, 'rates'), seen.done, `it changed after the lease was taken: ${outcome[0].status}`)
  })

  test('a process that tries to take over a lease from a frozen holder writes everything else meanwhile', async (t) => {
    await using servers = await openTwoServers(createLocation)
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
    await using servers = await openTwoServers(createLocation)
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
    await using servers = await openTwoServers(createLocation)
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
