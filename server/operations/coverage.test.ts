import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { blocksStream, confirmHead, putHead } from '#explorer/funding/chain-coverage.ts'
import {
  getIndexProblems,
  recordContradictedLogs,
  recordFailedPass,
  recordUnreadable,
  recordUnverifiedHeader,
} from '#explorer/funding/index/problems.ts'
import { recordSteps } from '#explorer/funding/index/start-chains.ts'
import { logsStream } from '#explorer/funding/index/transfer-logs.ts'
import { pushRate } from '#fx/extensions/push-rate/push-rate.ts'
import { rateFindings } from '#fx/rates/poll-rates.ts'
import { storeRates } from '#fx/rates/rate-store.ts'
import { writeStatus } from '#fx/rates/source-health.ts'
import { recordStep } from '#ingest/stream-progress.ts'
import { storeFeedState } from '#markets/feeds/feed-progress.ts'
import { marketFindings } from '#markets/feeds/start-markets.ts'
import { type FeedState, newFeedState } from '#markets/read/feed-state.ts'
import { storeRejects } from '#markets/write/rejects.ts'
import { addCoverage } from '#storage/coverage.ts'
import { openContext } from '#test/context.ts'
import { networkId } from '#validators/duties/layout.ts'
import { beaconFindings } from '#validators/ingest/start.ts'
import { networkStream } from '#validators/ingest/status/health.ts'
import { coverageReport, coverageRoute, recentCoverage } from './coverage.ts'
import { storeDiagnoses } from './doctor.ts'

const chains = [
  { id: '1', name: 'One', mode: 'index', rpc: [{ url: 'http://node.test' }] },
  { id: '137', name: 'Other', mode: 'probe', rpc: [{ url: 'http://node.test' }] },
]
const source = { id: 'desk', kind: 'http-json', url: 'http://rates.test', staleMs: 60_000 }
const feed = { id: 'main', url: 'http://feed.test', staleMs: 120_000 }

const isNetwork = ({ group }: { readonly group: string }): boolean => group === 'validators'

describe('coverage', () => {
  test('a chain reports its range, how much was read, and every gap', async () => {
    await using context = await openContext({ explorer: { chains } })
    await context.ingest.write(async (tx) => {
      await putHead(tx, '1', 1000)
      await addCoverage(tx, blocksStream('1'), 0, 400)
      await addCoverage(tx, blocksStream('1'), 500, 1000)
    })
    const { streams, gapless } = await coverageReport(context)
    const [one, other] = streams
    assert.deepEqual(one, {
      group: 'explorer',
      name: 'chain 1',
      from: 0,
      until: 1000,
      read: 900,
      gaps: [{ from: 400, until: 500 }],
      gapsCount: 1,
      target: 1000,
      share: 0.9,
      remaining: 100,
      perSecond: null,
      remainingSeconds: null,
      ageSeconds: null,
      gapless: false,
      fresh: null,
      status: 'gaps',
    })
    // A chain in probe mode needs no index.
    assert.deepEqual([other?.name, other?.gapless, other?.status], ['chain 137', true, 'on demand'])
    assert.equal(gapless, false)
  })

  test('a chain reports which blocks were read from logs, and which were not, or not verified', async () => {
    await using context = await openContext({ explorer: { chains } })
    const logsOf = async () => (await coverageReport(context)).streams.map(({ logs }) => logs)
    assert.deepEqual((await logsOf()).slice(0, 2), [undefined, undefined], 'no block')
    const problems = getIndexProblems(context, '1')
    recordUnverifiedHeader(problems, 500)
    recordUnverifiedHeader(problems, 501)
    const none = { blocks: 0, ranges: [], contradicted: 0, unverifiedHeaders: 2 }
    assert.deepEqual((await logsOf())[0], none, 'blocks of a later fork, from traces')
    recordContradictedLogs(problems, 600, 'the receipts do not have the receiptsRoot of the block')
    await context.ingest.write(async (tx) => {
      for (let from = 1000; from < 3000; from += 10) await addCoverage(tx, logsStream('1'), from, from + 3)
    })
    const [logs] = await logsOf()
    assert.deepEqual([logs?.blocks, logs?.contradicted, logs?.unverifiedHeaders], [600, 1, 2])
    assert.deepEqual([logs?.ranges.length, logs?.ranges[0]], [100, { from: 1000, until: 1003 }])
  })

  test('a block that is left out is a gap with its reason, although the index makes progress', async () => {
    await using context = await openContext({ explorer: { chains } })
    await context.ingest.write(async (tx) => {
      await putHead(tx, '1', 1000)
      await addCoverage(tx, blocksStream('1'), 0, 400)
      await addCoverage(tx, blocksStream('1'), 401, 1000)
    })
    await confirmHead(context.ingest, '1', 1000, context.clock.now())
    recordStep(context, 'chain 1')
    assert.equal((await coverageReport(context)).streams[0]?.status, 'catching up')
    recordUnreadable(getIndexProblems(context, '1'), 400, 'transaction 3 (0xaa): no recipient', 0)
    const [one] = (await coverageReport(context)).streams
    assert.equal(one?.status, 'gaps')
    assert.deepEqual(one?.gaps, [
      { from: 400, until: 401, reason: 'block 400, tried 1 time: transaction 3 (0xaa): no recipient' },
    ])
  })

  test('a chain is stale from the fifth pass in a row that failed without storing a block', async () => {
    await using context = await openContext({ explorer: { chains } })
    await context.ingest.write(async (tx) => {
      await putHead(tx, '1', 10)
      await addCoverage(tx, blocksStream('1'), 0, 10)
    })
    await confirmHead(context.ingest, '1', 10, context.clock.now())
    recordStep(context, 'chain 1')
    const problems = getIndexProblems(context, '1')
    const one = async () => {
      const { status, problem } = (await coverageReport(context)).streams[0] ?? assert.fail()
      return [status, problem]
    }
    for (let failures = 0; failures < 5; failures++) {
      assert.deepEqual(await one(), ['healthy', undefined])
      recordFailedPass(problems, 'no node supports traces')
    }
    assert.deepEqual(await one(), [
      'stale',
      '5 passes in a row failed without storing a block: no node supports traces',
    ])
  })

  test('an indexed chain is not gapless before anything was read', async () => {
    await using context = await openContext({ explorer: { chains } })
    assert.equal((await coverageReport(context)).streams[0]?.gapless, false)
  })

  test('the age of a chain is the time since its head was confirmed, by any process', async () => {
    await using context = await openContext({ explorer: { chains } })
    const one = async () => {
      const { ageSeconds, fresh } = (await coverageReport(context)).streams[0] ?? assert.fail()
      return [ageSeconds, fresh]
    }
    assert.deepEqual(await one(), [null, null])
    const onProgress = recordSteps(context, '1', () => {})
    onProgress({ is: 'plan', blocks: 10, finalUntil: 10 })
    assert.deepEqual(await one(), [null, false])
    await context.ingest.write((tx) => putHead(tx, '1', 10))
    await confirmHead(context.ingest, '1', 10, context.clock.now())
    assert.deepEqual(await one(), [0, true])
    context.clock.advance(300_000)
    assert.deepEqual(await one(), [300, true])
    context.clock.advance(1000)
    assert.deepEqual(await one(), [301, false])
  })

  test('the age of a network is that of its newest epoch; one that is not syncing is neither fresh nor stale', async () => {
    const beacon = { urls: ['http://beacon.test'] }
    await using context = await openContext({ validators: { networks: { mainnet: { beacon } } } })
    const { genesisUnix } = context.settings.validators.networks.mainnet
    const until = Math.floor((context.clock.now() / 1000 - genesisUnix) / 384) - 3
    await context.dutiesState.write(async (tx) => {
      await addCoverage(tx, 'duties/mainnet', until - 100, until)
      await addCoverage(tx, 'duties/hoodi', 10, 20)
      await addCoverage(tx, 'duties/hoodi', 30, 40)
    })
    const byName = async () => new Map((await coverageReport(context)).streams.map((one) => [one.name, one]))
    const mainnet = (await byName()).get('network mainnet')
    const ageSeconds = context.clock.now() / 1000 - genesisUnix - until * 384
    assert.deepEqual([mainnet?.fresh, mainnet?.gapless, mainnet?.ageSeconds], [true, true, Math.round(ageSeconds)])
    const hoodi = (await byName()).get('network hoodi')
    assert.deepEqual([hoodi?.fresh, hoodi?.gapless, hoodi?.gaps], [null, false, [{ from: 20, until: 30 }]])
    assert.equal((await byName()).has('network holesky'), false)
    context.clock.advance(8 * 384_000)
    assert.equal((await byName()).get('network mainnet')?.fresh, false)
    assert.equal((await coverageReport(context)).fresh, false)
  })

  test('behaviour/operations.md#progress: the share of a network is that of the epochs up to the head', async () => {
    const beacon = { urls: ['http://beacon.test'] }
    await using context = await openContext({ validators: { networks: { mainnet: { beacon } } } })
    const { genesisUnix } = context.settings.validators.networks.mainnet
    const current = Math.floor((context.clock.now() / 1000 - genesisUnix) / 384)
    const mainnet = async () => {
      const { target, share, remaining } = (await coverageReport(context)).streams.find(isNetwork) ?? assert.fail()
      return [target, share, remaining]
    }
    // Where reading begins is not known yet.
    assert.deepEqual(await mainnet(), [null, null, null])
    const from = current - 3 - 10_000
    await context.dutiesState.write((tx) => addCoverage(tx, 'duties/mainnet', from, from + 2500))
    assert.deepEqual(await mainnet(), [current - 3, 0.25, 7500])
    await context.dutiesState.write((tx) => addCoverage(tx, 'duties/mainnet', from + 2500, current - 13))
    assert.deepEqual(await mainnet(), [current - 3, 0.999, 10])
    // Not further behind than finality requires.
    await context.dutiesState.write((tx) => addCoverage(tx, 'duties/mainnet', current - 13, current - 5))
    assert.deepEqual(await mainnet(), [current - 5, 1, 0])
    context.clock.advance(31 * 86_400_000)
    assert.deepEqual(await mainnet(), [current - 3 + 6975, 0.5889, 6977])
  })

  test('behaviour/operations.md#progress: with fromEpoch, the share is that of the configured range', async () => {
    const beacon = { urls: ['http://beacon.test'], fromEpoch: 100 }
    await using context = await openContext({ validators: { networks: { mainnet: { beacon } } } })
    const { genesisUnix } = context.settings.validators.networks.mainnet
    const current = Math.floor((context.clock.now() / 1000 - genesisUnix) / 384)
    const { share, remaining } = (await coverageReport(context)).streams.find(isNetwork) ?? assert.fail()
    assert.deepEqual([share, remaining], [0, current - 103])
  })

  test('behaviour/operations.md#progress: the share of a chain is unknown when its head is not', async () => {
    await using context = await openContext({ explorer: { chains } })
    const share = async () => (await coverageReport(context)).streams[0]?.share
    assert.equal(await share(), null)
    await context.ingest.write(async (tx) => {
      await putHead(tx, '1', 1000)
      await addCoverage(tx, blocksStream('1'), 0, 1000)
    })
    await confirmHead(context.ingest, '1', 1000, context.clock.now())
    assert.equal(await share(), 1)
    context.clock.advance(31 * 86_400_000)
    assert.equal(await share(), null)
  })

  test('behaviour/operations.md#progress: rate and remaining time come from what was stored in the last 15 minutes', async () => {
    await using context = await openContext({ explorer: { chains } })
    const store = (from: number, until: number) =>
      context.ingest.write(async (tx) => {
        await putHead(tx, '1', 10_000)
        await addCoverage(tx, blocksStream('1'), from, until)
      })
    const rate = async () => {
      const { perSecond, remainingSeconds } = (await coverageReport(context)).streams[0] ?? assert.fail()
      return [perSecond, remainingSeconds]
    }
    await store(0, 1000)
    assert.deepEqual(await rate(), [null, null])
    context.clock.advance(100_000)
    await store(1000, 1500)
    assert.deepEqual(await rate(), [5, 1700])
    context.clock.advance(100_000)
    assert.deepEqual(await rate(), [2.5, 3400])
    // Nothing was stored in the window, so the remaining time is unknown.
    for (let minutes = 0; minutes <= 15; minutes++) {
      context.clock.advance(60_000)
      await rate()
    }
    assert.deepEqual(await rate(), [0, null])
    // Blocks that were forgotten are no progress.
    await context.ingest.write((tx) => tx.run('delete from coverage'))
    await store(0, 100)
    assert.deepEqual(await rate(), [null, null])
  })

  test('a network reports the epochs that added validators still lack, and stays gapless', async () => {
    await using context = await openContext({
      validators: { networks: { hoodi: { epochsPerDay: 10, watchPastDays: 2 } } },
    })
    await context.dutiesState.write(async (tx) => {
      await addCoverage(tx, 'duties/hoodi', 0, 60)
      const ranges = [
        [2, 0, 2 ** 31 - 1],
        [3, 50, 2 ** 31 - 1],
        [4, 40, 45],
        [4, 55, 2 ** 31 - 1],
      ] as const
      for (const range of ranges)
        await tx.run('insert into watch_ranges values (?, ?, ?, ?)', networkId('hoodi'), ...range)
    })
    const [hoodi] = (await coverageReport(context)).streams.filter(({ name }) => name === 'network hoodi')
    // Validator 3 lacks epochs 30 to 49, validator 4 lacks 30 to 39 and 45 to 54.
    assert.deepEqual([hoodi?.missingPast, hoodi?.gapless], [{ validators: 2, epochs: 25 }, true])
  })

  test('a push source is not syncing before its first rate, and stale if the rate is too old', async () => {
    await using context = await openContext({ fx: { sources: [{ id: 'desk', kind: 'push' }] } })
    const rates = async () => (await coverageReport(context)).streams.find(({ name }) => name === 'rates desk')
    const before = await rates()
    assert.deepEqual([before?.status, before?.fresh, before?.gapless], ['not syncing', null, false])
    await pushRate(context, { pair: 'EUR/USD', rate: '1.08' })
    assert.equal((await rates())?.status, 'healthy')
    context.clock.advance(900_001)
    const stale = await rates()
    assert.deepEqual([stale?.status, stale?.problem], ['stale', 'EUR/USD: stale'])
    const { body } = await coverageRoute(recentCoverage(context)).read({} as never)
    assert.doesNotMatch(String(body), /problem/)
  })

  test('rates and feeds report their age', async () => {
    await using context = await openContext({ fx: { sources: [source] }, markets: { feeds: [feed] } })
    const byName = async () => new Map((await coverageReport(context)).streams.map((one) => [one.name, one]))
    const unread = await byName()
    for (const name of ['rates desk', 'feed main'])
      assert.deepEqual(
        [unread.get(name)?.gapless, unread.get(name)?.fresh, unread.get(name)?.ageSeconds],
        [false, false, null],
      )
    const nowMs = context.clock.now()
    const rate = { source: 'desk', base: 'EUR', quote: 'USD', rate: '1.08', atMs: nowMs }
    await storeRates(context.state, 'desk', [rate], nowMs)
    await context.ingest.write((tx) =>
      storeFeedState(tx, { ...newFeedState('main'), fullAtMs: nowMs, doneAtMs: nowMs, asOfMs: nowMs }),
    )
    context.clock.advance(59_000)
    await storeRates(context.state, 'desk', [rate], context.clock.now())
    for (const one of (await byName()).values())
      if (one.group !== 'explorer') assert.deepEqual([one.gapless, one.fresh, one.ageSeconds], [true, true, 59])
    context.clock.advance(2_000)
    assert.equal((await byName()).get('rates desk')?.fresh, false)
    assert.equal((await byName()).get('feed main')?.fresh, true)
    context.clock.advance(60_000)
    assert.equal((await byName()).get('feed main')?.fresh, false)
  })

  test('behaviour/operations.md#stream-status: a chain that makes progress is catching up; without progress for 15 minutes it is stale', async () => {
    await using context = await openContext({ explorer: { chains } })
    const status = async () => (await coverageReport(context)).streams[0]?.status
    const onProgress = recordSteps(context, '1', () => {})
    assert.equal(await status(), 'catching up')
    context.clock.advance(900_000)
    onProgress({ is: 'written', blocks: 100, rows: 3 })
    // A first pass takes days.
    for (let hours = 0; hours < 100; hours++) {
      context.clock.advance(900_000)
      assert.equal(await status(), 'catching up')
      onProgress({ is: 'written', blocks: 100, rows: 3 })
    }
    context.clock.advance(900_001)
    assert.equal(await status(), 'stale')
    // A plan alone is no progress.
    onProgress({ is: 'plan', blocks: 10, finalUntil: 10 })
    assert.equal(await status(), 'stale')
    await context.ingest.write(async (tx) => {
      await putHead(tx, '1', 1000)
      await addCoverage(tx, blocksStream('1'), 0, 1000)
    })
    await confirmHead(context.ingest, '1', 1000, context.clock.now())
    assert.equal(await status(), 'healthy')
  })

  test('behaviour/operations.md#stream-status: a network that makes progress is catching up, but a gap before its newest epoch is reported as a gap', async () => {
    const beacon = { urls: ['http://beacon.test'] }
    await using context = await openContext({ validators: { networks: { mainnet: { beacon } } } })
    const status = async () =>
      (await coverageReport(context)).streams.find(({ group }) => group === 'validators')?.status
    const ready = async () => (await beaconFindings(context as never))[0]
    assert.deepEqual([await status(), (await ready())?.ok], ['stale', false])
    recordStep(context, networkStream('mainnet'))
    await context.dutiesState.write((tx) => addCoverage(tx, 'duties/mainnet', 100, 200))
    assert.equal(await status(), 'catching up')
    assert.match((await ready())?.message ?? '', /^catching up, \d+ epochs behind$/)
    assert.equal((await ready())?.ok, true)
    context.clock.advance(900_001)
    assert.deepEqual([await status(), (await ready())?.ok], ['stale', false])
    const { genesisUnix } = context.settings.validators.networks.mainnet
    const now = Math.floor((context.clock.now() / 1000 - genesisUnix) / 384)
    await context.dutiesState.write((tx) => addCoverage(tx, 'duties/mainnet', now - 10, now - 3))
    recordStep(context, networkStream('mainnet'))
    assert.equal(await status(), 'gaps')
  })

  test('behaviour/operations.md#stream-status: a feed that is being read is catching up, otherwise it is stale', async () => {
    await using context = await openContext({ markets: { feeds: [feed] } })
    const status = async () => (await coverageReport(context)).streams.find(({ group }) => group === 'markets')?.status
    assert.equal(await status(), 'stale')
    const held = { holder: 'a process', heldUntilMs: context.clock.now() + 60_000, page: 3 }
    await context.ingest.write((tx) => storeFeedState(tx, { ...newFeedState('main'), ...held }))
    assert.equal(await status(), 'catching up')
    context.clock.advance(60_001)
    assert.equal(await status(), 'stale')
  })

  test('behaviour/operations.md#stream-status: a feed whose passes take longer than their interval is behind', async () => {
    const feeds = [{ ...feed, everyMs: 60_000, staleMs: 1_800_000 }]
    await using context = await openContext({ markets: { feeds } })
    const view = async () => {
      const report = await coverageReport(context)
      const { status, fresh, ageSeconds, passes } = report.streams.find(({ group }) => group === 'markets') ?? {}
      return { status, fresh, ageSeconds, passes, isFresh: report.fresh }
    }
    /** A pass that has ended now, and began `tookMs` before. */
    const finished = (tookMs: number) => {
      const nowMs = context.clock.now()
      const at = { startedMs: nowMs - tookMs, asOfMs: nowMs - tookMs, doneAtMs: nowMs, fullAtMs: nowMs }
      return { ...newFeedState('main'), ...at }
    }
    const store = (feedState: FeedState) => context.ingest.write((tx) => storeFeedState(tx, feedState))
    await store(finished(59_000))
    const passes = { behind: 0, takesSeconds: 59, everySeconds: 60 }
    assert.deepEqual(await view(), { status: 'healthy', fresh: true, ageSeconds: 59, passes, isFresh: true })
    await store(finished(180_000))
    const late = { behind: 3, takesSeconds: 180, everySeconds: 60 }
    assert.deepEqual(await view(), { status: 'behind', fresh: false, ageSeconds: 180, passes: late, isFresh: false })
    const text = '3 passes behind: a pass takes 180 s, the interval is 60 s'
    const doctor = (await storeDiagnoses(context, 0)).find(({ name }) => name === 'feed main')
    assert.equal(`${doctor?.level}: ${doctor?.message}`, `warn: ${text}; the data is 3 min old`)
    // The server answers no worse than its neighbours.
    const [finding] = await marketFindings(context)
    assert.deepEqual([finding?.ok, finding?.required, finding?.message.split(';')[0]], [false, false, text])
    // A pass that has not ended counts from its start.
    const running = { ...finished(10_000), page: 2, startedMs: context.clock.now() }
    await store(running)
    context.clock.advance(130_000)
    assert.deepEqual((await view()).passes, { behind: 2, takesSeconds: 130, everySeconds: 60 })
    // Nobody reads it any more.
    context.clock.advance(1_800_000)
    assert.deepEqual([(await view()).status, (await view()).passes], ['stale', undefined])
  })

  test('behaviour/operations.md#stream-status: a rate source that responds slower than it is polled is behind', async () => {
    await using context = await openContext({ fx: { sources: [{ ...source, everyMs: 1000 }] } })
    const nowMs = context.clock.now()
    await storeRates(
      context.state,
      'desk',
      [{ source: 'desk', base: 'EUR', quote: 'USD', rate: '1.08', atMs: nowMs }],
      nowMs,
    )
    const polled = { triedMs: nowMs, goodMs: nowMs, failures: 0, reason: null }
    const status = async () => (await coverageReport(context)).streams.find(({ name }) => name === 'rates desk')?.status
    await writeStatus(context.state, 'desk', { ...polled, tookMs: 1000 })
    assert.equal(await status(), 'healthy')
    await writeStatus(context.state, 'desk', { ...polled, tookMs: 2500 })
    assert.equal(await status(), 'behind')
    const doctor = (await storeDiagnoses(context, 0)).find(({ name }) => name === 'rates desk')
    assert.match(
      `${doctor?.level}: ${doctor?.message}`,
      /^warn: 2 passes behind: a pass takes 2\.5 s, the interval is 1 s/,
    )
    const [finding] = await rateFindings(context)
    assert.match(finding?.message ?? '', /desk 2 passes behind/)
  })

  test('a feed that omits markets or has records that cannot be stored is not gapless', async () => {
    await using context = await openContext({ markets: { feeds: [feed] } })
    const nowMs = context.clock.now()
    const storeAbsent = (absent: number) =>
      context.ingest.write((tx) =>
        storeFeedState(tx, { ...newFeedState('main'), fullAtMs: nowMs, doneAtMs: nowMs, absent }),
      )
    const report = async () => {
      const one = (await coverageReport(context)).streams.find(({ group }) => group === 'markets')
      return [one?.gapless, one?.status, one?.problem?.split(',')[0]]
    }
    await storeAbsent(0)
    assert.deepEqual(await report(), [true, 'healthy', undefined])
    await storeAbsent(50)
    assert.deepEqual(await report(), [false, 'gaps', '50 markets are missing from the last full pass'])
    await storeAbsent(0)
    const reject = { kind: 'market', id: '7', slug: '', location: '', problems: [] } as const
    await context.ingest.write((tx) => storeRejects(tx, 'main', [reject], nowMs))
    assert.deepEqual(await report(), [false, 'gaps', '1 record has no id or no slug and cannot be stored'])
  })

  test('a chain without a node is not syncing, even if blocks are missing', async () => {
    await using context = await openContext()
    await context.ingest.write(async (tx) => {
      await putHead(tx, '137', 100)
      await addCoverage(tx, blocksStream('137'), 0, 50)
    })
    const one = (await coverageReport(context)).streams.find(({ name }) => name === 'chain 137')
    assert.deepEqual([one?.status, one?.gapsCount, one?.gapless], ['not syncing', 1, false])
  })

  test('a disabled group is left out', async () => {
    await using context = await openContext({
      fx: { sources: [source] },
      groups: { fx: { enabled: false }, explorer: { enabled: false } },
    })
    assert.deepEqual((await coverageReport(context)).streams, [])
  })

  test('GET /coverage returns the report as JSON', async () => {
    await using context = await openContext({ explorer: { chains } })
    const { status, headers, body } = await coverageRoute(recentCoverage(context)).read({} as never)
    assert.equal(status, 200)
    assert.match(headers['content-type'] ?? '', /^application\/json/)
    const { streams, ...report } = await coverageReport(context)
    // Problems name nodes, so they are left out.
    const expected = { ...report, streams: streams.map(({ problem: _, ...stream }) => stream) }
    assert.deepEqual(JSON.parse(String(body)), JSON.parse(JSON.stringify(expected)))
  })

  test('the report is computed at most once a second', async () => {
    await using context = await openContext({ explorer: { chains } })
    const coverage = recentCoverage(context)
    const first = await coverage()
    assert.equal(await coverage(), first)
    context.clock.advance(1000)
    const second = await coverage()
    assert.notEqual(second, first)
    assert.notEqual(second.at, first.at)
  })
})

test('chains without a node and without stored blocks are not listed', async () => {
  await using context = await openContext({ explorer: { chains: undefined } })
  const names = async () => (await coverageReport(context)).streams.map(({ name }) => name)
  assert.deepEqual(await names(), [])
  await context.ingest.write((tx) => addCoverage(tx, blocksStream('137'), 0, 10))
  assert.deepEqual(await names(), ['chain 137'])
})

test('a chain whose first epochs are not final yet is waiting, and neither stale nor catching up', async () => {
  const beacon = { urls: ['http://127.0.0.1:9'] }
  await using context = await openContext({ validators: { networks: { devnet: { beacon } } } })
  const nowUnix = context.clock.now() / 1000
  const chain = { genesisUnix: nowUnix - 100, genesisRoot: '0x00', slotSeconds: 6, slotsPerEpoch: 8 }
  await context.duties.update('writeChain', { network: 'devnet', chain })
  const statusOf = async () =>
    (await coverageReport(context)).streams.map(({ name, status, fresh }) => [name, status, fresh])
  assert.deepEqual(await statusOf(), [['network devnet', 'waiting', null]])
  // Six epochs later one should be final.
  context.clock.advance(300_000)
  assert.deepEqual(await statusOf(), [['network devnet', 'stale', false]])
})
