// A server that polls the rates is suspended: another one polls them before they expire.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paceOf, runWhileLeased } from '#ingest/lease.ts'
import { leasedState } from '#ingest/leased-stores.ts'
import { poll } from '#ingest/poll.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { ratesTakeoverMs, takeoverProblems } from '#runtime/settings/fx-sources.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openIngest, openState } from '#storage/open.ts'
import { openContext, seededRandom, settingsWith, testNowMs } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { isFresh } from '../pricing/mid.ts'
import { allLatestRates, storeRates } from './rate-store.ts'

const settle = async () => {
  for (let turn = 0; turn < 40; turn++) await nextEventLoopTurn()
}

/** One of several servers, with its own clock. It polls `source` while it holds the lease. */
async function startPolling(dir: string, seed: string, source: FxSource, everyMs: number) {
  const [state, ingest] = [await openState(dir), leasedState(await openIngest(dir))]
  const clock = new ManualClock(testNowMs)
  const context = { ingest, clock, random: seededRandom(seed), log: silentLog }
  const stop = new AbortController()
  const work = async () => {
    const rate = { source: source.id, base: 'EUR', quote: 'USD', rate: '1.08', atMs: clock.now() }
    await storeRates(state, source.id, [rate], clock.now())
  }
  const plan = { everyMs, timeoutMs: source.timeoutMs * 2, backoffMaxMs: everyMs, work, report: () => {} }
  const lease = {
    name: 'rates',
    pace: paceOf(ratesTakeoverMs([source])),
    work: (signal: AbortSignal) => poll(context, plan, signal),
  }
  const ended = runWhileLeased(context, lease, stop.signal)
  return {
    clock,
    isFresh: async () => (await allLatestRates(state)).some((rate) => isFresh(rate, [source], clock.now())),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
      await Promise.all([state.close(), ingest.close()])
    },
  }
}

const settings = [
  { everyMs: 250, timeoutMs: 100, staleMs: 2950 },
  { everyMs: 1000, timeoutMs: 500, staleMs: 60_000 },
  { everyMs: 2000, timeoutMs: 4000, staleMs: 12_500 },
  { everyMs: 5000, timeoutMs: 4000, staleMs: 60_000 },
]
for (const [at, timing] of settings.entries())
  test(`rates stay fresh while the server that polls them is suspended, ${JSON.stringify(timing)}`, async (t) => {
    await using context = await openContext()
    if (context.ingest.engine !== 'sqlite') return t.skip('the state of this run is on a server')
    const draws = createSeededRandom(`takeover ${at}`)
    const sources = [{ id: 'a', kind: 'http-json', url: 'https://a.example/', ...timing }]
    const [source] = settingsWith({ fx: { sources } }).fx.sources
    assert.ok(source)
    assert.deepEqual(takeoverProblems([source]), [])
    await using one = await startPolling(context.dir, 'one', source, timing.everyMs)
    await settle()
    const stepMs = 250
    const move = async (servers: readonly (typeof one)[], ms: number) => {
      for (let passed = 0; passed < ms; passed += stepMs) {
        for (const { clock } of servers) clock.advance(stepMs)
        await settle()
      }
    }
    // The other one starts at any time, and the first one is suspended at any time.
    await move([one], draws.whole(0, 20) * stepMs)
    await using other = await startPolling(context.dir, 'other', source, timing.everyMs)
    other.clock.advance(one.clock.now() - other.clock.now())
    await move([one, other], draws.whole(40, 80) * stepMs)
    for (let passed = 0; passed < 40_000; passed += stepMs) {
      await move([other], stepMs)
      assert.ok(await other.isFresh(), `expired ${passed + stepMs} ms after the suspension`)
    }
  })
