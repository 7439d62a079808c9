import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { writeStatus } from '#fx/rates/source-health.ts'
import type { PassReport } from '#markets/feeds/read-feed.ts'
import type { Overview } from '#shared/console-calls.ts'
import { openConsole } from '#test/console.ts'
import { testNowMs } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { hostsOnly } from './overview.ts'
import { createProgressBoard } from './progress.ts'

const secretUrl = 'https://user:word@node.example/v3/verysecret?key=verysecret'

const settings = {
  explorer: { chains: [{ id: '1', name: 'one', mode: 'probe', rpc: [{ url: secretUrl }] }] },
  fx: { sources: [{ id: 'desk', kind: 'http-json', url: secretUrl }] },
  validators: { networks: { hoodi: { beacon: { urls: [secretUrl] } } } },
  markets: { feeds: [{ id: 'main', url: secretUrl }] },
}

describe('GET /console/overview', () => {
  test('200: checks and streams', async () => {
    await using site = await openConsole(settings)
    const cookie = await site.signIn()
    site.clock.advance(60_000)
    const reply = await site.request('/console/overview', { cookie })
    assert.equal(reply.status, 200)
    const overview = reply.json<Overview>()
    assert.deepEqual(
      [overview.version, overview.startedAt, overview.at],
      ['9.9.9', new Date(testNowMs).toISOString(), new Date(testNowMs + 60_000).toISOString()],
    )
    assert.equal(overview.engine, 'sqlite')
    // The same checks as /readyz, including the server itself.
    assert.deepEqual(overview.checks, [
      { name: 'server', ok: true, message: 'running' },
      { name: 'state store', ok: true, message: 'readable and writable' },
    ])
    assert.deepEqual(
      overview.streams.map(({ name }) => name),
      ['chain 1', 'rates desk', 'network hoodi', 'feed main'],
    )
    // The node of the chain does not exist.
    assert.ok(overview.streams.slice(1).every(({ problem }) => problem === undefined))
  })

  test('200: only the host of a URL is shown, also in error messages', async () => {
    await using site = await openConsole(settings)
    site.findings.push({ name: 'node of chain 1', ok: false, message: `${secretUrl} answered with status 500` })
    await writeStatus(site.context.state, 'desk', {
      ...{
        triedMs: testNowMs,
        goodMs: null,
        failures: 1,
        tookMs: null,
        reason: `${secretUrl} answered with status 503`,
      },
    })
    site.board.feed({ source: 'main', is: 'failed', failures: 3, reason: `${secretUrl}: no answer` })
    // The recorder of the history has read the coverage, which is shared for a second.
    site.clock.advance(1000)
    const reply = await site.request('/console/overview', { cookie: await site.signIn() })
    assert.doesNotMatch(reply.body, /verysecret|user:word/)
    const { streams, checks } = reply.json<Overview>()
    assert.equal(checks[2]?.message, 'node.example answered with status 500')
    const problems = new Map(streams.map(({ name, problem }) => [name, problem]))
    assert.equal(problems.get('rates desk'), 'node.example answered with status 503')
    assert.equal(problems.get('feed main'), 'node.example no answer')
  })

  test('200: the overview is computed at most once a second', async () => {
    await using site = await openConsole()
    const cookie = await site.signIn()
    const request = async () => (await site.request('/console/overview', { cookie })).body
    const first = await request()
    site.clock.advance(999)
    assert.equal(await request(), first)
    site.clock.advance(1)
    assert.notEqual(await request(), first)
  })
})

describe('progress', () => {
  test('a chain: 600 blocks in 10 s, 1400 to go → 60/s', () => {
    const clock = new ManualClock(testNowMs)
    const board = createProgressBoard(clock)
    const report = board.chain('1')
    report({ is: 'plan', blocks: 2000, finalUntil: 2000 })
    for (let at = 0; at < 6; at++) {
      // 10 s in six steps of 100 blocks
      clock.advance(at < 5 ? 1667 : 10_000 - 5 * 1667)
      report({ is: 'written', blocks: 100, rows: 1 })
    }
    assert.deepEqual(board.view('chain 1'), {
      progress: { unit: 'blocks', done: 600, remaining: 1400, perSecond: 60 },
    })
    assert.deepEqual(board.view('chain 2'), {})
  })

  test('a chain at its head: blocks of the last minute, nothing remaining', () => {
    const clock = new ManualClock(testNowMs)
    const board = createProgressBoard(clock)
    const report = board.chain('1')
    report({ is: 'unfinalized', head: 1000, revertedBlocks: 0 })
    for (let at = 1; at <= 20; at++) {
      clock.advance(12_000)
      report({ is: 'unfinalized', head: 1000 + at, revertedBlocks: 0 })
    }
    const view = board.view('chain 1').progress
    assert.deepEqual([view?.done, view?.perSecond, view?.remaining], [20, 0.083, 0])
    clock.advance(600_000)
    assert.equal(board.view('chain 1').progress?.perSecond, 0)
  })

  test('a network: each epoch counts once, up to the one before the last final one', () => {
    const clock = new ManualClock(testNowMs)
    const board = createProgressBoard(clock)
    clock.advance(10_000)
    board.network('hoodi', { until: 110, finalizedEpoch: 201, written: 10 })
    clock.advance(10_000)
    board.network('hoodi', { until: 120, finalizedEpoch: 201, written: 20 })
    const view = board.view('network hoodi').progress
    assert.deepEqual([view?.done, view?.perSecond, view?.remaining], [20, 1, 80])
  })

  test('a feed: records by page over several passes; its end is not known', () => {
    const clock = new ManualClock(testNowMs)
    const board = createProgressBoard(clock)
    const report = (records: number) => ({ records }) as PassReport
    clock.advance(5000)
    board.feed({ source: 'main', is: 'page', report: report(200) })
    clock.advance(5000)
    board.feed({ source: 'main', is: 'page', report: report(300) })
    board.feed({ source: 'main', is: 'done', report: report(300) })
    board.feed({ source: 'main', is: 'page', report: report(50) })
    const view = board.view('feed main').progress
    assert.deepEqual([view?.done, view?.perSecond, view?.remaining], [350, 35, null])
  })

  test('at most about a hundred samples are kept', () => {
    const clock = new ManualClock(testNowMs)
    const board = createProgressBoard(clock)
    const report = board.chain('1')
    for (let at = 0; at < 5000; at++) {
      clock.advance(20)
      report({ is: 'written', blocks: 1, rows: 0 })
    }
    const view = board.view('chain 1').progress
    assert.equal(view?.done, 5000)
    assert.ok(Math.abs((view?.perSecond ?? 0) - 50) < 1, String(view?.perSecond))
  })
})

test('a URL in a text is shortened to its host', () => {
  assert.equal(
    hostsOnly(`${secretUrl} redirects to wss://other.example:99/key`),
    'node.example redirects to other.example:99',
  )
  assert.equal(hostsOnly('nothing to hide'), 'nothing to hide')
})
