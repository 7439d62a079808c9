import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { blocksStream, confirmHead, putHead } from '#explorer/funding/coverage.ts'
import { pushRate } from '#fx/rates/push-rate.ts'
import { storeRates } from '#fx/rates/rate-store.ts'
import { noteStep } from '#ingest/stream-progress.ts'
import { newFeedState, storeFeedState } from '#markets/feeds/feed-state.ts'
import { storeRejects } from '#markets/records/rejects.ts'
import { addCoverage } from '#storage/coverage.ts'
import { openContext } from '#test/context.ts'
import { networkStream } from '#validators/ingest/health.ts'
import { beaconFindings } from '#validators/ingest/start.ts'
import { trackHead } from './chain-progress.ts'
import { coverageReport, coverageRoute, recentCoverage } from './coverage.ts'

const chains = [
  { id: '1', name: 'One', mode: 'index', rpc: [{ url: 'http://node.test' }] },
  { id: '137', name: 'Other', mode: 'probe', rpc: [{ url: 'http://node.test' }] },
]
const source = { id: 'desk', kind: 'http-json', url: 'http://rates.test', staleMs: 60_000 }
const feed = { id: 'main', url: 'http://feed.test', staleMs: 120_000 }

describe('coverage', () => {
  test('a chain tells its stretch, what was read of it, and every hole', async () => {
    await using context = await openContext({ explorer: { chains } })
    await context.state.write(async (tx) => {
      await putHead(tx, '1', 1000)
      await addCoverage(tx, blocksStream('1'), 0, 400)
      await addCoverage(tx, blocksStream('1'), 500, 1000)
    })
    const { streams, complete } = await coverageReport(context)
    const [one, other] = streams
    assert.deepEqual(one, {
      group: 'explorer',
      name: 'chain 1',
      from: 0,
      until: 1000,
      read: 900,
      holes: [{ from: 400, until: 500 }],
      holesCount: 1,
      ageSeconds: null,
      complete: false,
      fresh: null,
      standing: 'holes',
    })
    // Searched when asked: nothing has to be read ahead of time.
    assert.deepEqual([other?.name, other?.complete, other?.standing], ['chain 137', true, 'on demand'])
    assert.equal(complete, false)
  })

  test('an indexed chain of which nothing was read is not complete', async () => {
    await using context = await openContext({ explorer: { chains } })
    assert.equal((await coverageReport(context)).streams[0]?.complete, false)
  })

  test('a chain is as old as the last confirmation of its head, whichever process follows it', async () => {
    await using context = await openContext({ explorer: { chains } })
    const one = async () => {
      const { ageSeconds, fresh } = (await coverageReport(context)).streams[0] ?? assert.fail()
      return [ageSeconds, fresh]
    }
    assert.deepEqual(await one(), [null, null])
    const tell = trackHead(context, '1')
    tell({ is: 'plan', blocks: 10, finalUntil: 10 })
    assert.deepEqual(await one(), [null, false])
    await context.state.write((tx) => putHead(tx, '1', 10))
    await confirmHead(context.state, '1', 10, context.clock.now())
    assert.deepEqual(await one(), [0, true])
    context.clock.advance(300_000)
    assert.deepEqual(await one(), [300, true])
    context.clock.advance(1000)
    assert.deepEqual(await one(), [301, false])
  })

  test('a network’s age is that of its newest epoch; one that nobody follows is neither fresh nor stale', async () => {
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
    assert.deepEqual([mainnet?.fresh, mainnet?.complete, mainnet?.ageSeconds], [true, true, Math.round(ageSeconds)])
    const hoodi = (await byName()).get('network hoodi')
    assert.deepEqual([hoodi?.fresh, hoodi?.complete, hoodi?.holes], [null, false, [{ from: 20, until: 30 }]])
    assert.equal((await byName()).has('network holesky'), false)
    context.clock.advance(8 * 384_000)
    assert.equal((await byName()).get('network mainnet')?.fresh, false)
    assert.equal((await coverageReport(context)).fresh, false)
  })

  test('a source that waits for its first rate to be set is not followed; one that was set and left is stale', async () => {
    await using context = await openContext({ fx: { sources: [{ id: 'desk', kind: 'push' }] } })
    const rates = async () => (await coverageReport(context)).streams.find(({ name }) => name === 'rates desk')
    const before = await rates()
    assert.deepEqual([before?.standing, before?.fresh, before?.complete], ['not followed', null, false])
    await pushRate(context, { pair: 'EUR/USD', rate: '1.08' })
    assert.equal((await rates())?.standing, 'well')
    context.clock.advance(900_001)
    assert.equal((await rates())?.standing, 'stale')
  })

  test('rates and feeds tell how old they are', async () => {
    await using context = await openContext({ fx: { sources: [source] }, markets: { feeds: [feed] } })
    const byName = async () => new Map((await coverageReport(context)).streams.map((one) => [one.name, one]))
    const unread = await byName()
    for (const name of ['rates desk', 'feed main'])
      assert.deepEqual(
        [unread.get(name)?.complete, unread.get(name)?.fresh, unread.get(name)?.ageSeconds],
        [false, false, null],
      )
    const nowMs = context.clock.now()
    const rate = { source: 'desk', base: 'EUR', quote: 'USD', rate: '1.08', atMs: nowMs }
    await storeRates(context.state, 'desk', [rate], nowMs)
    await context.state.write((tx) => storeFeedState(tx, { ...newFeedState('main'), fullAtMs: nowMs, doneAtMs: nowMs }))
    context.clock.advance(59_000)
    await storeRates(context.state, 'desk', [rate], context.clock.now())
    for (const one of (await byName()).values())
      if (one.group !== 'explorer') assert.deepEqual([one.complete, one.fresh, one.ageSeconds], [true, true, 59])
    context.clock.advance(2_000)
    assert.equal((await byName()).get('rates desk')?.fresh, false)
    assert.equal((await byName()).get('feed main')?.fresh, true)
    context.clock.advance(60_000)
    assert.equal((await byName()).get('feed main')?.fresh, false)
  })

  test('behaviour/operations.md#stream-status: behind and moving is catching up; behind and standing still for a quarter of an hour is stale', async () => {
    await using context = await openContext({ explorer: { chains } })
    const standing = async () => (await coverageReport(context)).streams[0]?.standing
    const tell = trackHead(context, '1')
    assert.equal(await standing(), 'catching up')
    context.clock.advance(900_000)
    tell({ is: 'range', range: { from: 0, until: 100 }, rows: 3 })
    // A first reading takes days.
    for (let hours = 0; hours < 100; hours++) {
      context.clock.advance(900_000)
      assert.equal(await standing(), 'catching up')
      tell({ is: 'range', range: { from: 100, until: 200 }, rows: 3 })
    }
    context.clock.advance(900_001)
    assert.equal(await standing(), 'stale')
    // Only finding out what is missing is not yet moving.
    tell({ is: 'plan', blocks: 10, finalUntil: 10 })
    assert.equal(await standing(), 'stale')
    await context.state.write(async (tx) => {
      await putHead(tx, '1', 1000)
      await addCoverage(tx, blocksStream('1'), 0, 1000)
    })
    await confirmHead(context.state, '1', 1000, context.clock.now())
    assert.equal(await standing(), 'well')
  })

  test('behaviour/operations.md#stream-status: a network that is behind and moves is catching up, but a hole behind the newest epoch is a hole', async () => {
    const beacon = { urls: ['http://beacon.test'] }
    await using context = await openContext({ validators: { networks: { mainnet: { beacon } } } })
    const standing = async () =>
      (await coverageReport(context)).streams.find(({ group }) => group === 'validators')?.standing
    const ready = async () => (await beaconFindings(context as never))[0]
    assert.deepEqual([await standing(), (await ready())?.ok], ['stale', false])
    noteStep(context, networkStream('mainnet'))
    await context.dutiesState.write((tx) => addCoverage(tx, 'duties/mainnet', 100, 200))
    assert.equal(await standing(), 'catching up')
    assert.match((await ready())?.message ?? '', /^catching up, \d+ epochs behind$/)
    assert.equal((await ready())?.ok, true)
    context.clock.advance(900_001)
    assert.deepEqual([await standing(), (await ready())?.ok], ['stale', false])
    const { genesisUnix } = context.settings.validators.networks.mainnet
    const now = Math.floor((context.clock.now() / 1000 - genesisUnix) / 384)
    await context.dutiesState.write((tx) => addCoverage(tx, 'duties/mainnet', now - 10, now - 3))
    noteStep(context, networkStream('mainnet'))
    assert.equal(await standing(), 'holes')
  })

  test('behaviour/operations.md#stream-status: a feed that somebody is reading is catching up, one that nobody reads is stale', async () => {
    await using context = await openContext({ markets: { feeds: [feed] } })
    const standing = async () =>
      (await coverageReport(context)).streams.find(({ group }) => group === 'markets')?.standing
    assert.equal(await standing(), 'stale')
    const held = { holder: 'somebody', heldUntilMs: context.clock.now() + 60_000, page: 3 }
    await context.state.write((tx) => storeFeedState(tx, { ...newFeedState('main'), ...held }))
    assert.equal(await standing(), 'catching up')
    context.clock.advance(60_001)
    assert.equal(await standing(), 'stale')
  })

  test('a feed that shows too few markets or records that cannot be stored is not complete', async () => {
    await using context = await openContext({ markets: { feeds: [feed] } })
    const nowMs = context.clock.now()
    const stand = (absent: number) =>
      context.state.write((tx) =>
        storeFeedState(tx, { ...newFeedState('main'), fullAtMs: nowMs, doneAtMs: nowMs, absent }),
      )
    const told = async () => {
      const one = (await coverageReport(context)).streams.find(({ group }) => group === 'markets')
      return [one?.complete, one?.standing]
    }
    await stand(0)
    assert.deepEqual(await told(), [true, 'well'])
    await stand(50)
    assert.deepEqual(await told(), [false, 'holes'])
    await stand(0)
    const reject = { kind: 'market', id: '7', slug: '', place: '', problems: [] } as const
    await context.state.write((tx) => storeRejects(tx, 'main', [reject], nowMs))
    assert.deepEqual(await told(), [false, 'holes'])
  })

  test('what no node stands behind is not followed, whatever is missing of it', async () => {
    await using context = await openContext()
    await context.state.write(async (tx) => {
      await putHead(tx, '137', 100)
      await addCoverage(tx, blocksStream('137'), 0, 50)
    })
    const one = (await coverageReport(context)).streams.find(({ name }) => name === 'chain 137')
    assert.deepEqual([one?.standing, one?.holesCount, one?.complete], ['not followed', 1, false])
  })

  test('a group that is switched off is left out', async () => {
    await using context = await openContext({
      fx: { sources: [source] },
      groups: { fx: { on: false }, explorer: { on: false } },
    })
    assert.deepEqual((await coverageReport(context)).streams, [])
  })

  test('GET /coverage gives it as JSON', async () => {
    await using context = await openContext({ explorer: { chains } })
    const { status, headers, body } = await coverageRoute(recentCoverage(context)).read({} as never)
    assert.equal(status, 200)
    assert.match(headers['content-type'] ?? '', /^application\/json/)
    assert.deepEqual(JSON.parse(String(body)), JSON.parse(JSON.stringify(await coverageReport(context))))
  })

  test('asked again within a second, the stores are left alone; after that they are asked', async () => {
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
