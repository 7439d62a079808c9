import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { createClient } from '#api/client/client.ts'
import { storeReport } from '#fx/extensions/trades/trade-store.ts'
import { systemClock } from '#runtime/clock.ts'
import { type Change, createBrokenFetch, replaceValue, statusWhere } from '#test/broken-servers/change.ts'
import { explorerDefects, neverExpiringLinks } from '#test/broken-servers/explorer.ts'
import { fxDefects } from '#test/broken-servers/fx.ts'
import { httpDefects } from '#test/broken-servers/http.ts'
import { marketDefects } from '#test/broken-servers/markets.ts'
import { ratingDefects } from '#test/broken-servers/ratings.ts'
import { type DemoServer, openDemoServer } from '#test/demo-server.ts'
import { createDemoQuote } from '#test/endpoint-calls.ts'
import { fetchFrom } from '#test/inject.ts'
import { formatResult, summaryOf } from './report.ts'
import { checkIds, runChecks } from './run-checks.ts'

// Every run sends bad keys from this address.
const settings = { keys: { badKeysMax: 1_000_000 }, server: { port: 0, anonymousPerSecond: 0 } }

const defects = [...httpDefects, ...explorerDefects, ...fxDefects, ...ratingDefects, ...marketDefects]

describe('conformance suite', () => {
  let demo: DemoServer
  let lowKey: string
  before(async () => {
    demo = await openDemoServer(settings)
    lowKey = await demo.keyFor('free')
    await createTrades()
  })
  after(() => demo[Symbol.asyncDispose]())

  /** The suite accepts no quotes, so that it lists what is there: an accepted trade and a settled one. */
  async function createTrades(): Promise<void> {
    const client = createClient({ baseUrl: demo.url, key: demo.key })
    const signer = privateKeyToAccount(`0x${'42'.repeat(32)}`)
    for (const status of ['settled', 'accepted'] as const) {
      const quote = await createDemoQuote(client)
      const signature = await client.fx.signQuote(quote, signer)
      const { id } = await client.fx.createTrade({ quoteId: quote.id, address: signer.address, signature })
      if (status === 'settled')
        await storeReport(demo.server.context, id, { status, txHash: `0x${'a7'.repeat(32)}`, by: 'test' })
    }
  }

  const options = () => ({ baseUrl: demo.url, key: demo.key, lowKey })
  /** Passed in, because a broken server may not let the suite find samples. */
  const samples = () => {
    const { address, indices, slug } = demo.samples
    return { address, validators: indices.slice(0, 3), slug }
  }

  test('Tetrad conforms, and only the optional checks are skipped', async () => {
    const report = await runChecks(options())
    assert.deepEqual(report.results.filter(({ outcome }) => outcome === 'failed').map(formatResult), [])
    assert.deepEqual(
      report.results.filter(({ outcome }) => outcome === 'skipped').map(({ id }) => id),
      ['explorer.link.expires', 'http.key.throttle'],
    )
    assert.ok(report.conforms)
    assert.match(summaryOf(report), /^Conforms: \d+ passed, 0 failed, 2 skipped\.$/)
  })

  /** Runs one check while the record of the sample market changes as `change` says. */
  const runWith = async (change: Change, only: string) => {
    const { results } = await runChecks({ ...options(), samples: samples(), only: [only] }, undefined, {
      fetch: createBrokenFetch(change, demo.key, fetchFrom(demo.server)),
    })
    return results.map(({ outcome, notes }) => [outcome, notes])
  }

  /** The first `count` reads of the market have another volume each, and later ones the next. */
  const changingMarket = (count: number): Change => {
    let reads = 0
    return replaceValue('/markets/', 'volumeNum', () => Math.min(reads++, count))
  }

  for (const check of ['markets.open', 'http.unknown-parameter'])
    test(`${check}: a record that changes between two responses is no defect`, async () => {
      assert.deepEqual(await runWith(changingMarket(1), check), [['passed', []]])
      assert.deepEqual(await runWith(changingMarket(4), check), [['passed', []]])
    })

  test('an etag of a record that changes before the conditional request is no defect', async () => {
    let reads = 0
    const change: Change = {
      alterReply: ({ headers }, { url, headers: sent }) => {
        if (!url.pathname.startsWith('/markets/slug/')) return undefined
        reads += 1
        if (reads === 1) return { text: '{"id":"1"}', headers: new Headers([...headers, ['etag', '"before"']]) }
        return sent.get('if-none-match') === '"before"' ? { status: 200 } : undefined
      },
    }
    assert.deepEqual(await runWith(change, 'markets.unchanged'), [['passed', []]])
  })

  test('a record that changes with every request fails, and the report says so', async () => {
    assert.deepEqual(await runWith(changingMarket(1_000_000), 'markets.open'), [
      ['failed', ['a key changes the response', 'the data changed in each of 3 runs']],
    ])
  })

  test('a response that fails once is a defect', async () => {
    let reads = 0
    // The first read looks whether the sample exists.
    const failOnce = statusWhere(500, ({ url }) => url.pathname.startsWith('/markets/slug/') && reads++ === 1)
    const [[outcome] = []] = await runWith(failOnce, 'markets.open')
    assert.equal(outcome, 'failed')
  })

  test('execution sums may be left out: without an execution node they are unknown', async () => {
    const only = ['validators.aggregate.fields']
    const names = ['sumPriorityFees', 'sumBaselineMev', 'sumMissedExecutionRewards', 'sumAllRewards']
    for (const name of [...names, 'sumExternallySourcedExecutionRewards']) {
      const change = replaceValue('/v0/eth/validators/effectiveness', `data.*.${name}`, () => undefined)
      const lacking = { fetch: createBrokenFetch(change, demo.key, fetchFrom(demo.server)) }
      const { results } = await runChecks({ ...options(), samples: samples(), only }, undefined, lacking)
      assert.deepEqual(
        results.map(({ outcome, notes }) => [outcome, notes]),
        [['passed', []]],
      )
    }
  })

  test('check ids are unique', () => {
    assert.equal(new Set(checkIds).size, checkIds.length)
  })

  test('no check passes against a server that always returns an empty object', async () => {
    const fetch = async () => new Response('{}', { headers: { 'content-type': 'application/json' } })
    const environment = { fetch: fetch as typeof globalThis.fetch, sleep: async () => {} }
    const samples = { validators: [1, 2], slug: 'a-slug', address: `0x${'12'.repeat(20)}` }
    const report = await runChecks(
      { baseUrl: 'http://127.0.0.1', key: 'a:b:c', lowKey: 'd:e:f', slow: true, badKeys: true, samples },
      undefined,
      environment,
    )
    assert.deepEqual(report.results.filter(({ outcome }) => outcome !== 'failed').map(formatResult), [])
    assert.equal(report.conforms, false)
  })

  test('an unreachable server fails every check, and the report does not contain the key', async () => {
    const report = await runChecks({
      baseUrl: 'http://127.0.0.1:9',
      key: 'tetrad:x:secret-secret',
      only: ['explorer.labels'],
    })
    assert.equal(report.passed, 0)
    assert.ok(!JSON.stringify(report).includes('secret-secret'))
  })

  for (const [name, checkId, change] of defects) {
    test(`${checkId} fails if ${name}`, async () => {
      const broken = { fetch: createBrokenFetch(change, demo.key, fetchFrom(demo.server)) }
      const { results } = await runChecks({ ...options(), samples: samples(), only: [checkId] }, undefined, broken)
      assert.deepEqual(
        results.map(({ id, outcome }) => [id, outcome]),
        [[checkId, 'failed']],
        results.map(formatResult).join('\n'),
      )
    })
  }

  test('every check fails against some broken server', () => {
    const optional = ['explorer.link.expires', 'http.key.throttle']
    const failing = new Set([...defects.map(([, checkId]) => checkId), ...optional])
    assert.deepEqual(
      checkIds.filter((id) => !failing.has(id)),
      [],
    )
  })

  test('http.key.throttle fails if bad keys are not throttled', async () => {
    const { results } = await runChecks({ ...options(), badKeys: true, only: ['http.key.throttle'] })
    assert.deepEqual(
      results.map(({ outcome, notes }) => [outcome, notes]),
      [['failed', ['the seventh invalid key returns 401']]],
    )
  })

  test('specOnly runs only the checks of the specification', async () => {
    const { results } = await runChecks({ ...options(), specOnly: true, only: ['markets'] })
    assert.ok(results.length > 0 && results.every(({ rule }) => rule.startsWith('spec ')))
  })
})

describe('optional checks', () => {
  test('pass if links expire and bad keys are throttled, and fail if links do not expire', async () => {
    let aheadMs = 0
    const now = () => systemClock.now() + aheadMs
    const sleep = async (waitMs: number) => {
      aheadMs += waitMs
    }
    await using demo = await openDemoServer({}, { ...systemClock, now })
    const options = { baseUrl: demo.url, key: demo.key, slow: true, badKeys: true }
    const only = ['explorer.link.expires', 'http.key.throttle']
    const report = await runChecks({ ...options, only }, undefined, { now, sleep })
    assert.deepEqual(
      report.results.map(({ id, outcome }) => [id, outcome]),
      only.map((id) => [id, 'passed']),
      report.results.map(formatResult).join('\n'),
    )
    const broken = { fetch: createBrokenFetch(neverExpiringLinks(), demo.key, fetchFrom(demo.server)), now, sleep }
    const { results } = await runChecks({ ...options, only: ['explorer.link.expires'] }, undefined, broken)
    assert.deepEqual(
      results.map(({ outcome, notes }) => [outcome, notes]),
      [['failed', ['the expired link returns 200']]],
    )
  })
})
