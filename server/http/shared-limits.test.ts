import { strict as assert } from 'node:assert'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { contract } from '#api/contract/contract.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import type { Fault } from '#core/fault.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { openRedis } from '#sources/redis.ts'
import { bearing, codeOf, fundedBy, makeKey, querying, quote } from '#test/authorization.ts'
import { openContext, type TestContext, testNowMs } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { noRedis, type RedisServer, startRedis } from '#test/redis.ts'
import { waitUntil } from '#test/wait-until.ts'
import { openAuthorizer } from './authorize.ts'
import { createLocalLimits, type LimitedCaller } from './limits.ts'
import { openSharedLimits } from './shared-limits.ts'
import { openUsageCounter } from './usage-counter.ts'

const limitedEndpoint: Endpoint = contract['explorer.fundedBy']
const otherEndpoint: Endpoint = contract['fx.createQuote']
const callerWith = (changes: Partial<LimitedCaller> = {}): LimitedCaller => ({
  keyId: 'k',
  perSecond: 3,
  perDay: 0,
  ...changes,
})

/** Scripts read the time from a key that the test sets. */
const timeFromKeys = `redis.call('MGET', 'seconds', 'micros')`

/** Sets the time that the scripts read. Without a timeout, because the machine may be busy. */
async function timeOf({ url }: RedisServer) {
  const set = `redis.call('MSET', 'seconds', ARGV[1], 'micros', ARGV[2]) return {0}`
  const wipe = `redis.call('FLUSHALL') return {0}`
  const redis = await openRedis({
    url,
    clock: new ManualClock(0),
    onConnect: async () => {},
    reportConnected: () => {},
  })
  return {
    at: (atMs: number) => redis.run(set, [], [String(Math.floor(atMs / 1000)), String((atMs % 1000) * 1000)]),
    wipe: () => redis.run(wipe, [], []),
    [Symbol.asyncDispose]: () => redis.close(),
  }
}

/** The same time, without timers. */
const still = (clock: ManualClock): Clock => ({
  now: () => clock.now(),
  monotonicMs: () => clock.monotonicMs(),
  sleep: (waitMs, signal) => clock.sleep(waitMs, signal),
  every: () => () => {},
})

/** A busy machine may take longer than the time limit of a reply (50 ms), but not a hundred times as long. */
const patientClock: Clock = {
  ...systemClock,
  sleep: (waitMs, signal) => systemClock.sleep(waitMs < 100 ? 100 * waitMs : waitMs, signal),
}

/** The result in one line. */
const outcomeOf = (fault: Fault | undefined): string =>
  fault ? `${fault.code} ${fault.textValues.limit} ${fault.retryAfterMs}` : 'accepted'

describe('limits in Redis', { skip: noRedis }, () => {
  test('Redis and a single process decide the same calls equally, including waits and texts', async () => {
    await using server = await startRedis()
    await using time = await timeOf(server)
    await using context = await openContext()
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.nat(300) },
      { weight: 2, arbitrary: fc.constantFrom(0, 0, 1, 999, 1000, 1001) },
      { weight: 1, arbitrary: fc.constantFrom(3000, 40_000_000, 86_400_000) },
    )
    const calls = fc.array(fc.record({ step, fixed: fc.boolean(), caller: fc.nat(2) }), { maxLength: 40, size: 'max' })
    const limits = fc.record({ perSecond: fc.nat(4), perDay: fc.nat(12) })
    const seen = new Map<string, number>()
    const manualClock = new ManualClock(testNowMs)
    const clock = still(manualClock)
    const [localCounter, sharedCounter] = [
      await openUsageCounter({ ...context, clock }),
      await openUsageCounter({ ...context, clock }),
    ]
    const alone = createLocalLimits(clock, localCounter)
    await time.at(clock.now())
    const shared = await openSharedLimits({ ...context, clock }, sharedCounter, {
      url: server.url,
      time: timeFromKeys,
    })
    await fc.assert(
      fc.asyncProperty(limits, calls, async (allowed, callsMade) => {
        // A new day, and more than a second after the start of Redis.
        manualClock.advance(86_400_000)
        for (const { step, fixed, caller } of callsMade) {
          manualClock.advance(step)
          await time.at(clock.now())
          const who = callerWith({
            ...allowed,
            ...[{ keyId: 'a' }, { keyId: 'b' }, { keyId: 'x', network: 'n' }][caller],
          })
          const endpoint = fixed ? limitedEndpoint : otherEndpoint
          const expected = outcomeOf(alone.consume(who, endpoint))
          assert.equal(outcomeOf(await shared.consume(who, endpoint)), expected)
          const outcome = expected.split(' ')[0] ?? ''
          seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
          const day = Math.floor(clock.now() / 86_400_000)
          if (allowed.perDay > 0)
            assert.equal(sharedCounter.acceptedOn(day, who.keyId), localCounter.acceptedOn(day, who.keyId))
        }
      }),
      { numRuns: 60 },
    )
    await shared.close()
    for (const counter of [localCounter, sharedCounter]) await counter.close()
    for (const outcome of ['accepted', 'limit.second', 'limit.day']) assert.ok((seen.get(outcome) ?? 0) > 20, outcome)
  })

  test('several processes that use one key never exceed its limits together, and reach that of the day', async () => {
    await using server = await startRedis()
    const limits = { perSecond: 5, perDay: 12 }
    const hammer = new URL('../../test/limit-load.ts', import.meta.url)
    const args = [server.url, JSON.stringify(limits)]
    const children = [1, 2, 3].map(() => fork(hammer, args, { stdio: 'inherit', execArgv: [] }))
    const lists = await Promise.all(
      children.map(async (child) => {
        const [ready] = await once(child, 'message')
        assert.equal(ready, 'ready')
        child.send('go')
        const [acceptedMs] = await once(child, 'message')
        return acceptedMs as { limited: number[]; other: number[] }
      }),
    )
    const all = (pick: 'limited' | 'other') => lists.flatMap((list) => list[pick]).sort((a, b) => a - b)
    const most = (times: number[]) =>
      Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1000).length))
    const limitedMs = all('limited')
    const bothMs = [...limitedMs, ...all('other')].sort((a, b) => a - b)
    // How many calls fall into one second depends on the machine, but never more than allowed.
    assert.ok(most(limitedMs) <= 2, `${most(limitedMs)} calls of one endpoint within a second`)
    assert.ok(most(bothMs) <= 5, `${most(bothMs)} calls within a second`)
    assert.equal(bothMs.length, limits.perDay)
    assert.ok(
      lists.filter((list) => list.limited.length + list.other.length > 0).length > 1,
      'only one process got calls accepted',
    )
  })

  test('a clock that is set back neither weakens a limit nor delays a call by more than a second', async () => {
    await using server = await startRedis()
    await using time = await timeOf(server)
    await using context = await openContext()
    const counter = await openUsageCounter(context)
    await time.at(testNowMs)
    const shared = await openSharedLimits(context, counter, { url: server.url, time: timeFromKeys })
    const ask = async (atMs: number) => {
      await time.at(atMs)
      return outcomeOf(await shared.consume(callerWith({ perSecond: 1 }), otherEndpoint))
    }
    assert.equal(await ask(testNowMs + 5000), 'accepted')
    assert.equal(await ask(testNowMs - 3_600_000), 'limit.second 1 1000')
    assert.equal(await ask(testNowMs - 3_600_000 + 999), 'limit.second 1 1')
    assert.equal(await ask(testNowMs - 3_600_000 + 1000), 'accepted')
    await shared.close()
    await counter.close()
  })

  test('a Redis without data gets the count of the day, and allows endpoint limits after a second', async () => {
    await using server = await startRedis()
    await using time = await timeOf(server)
    await using context = await openContext()
    const counter = await openUsageCounter(context)
    await time.at(testNowMs)
    const shared = await openSharedLimits(context, counter, { url: server.url, time: timeFromKeys })
    const ask = async (atMs: number, endpoint = otherEndpoint) => {
      await time.at(atMs)
      return outcomeOf(await shared.consume(callerWith({ perSecond: 0, perDay: 3 }), endpoint))
    }
    assert.equal(await ask(testNowMs), 'accepted')
    assert.equal(await ask(testNowMs), 'accepted')
    await time.wipe()
    assert.equal(await ask(testNowMs, limitedEndpoint), 'limit.unavailable undefined 1000')
    assert.equal(await ask(testNowMs + 999, limitedEndpoint), 'limit.unavailable undefined 1')
    assert.equal(await ask(testNowMs + 1000, limitedEndpoint), 'accepted')
    assert.equal(await ask(testNowMs + 1000), `limit.day 3 ${12 * 3_600_000 - 1000}`)
    await shared.close()
    await counter.close()
  })

  test('a Redis without data does not reset the daily count, for processes with and without earlier calls', async () => {
    await using server = await startRedis()
    await using time = await timeOf(server)
    await using context = await openContext()
    await time.at(testNowMs)
    const open = async () => {
      const counter = await openUsageCounter(context)
      return { counter, limits: await openSharedLimits(context, counter, { url: server.url, time: timeFromKeys }) }
    }
    const [one, two, three] = [await open(), await open(), await open()]
    const ask = async ({ limits }: typeof one) =>
      outcomeOf(await limits.consume(callerWith({ perSecond: 0, perDay: 3 }), otherEndpoint))
    const full = `limit.day 3 ${12 * 3_600_000}`
    const outcomes = [await ask(one), await ask(one), await ask(one), await ask(two)]
    assert.deepEqual(outcomes, ['accepted', 'accepted', 'accepted', full])
    await time.wipe()
    await time.at(testNowMs)
    // The second process knows that the daily limit is reached before it is stored, and passes it to Redis.
    assert.equal(await ask(two), full)
    await one.counter.flush()
    await time.wipe()
    await time.at(testNowMs)
    assert.equal(await ask(three), full)
    for (const { limits, counter } of [one, two, three]) {
      await limits.close()
      await counter.close()
    }
  })
})

describe('Redis outage', { skip: noRedis }, () => {
  interface Watched {
    readonly reported: boolean[]
    readonly lines: string[]
  }
  const watched = async (context: TestContext, url: string, clock = systemClock) => {
    const seen: Watched = { reported: [], lines: [] }
    const log = openLog('info', (line) => seen.lines.push(line))
    const report = (shared: boolean) => seen.reported.push(shared)
    const settings = { ...context.settings, limits: url }
    const world = { ...context, settings, log, clock }
    const authorizer = await openAuthorizer(world, undefined, undefined, report)
    return { ...seen, authorizer, [Symbol.asyncDispose]: () => authorizer.close() }
  }

  for (const how of ['killed', 'frozen'] as const) {
    test(`${how}: plan limits are counted per process, 4.3 is refused, one log line, and recovery without a restart`, async () => {
      await using server = await startRedis()
      await using context = await openContext({ plans: { standard: { perSecond: 0, perDay: 2 } } })
      await using at = await watched(context, server.url)
      const { key } = await makeKey(context, 'standard')
      const credentials = { ...bearing(key), query: { apikey: key } }
      const other = querying((await makeKey(context, 'standard')).key)
      assert.deepEqual(at.reported, [true])
      if (how === 'killed') await server.kill()
      else server.freeze()
      const codes = []
      for (let call = 0; call < 5; call++) codes.push(await codeOf(at.authorizer, quote, credentials))
      assert.deepEqual(codes, ['accepted', 'accepted', 'limit.day', 'limit.day', 'limit.day'])
      for (let call = 0; call < 5; call++) {
        assert.equal(await codeOf(at.authorizer, fundedBy, other), 'limit.unavailable')
      }
      await waitUntil(() => at.reported.length === 2)
      await systemClock.sleep(600)
      assert.deepEqual(at.reported, [true, false], 'it retries, but reports once')
      assert.equal(at.lines.filter((line) => line.includes('Redis does not respond')).length, 1)
      if (how === 'killed') await server.start()
      else server.thaw()
      await waitUntil(async () => (await codeOf(at.authorizer, fundedBy, other)) === 'accepted')
      assert.equal(at.reported[2], true)
      assert.equal(at.lines.length, at.reported.length)
      assert.ok(!at.lines.join('').includes(key))
    })
  }

  test('a restart of Redis does not reset the daily count, because counts are stored when it fails', async () => {
    await using server = await startRedis()
    await using context = await openContext({ plans: { standard: { perSecond: 0, perDay: 4 } } })
    await using one = await watched(context, server.url, patientClock)
    await using two = await watched(context, server.url, patientClock)
    const { key } = await makeKey(context, 'standard')
    const credentials = { ...bearing(key), query: { apikey: key } }
    for (let call = 0; call < 4; call++) assert.equal(await codeOf(one.authorizer, quote, credentials), 'accepted')
    await server.kill()
    await server.start()
    await waitUntil(() => two.reported.length === 3)
    assert.equal(await codeOf(two.authorizer, quote, credentials), 'limit.day')
  })

  test('a server starts without Redis, and the password is not logged', async () => {
    await using context = await openContext()
    await using at = await watched(context, 'redis://user:hidden-word@127.0.0.1:1')
    const { key } = await makeKey(context)
    assert.equal(await codeOf(at.authorizer, quote, { ...bearing(key), query: { apikey: key } }), 'accepted')
    assert.deepEqual(at.reported, [false])
    assert.match(at.lines.join(''), /ECONNREFUSED/)
    assert.ok(!at.lines.join('').includes('hidden-word'))
  })

  test('a restart of Redis within a second does not allow a third call', async () => {
    await using server = await startRedis()
    await using context = await openContext({ plans: { standard: { perSecond: 0 } } })
    await using at = await watched(context, server.url, patientClock)
    const { key } = await makeKey(context, 'standard')
    await systemClock.sleep(1000)
    const accepted: { readonly startMs: number; readonly endMs: number }[] = []
    const call = async () => {
      const startMs = performance.now()
      const code = await codeOf(at.authorizer, fundedBy, querying(key))
      if (code === 'accepted') accepted.push({ startMs, endMs: performance.now() })
    }
    while (accepted.length < 2) await call()
    await server.kill()
    await server.start()
    for (let left = 10_000; accepted.length < 6; left--) {
      assert.ok(left > 0, `${accepted.length} calls were accepted`)
      await call()
      await systemClock.sleep(5)
    }
    // Redis accepts a call between its start and its end.
    for (const [index, { startMs }] of accepted.slice(0, -2).entries()) {
      assert.ok((accepted[index + 2]?.endMs ?? 0) - startMs > 990)
    }
  })
})
