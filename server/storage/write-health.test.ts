import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { WriteHealth, writeOutcome } from './write-health.ts'

const full = new Fault('store.unavailable', { detail: 'the disk is full', cause: new Error('SQLITE_FULL') })

/** A state that counts writes and fails on request. */
async function openFailing() {
  const context = await openContext()
  const writes = new WriteHealth(context.clock)
  const counts = { fails: true, writes: 0 }
  const state = stateWith(context.state, {
    write: async (work, options) => {
      counts.writes += 1
      try {
        if (counts.fails) throw full
        const result = await context.state.write(work, options)
        writes.recordWrite('state', 'written')
        return result
      } catch (error) {
        writes.recordWrite('state', writeOutcome(error))
        throw error
      }
    },
  })
  return { context, writes, counts, state, [Symbol.asyncDispose]: () => context[Symbol.asyncDispose]() }
}

describe('the state', () => {
  test('is failing from the first failed write until a test write succeeds, tried at once and then every five seconds', async () => {
    await using failing = await openFailing()
    const { context, writes, counts, state } = failing
    const since = () => writes.failingSince('state', state)
    assert.equal(await since(), undefined)
    assert.equal(counts.writes, 0, 'nothing is tried while all is well')
    writes.recordWrite('state', writeOutcome(full))
    assert.deepEqual([await since(), counts.writes], [testNowMs, 1])
    context.clock.advance(4999)
    assert.deepEqual([await since(), counts.writes], [testNowMs, 1])
    context.clock.advance(1)
    assert.deepEqual([await since(), counts.writes], [testNowMs, 2])
    counts.fails = false
    // A successful transaction may have written nothing.
    writes.recordWrite('state', 'written')
    assert.equal(await since(), testNowMs)
    context.clock.advance(5000)
    assert.deepEqual([await since(), counts.writes], [undefined, 3])
    assert.deepEqual(await context.state.all('select stream from cursors'), [], 'nothing is left')
  })

  test('is healthy at the next check after a single failed write', async () => {
    await using failing = await openFailing()
    failing.counts.fails = false
    failing.writes.recordWrite('state', writeOutcome(full))
    assert.equal(await failing.writes.failingSince('state', failing.state), undefined)
  })

  test('is not failing because of refused writes or other errors', async () => {
    await using failing = await openFailing()
    failing.writes.recordWrite(
      'state',
      writeOutcome(new Fault('store.unavailable', { detail: '10000 writes are waiting' })),
    )
    failing.writes.recordWrite('state', writeOutcome(new Fault('input.invalid')))
    failing.writes.recordWrite('state', writeOutcome(new Error('unique constraint')))
    assert.equal(await failing.writes.failingSince('state', failing.state), undefined)
  })
})

describe('the duties', () => {
  test('are failing until the next successful write', async () => {
    await using context = await openContext()
    const writes = new WriteHealth(context.clock)
    writes.recordWrite('duties', writeOutcome(full))
    assert.equal(writes.dutiesFailingSince(), testNowMs)
    writes.recordWrite('duties', 'written')
    assert.equal(writes.dutiesFailingSince(), undefined)
  })

  test('are no longer failing after 15 minutes without a write', async () => {
    await using context = await openContext()
    const writes = new WriteHealth(context.clock)
    writes.recordWrite('duties', writeOutcome(full))
    context.clock.advance(14 * 60_000)
    writes.recordWrite('duties', writeOutcome(full))
    context.clock.advance(14 * 60_000)
    assert.equal(writes.dutiesFailingSince(), testNowMs)
    context.clock.advance(60_000)
    assert.equal(writes.dutiesFailingSince(), undefined)
  })
})

test('a write without a lock that has not ended for five seconds blocks its database until it ends', async () => {
  await using context = await openContext()
  const health = new WriteHealth(context.clock)
  const gates = Array.from({ length: 3 }, () => Promise.withResolvers<never>())
  const [single, grouped, locked] = gates
  const state = stateWith(context.state, {
    write: (_, options) => (options?.lock ? locked : single)?.promise as Promise<never>,
    writeTogether: () => grouped?.promise as Promise<never>,
  })
  const watched = health.watch(state, 'state')
  const group = async () => []
  const writes = [watched.write(async () => 1), watched.write(async () => 1, { lock: 'labels' })]
  context.clock.advance(1000)
  writes.push(watched.writeTogether(group, 1))
  context.clock.advance(3999)
  assert.equal(health.blockedSince('state'), undefined)
  context.clock.advance(1)
  assert.deepEqual([health.blockedSince('state'), health.blockedSince('ingest')], [testNowMs, undefined])
  single?.reject(new Error('lost'))
  await assert.rejects(writes[0] as Promise<unknown>, /lost/)
  assert.equal(health.blockedSince('state'), undefined)
  context.clock.advance(1000)
  assert.equal(health.blockedSince('state'), testNowMs + 1000)
  for (const gate of gates) gate.reject(new Error('lost'))
  await Promise.allSettled(writes)
  assert.equal(health.blockedSince('state'), undefined)
})
