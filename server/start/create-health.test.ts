import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeFeedState } from '#markets/feeds/feed-progress.ts'
import { type FeedState, newFeedState } from '#markets/read/feed-state.ts'
import { coverageReport } from '#operations/coverage.ts'
import { openMetrics } from '#runtime/metrics.ts'
import { WriteHealth } from '#storage/write-health.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { createHealth } from './create-health.ts'

const fx = { sources: [{ id: 'desk', kind: 'http-json', url: 'http://rates.test' }] }
const markets = { feeds: [{ id: 'main', url: 'http://feed.test', everyMs: 60_000 }] }

/** The status of /readyz, and the checks that fail. */
async function readiness(changes: object, feedState: Partial<FeedState> = {}, state = '') {
  await using opened = await openContext(changes)
  const { settings } = opened
  const context = { ...opened, settings: { ...settings, store: { ...settings.store, state } } }
  await context.ingest.write((tx) => storeFeedState(tx, { ...newFeedState('main'), ...feedState }))
  const { routes } = createHealth(context, {
    metrics: openMetrics({ process: false }),
    writeHealth: new WriteHealth(context.clock),
    ingest: { findings: async () => [] } as never,
    hasSharedLimits: () => false,
    coverage: () => coverageReport(context),
  })
  const route = routes.find(({ path }) => path === '/readyz')
  assert.ok(route?.read)
  const { status, body } = await route.read({} as never, {} as never)
  const { checks } = JSON.parse(String(body)) as { checks: { name: string; ok: boolean; message: string }[] }
  return { status, failed: checks.filter(({ ok }) => !ok).map(({ name }) => name), checks }
}

test('behaviour/operations.md#readiness: servers that share a database stay ready when its data is old', async () => {
  const failed = ['fx rates', 'market feed main']
  const shared = await readiness({ fx, markets }, {}, 'postgres://db.test/tetrad')
  assert.deepEqual([shared.status, shared.failed], [200, failed])
  const own = await readiness({ fx, markets })
  assert.deepEqual([own.status, own.failed], [503, failed])
})

test('behaviour/operations.md#readiness: a feed that is behind is reported and does not make a server unready', async () => {
  const slow = { startedMs: testNowMs - 180_000, asOfMs: testNowMs - 180_000, doneAtMs: testNowMs, fullAtMs: testNowMs }
  const { status, failed, checks } = await readiness({ markets }, slow)
  assert.deepEqual([status, failed], [200, ['market feed main']])
  const feed = checks.find(({ name }) => name === 'market feed main')
  assert.match(JSON.stringify(feed), /"3 passes behind: a pass takes 180 s, the interval is 60 s;.*"required":false/)
})
