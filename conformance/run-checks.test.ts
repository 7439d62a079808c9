import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { createBrokenFetch } from '#test/broken-servers/change.ts'
import { explorerDefects, neverExpiringLinks } from '#test/broken-servers/explorer.ts'
import { fxDefects } from '#test/broken-servers/fx.ts'
import { httpDefects } from '#test/broken-servers/http.ts'
import { marketDefects } from '#test/broken-servers/markets.ts'
import { ratingDefects } from '#test/broken-servers/ratings.ts'
import { type DemoServer, openDemoServer } from '#test/demo-server.ts'
import { formatResult, summaryOf } from './report.ts'
import { checkIds, conform } from './run-checks.ts'

// Every run of the suite shows bad keys, and all of them come from this address.
const settings = { keys: { badMax: 1_000_000 }, server: { port: 0, anonymousPerSecond: 0 } }

const breaks = [...httpDefects, ...explorerDefects, ...fxDefects, ...ratingDefects, ...marketDefects]

describe('the conformance suite', () => {
  let world: DemoServer
  let lowKey: string
  before(async () => {
    world = await openDemoServer(settings)
    lowKey = await world.keyFor('free')
  })
  after(() => world[Symbol.asyncDispose]())

  const site = () => ({ baseUrl: world.url, key: world.key, lowKey })
  /** Given, so that a server that is wrong about something else does not look as if it had no data. */
  const samples = () => {
    const { address, indices, slug } = world.samples
    return { address, validators: indices.slice(0, 3), slug }
  }

  test('our own server conforms, and no check is left out but those that are only made on request', async () => {
    const report = await conform(site())
    assert.deepEqual(report.results.filter(({ outcome }) => outcome === 'failed').map(formatResult), [])
    assert.deepEqual(
      report.results.filter(({ outcome }) => outcome === 'skipped').map(({ id }) => id),
      ['explorer.link.expires', 'house.key.guard'],
    )
    assert.ok(report.conforms)
    assert.match(summaryOf(report), /^Conforms: \d+ passed, 0 failed, 2 left out\.$/)
  })

  test('every check has its own id', () => {
    assert.equal(new Set(checkIds).size, checkIds.length)
  })

  test('no check passes against a server that answers everything with an empty object', async () => {
    const fetch = async () => new Response('{}', { headers: { 'content-type': 'application/json' } })
    const world = { fetch: fetch as typeof globalThis.fetch, sleep: async () => {} }
    const samples = { validators: [1, 2], slug: 'a-slug', address: `0x${'12'.repeat(20)}` }
    const report = await conform(
      { baseUrl: 'http://127.0.0.1', key: 'a:b:c', lowKey: 'd:e:f', slow: true, guard: true, samples },
      undefined,
      world,
    )
    assert.deepEqual(report.results.filter(({ outcome }) => outcome !== 'failed').map(formatResult), [])
    assert.equal(report.conforms, false)
  })

  test('a server that is not there fails every check, and the key is not in the report', async () => {
    const report = await conform({
      baseUrl: 'http://127.0.0.1:9',
      key: 'tetrad:x:secret-secret',
      only: ['explorer.labels'],
    })
    assert.equal(report.passed, 0)
    assert.ok(!JSON.stringify(report).includes('secret-secret'))
  })

  for (const [name, finds, change] of breaks) {
    test(`found by ${finds}: ${name}`, async () => {
      const broken = { fetch: createBrokenFetch(change, world.key) }
      const { results } = await conform({ ...site(), samples: samples(), only: [finds] }, undefined, broken)
      assert.deepEqual(
        results.map(({ id, outcome }) => [id, outcome]),
        [[finds, 'failed']],
        results.map(formatResult).join('\n'),
      )
    })
  }

  test('every check has been seen to fail', () => {
    const onRequest = ['explorer.link.expires', 'house.key.guard']
    const seen = new Set([...breaks.map(([, finds]) => finds), ...onRequest])
    assert.deepEqual(
      checkIds.filter((id) => !seen.has(id)),
      [],
    )
  })

  test('a server without a guard is found', async () => {
    const { results } = await conform({ ...site(), guard: true, only: ['house.key.guard'] })
    assert.deepEqual(
      results.map(({ outcome, notes }) => [outcome, notes]),
      [['failed', ['the seventh bad key gives 401']]],
    )
  })

  test('specOnly leaves out what the specification does not say', async () => {
    const { results } = await conform({ ...site(), specOnly: true, only: ['markets'] })
    assert.ok(results.length > 0 && results.every(({ rule }) => rule.startsWith('spec ')))
  })
})

describe('what is only checked on request', () => {
  test('links that expire, and the guard: found where they are, missed where they are not', async () => {
    let aheadMs = 0
    const now = () => systemClock.now() + aheadMs
    const sleep = async (waitMs: number) => {
      aheadMs += waitMs
    }
    await using world = await openDemoServer({}, { ...systemClock, now })
    const options = { baseUrl: world.url, key: world.key, slow: true, guard: true }
    const only = ['explorer.link.expires', 'house.key.guard']
    const report = await conform({ ...options, only }, undefined, { now, sleep })
    assert.deepEqual(
      report.results.map(({ id, outcome }) => [id, outcome]),
      only.map((id) => [id, 'passed']),
      report.results.map(formatResult).join('\n'),
    )
    const living = { fetch: createBrokenFetch(neverExpiringLinks(), world.key), now, sleep }
    const { results } = await conform({ ...options, only: ['explorer.link.expires'] }, undefined, living)
    assert.deepEqual(
      results.map(({ outcome, notes }) => [outcome, notes]),
      [['failed', ['after its time it gives 200']]],
    )
  })
})
