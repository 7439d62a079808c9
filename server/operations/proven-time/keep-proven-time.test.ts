import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ProvenTime } from '#runtime/proven-time.ts'
import { openContext, type TestContext, testNowMs } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { openProvenTime } from './keep-proven-time.ts'
import type { TimeReading } from './read-time-sources.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const yearMs = 365 * dayMs

/** A server from its start on. The clock is right, except for `wrongByMs`. */
async function startOf({ state }: TestContext, atMs: number, wrongByMs = 0) {
  const clock = new ManualClock(atMs)
  clock.wrongByMs = wrongByMs
  const provenTime = new ProvenTime(clock)
  let readings: readonly TimeReading[] = []
  const keeper = await openProvenTime({ state, clock, provenTime }, async () => readings)
  await keeper.step()
  return {
    clock,
    provenTime,
    /** By how much the time of deletions is behind the real time. */
    behindMs: () => atMs + clock.monotonicMs() - provenTime.forDeletions(),
    async runs(forMs: number, times: (nowMs: number) => readonly number[] = () => []) {
      for (let ranMs = 0; ranMs < forMs; ranMs += hourMs) {
        clock.advance(hourMs)
        readings = times(atMs + clock.monotonicMs()).map((at, source) => ({ source: `source ${source}`, atMs: at }))
        await keeper.step()
      }
    },
  }
}

/** Its clock has been trusted. */
async function runFirstDay(context: TestContext): Promise<void> {
  const server = await startOf(context, testNowMs - dayMs)
  await server.runs(dayMs)
  assert.equal(server.behindMs(), 0)
}

describe('the clock is wrong', () => {
  for (const [name, wrongByMs] of [
    ['20 hours', 20 * hourMs] as const,
    ['35 days', 35 * dayMs] as const,
    ['5 years', 5 * yearMs] as const,
  ]) {
    test(`a start with the clock ${name} ahead does not move the time of deletions`, async () => {
      await using context = await openContext()
      await runFirstDay(context)
      const wrong = await startOf(context, testNowMs + hourMs, wrongByMs)
      assert.ok(wrong.behindMs() >= 0)
      await wrong.runs(5 * hourMs)
      assert.equal(wrong.behindMs(), hourMs)
      const right = await startOf(context, testNowMs + 7 * hourMs)
      assert.equal(right.behindMs(), 2 * hourMs)
    })
  }

  test('a clock that is set ahead while the server runs does not move it', async () => {
    await using context = await openContext()
    await runFirstDay(context)
    const server = await startOf(context, testNowMs)
    server.clock.wrongByMs = 35 * dayMs
    await server.runs(5 * hourMs)
    assert.equal(server.behindMs(), 0)
  })

  test('with a clock that is set back, nothing is deleted, and expired keys stay expired', async () => {
    await using context = await openContext()
    await runFirstDay(context)
    const server = await startOf(context, testNowMs, -35 * dayMs)
    assert.equal(server.provenTime.forDeletions(), testNowMs - 35 * dayMs)
    assert.equal(server.provenTime.forKeys(), testNowMs)
  })

  test('as long as two sources contradict it, it is never trusted', async () => {
    await using context = await openContext()
    await runFirstDay(context)
    const server = await startOf(context, testNowMs, 35 * dayMs)
    await server.runs(3 * dayMs, (nowMs) => [nowMs, nowMs - 1000])
    assert.equal(server.behindMs(), 0)
  })
})

describe('a server was off for 40 days', () => {
  const afterMs = testNowMs + 40 * dayMs

  test('two sources prove the time at once', async () => {
    await using context = await openContext()
    await runFirstDay(context)
    const server = await startOf(context, afterMs)
    assert.equal(server.behindMs(), 40 * dayMs)
    await server.runs(hourMs, (nowMs) => [nowMs, nowMs - 5000, nowMs - dayMs])
    assert.equal(server.behindMs(), 5000)
  })

  test('without sources, it is proven after 24 hours, also if the server stops in between', async () => {
    await using context = await openContext()
    await runFirstDay(context)
    const first = await startOf(context, afterMs)
    await first.runs(10 * hourMs)
    const second = await startOf(context, afterMs + dayMs)
    await second.runs(13 * hourMs)
    assert.ok(second.behindMs() > 40 * dayMs)
    await second.runs(hourMs)
    assert.equal(second.behindMs(), 0)
  })

  test('one source alone proves nothing, whatever it claims', async () => {
    await using context = await openContext()
    await runFirstDay(context)
    const server = await startOf(context, afterMs)
    await server.runs(hourMs, (nowMs) => [nowMs + yearMs])
    assert.equal(server.behindMs(), 40 * dayMs)
  })

  test('sources that are ahead of the clock prove no later time than the clock', async () => {
    await using context = await openContext()
    await runFirstDay(context)
    const server = await startOf(context, afterMs)
    await server.runs(hourMs, (nowMs) => [nowMs + yearMs, nowMs + yearMs])
    assert.equal(server.provenTime.ms, afterMs + hourMs)
  })
})

test('a server that is stopped every night trusts its clock after some days', async () => {
  await using context = await openContext()
  await runFirstDay(context)
  const behindMs: number[] = []
  for (let day = 1; day <= 3; day++) {
    const server = await startOf(context, testNowMs + day * dayMs)
    await server.runs(8 * hourMs)
    behindMs.push(server.behindMs())
  }
  assert.deepEqual(behindMs, [dayMs, dayMs + 16 * hourMs, 0])
})

test('before the first day of a new store, no time is proven', async () => {
  await using context = await openContext()
  const server = await startOf(context, testNowMs)
  await server.runs(23 * hourMs)
  assert.ok(server.provenTime.forDeletions() < yearMs)
  assert.equal(server.provenTime.forKeys(), testNowMs + 23 * hourMs)
  await server.runs(hourMs)
  assert.equal(server.behindMs(), 0)
})
