import assert from 'node:assert/strict'
import { test } from 'node:test'
import { metricsContentType, openMetrics } from './metrics.ts'

const lines = async (metrics: { text(): Promise<string> }, name: string) =>
  (await metrics.text()).split('\n').filter((line) => line.startsWith(name))

test('a request is counted by endpoint and outcome', async () => {
  const metrics = openMetrics({ process: false })
  metrics.request('markets.bySlug', 'ok', 1)
  metrics.request('markets.bySlug', 'ok', 1)
  metrics.request('markets.bySlug', 'unchanged', 1)
  metrics.request('fx.createQuote', 'fx.rate_stale', 1)
  assert.deepEqual(await lines(metrics, 'tetrad_requests_total'), [
    'tetrad_requests_total{endpoint="markets.bySlug",outcome="ok"} 2',
    'tetrad_requests_total{endpoint="markets.bySlug",outcome="unchanged"} 1',
    'tetrad_requests_total{endpoint="fx.createQuote",outcome="fx.rate_stale"} 1',
  ])
})

test('durations are counted in seconds in the correct bucket', async () => {
  const metrics = openMetrics({ process: false })
  metrics.request('markets.bySlug', 'ok', 4)
  metrics.request('markets.bySlug', 'ok', 6)
  const text = await metrics.text()
  assert.match(text, /^tetrad_request_seconds_bucket\{le="0.005",endpoint="markets.bySlug"\} 1$/m)
  assert.match(text, /^tetrad_request_seconds_bucket\{le="0.01",endpoint="markets.bySlug"\} 2$/m)
  assert.match(text, /^tetrad_request_seconds_sum\{endpoint="markets.bySlug"\} 0.01$/m)
})

test('durations beyond the last bucket are counted, and a scrape does not change counts', async () => {
  const metrics = openMetrics({ process: false })
  metrics.request('markets.bySlug', 'ok', 60_000)
  metrics.request('markets.bySlug', 'ok', 500)
  const text = await metrics.text()
  assert.match(text, /^# TYPE tetrad_request_seconds histogram$/m)
  assert.match(text, /^tetrad_request_seconds_bucket\{le="0.25",endpoint="markets.bySlug"\} 0$/m)
  assert.match(text, /^tetrad_request_seconds_bucket\{le="0.5",endpoint="markets.bySlug"\} 1$/m)
  assert.match(text, /^tetrad_request_seconds_bucket\{le="30",endpoint="markets.bySlug"\} 1$/m)
  assert.match(text, /^tetrad_request_seconds_bucket\{le="\+Inf",endpoint="markets.bySlug"\} 2$/m)
  assert.match(text, /^tetrad_request_seconds_count\{endpoint="markets.bySlug"\} 2$/m)
  assert.equal(await metrics.text(), text)
})

test('limits, polls, readiness and the build are exported', async () => {
  const metrics = openMetrics({ version: '1.2.3', process: false })
  metrics.limited('limit.day')
  metrics.limited('limit.day')
  metrics.ingested('ecb', 'ok')
  metrics.ready(true)
  const text = await metrics.text()
  assert.match(text, /^tetrad_limits_hit_total\{kind="limit.day"\} 2$/m)
  assert.match(text, /^tetrad_ingest_total\{source="ecb",outcome="ok"\} 1$/m)
  assert.match(text, /^tetrad_ready 1$/m)
  assert.match(text, /^tetrad_build_info\{version="1.2.3",node="v\d+/m)
  metrics.ready(false)
  assert.match(await metrics.text(), /^tetrad_ready 0$/m)
})

test('the duration of database operations is counted by store and operation', async () => {
  const metrics = openMetrics({ process: false })
  metrics.stored('state', 'get', 2)
  metrics.stored('state', 'get', 3)
  assert.deepEqual(await lines(metrics, 'tetrad_store_seconds_sum'), [
    'tetrad_store_seconds_sum{store="state",operation="get"} 0.005',
  ])
  assert.deepEqual(await lines(metrics, 'tetrad_store_seconds_count'), [
    'tetrad_store_seconds_count{store="state",operation="get"} 2',
  ])
})

test('label sets are limited to 1000; further ones are counted as other', async () => {
  const metrics = openMetrics({ process: false })
  for (let source = 0; source < 1500; source++) metrics.ingested(`source-${source}`, 'ok')
  const counted = await lines(metrics, 'tetrad_ingest_total{')
  assert.equal(counted.length, 1001)
  assert.equal(counted.at(-1), 'tetrad_ingest_total{source="other",outcome="other"} 500')
})

test('two servers in one process are counted separately, and both export process metrics', async () => {
  const one = openMetrics()
  const other = openMetrics()
  one.limited('limit.second')
  assert.equal((await lines(one, 'tetrad_limits_hit_total{')).length, 1)
  assert.equal((await lines(other, 'tetrad_limits_hit_total{')).length, 0)
  assert.match(await other.text(), /^process_resident_memory_bytes \d+/m)
  assert.equal(metricsContentType, 'text/plain; version=0.0.4; charset=utf-8')
})

test('every stream is exported with age, gaps and status, and removed when it is no longer reported', async () => {
  const metrics = openMetrics({ process: false })
  const chain = {
    group: 'explorer',
    name: 'chain 1',
    ageSeconds: null,
    gapsCount: 2,
    gapless: false,
    fresh: null,
    status: 'catching up',
  } as const
  const rates = {
    group: 'fx',
    name: 'rates desk',
    ageSeconds: 3,
    gapsCount: 0,
    gapless: true,
    fresh: true,
    status: 'healthy',
  } as const
  metrics.setStreams([chain, rates])
  assert.deepEqual(await lines(metrics, 'tetrad_stream_'), [
    'tetrad_stream_age_seconds{group="fx",stream="rates desk"} 3',
    'tetrad_stream_gaps{group="explorer",stream="chain 1"} 2',
    'tetrad_stream_gaps{group="fx",stream="rates desk"} 0',
    'tetrad_stream_gapless{group="explorer",stream="chain 1"} 0',
    'tetrad_stream_gapless{group="fx",stream="rates desk"} 1',
    'tetrad_stream_fresh{group="fx",stream="rates desk"} 1',
    'tetrad_stream_catching_up{group="explorer",stream="chain 1"} 1',
    'tetrad_stream_catching_up{group="fx",stream="rates desk"} 0',
  ])
  const passes = { behind: 3, takesSeconds: 180, everySeconds: 60 }
  metrics.setStreams([{ ...rates, status: 'behind', passes }])
  assert.deepEqual(await lines(metrics, 'tetrad_stream_pass'), [
    'tetrad_stream_pass_seconds{group="fx",stream="rates desk"} 180',
    'tetrad_stream_passes_behind{group="fx",stream="rates desk"} 3',
  ])
  const nextFork = { name: 'heze', epoch: 7, at: '2026-12-05T00:00:00.000Z', supported: false, differs: true }
  metrics.setStreams([{ ...rates, group: 'validators', name: 'network devnet', nextFork }])
  assert.deepEqual(await lines(metrics, 'tetrad_stream_next_fork'), [
    'tetrad_stream_next_fork_timestamp_seconds{group="validators",stream="network devnet"} 1796428800',
    'tetrad_stream_next_fork_supported{group="validators",stream="network devnet"} 0',
    'tetrad_stream_next_fork_differs{group="validators",stream="network devnet"} 1',
  ])
  metrics.setStreams([{ ...rates, fresh: false }])
  assert.deepEqual(await lines(metrics, 'tetrad_stream_fresh'), [
    'tetrad_stream_fresh{group="fx",stream="rates desk"} 0',
  ])
  assert.deepEqual(await lines(metrics, 'tetrad_stream_gaps{group="explorer"'), [])
})

test('totals equal the exported values', async () => {
  const metrics = openMetrics({ process: false })
  metrics.request('markets.bySlug', 'ok', 20)
  metrics.request('markets.bySlug', 'not_found', 30)
  metrics.request('none', 'route.unknown')
  const { requests, times } = await metrics.totals()
  assert.deepEqual(requests, [
    { endpoint: 'markets.bySlug', outcome: 'ok', count: 1 },
    { endpoint: 'markets.bySlug', outcome: 'not_found', count: 1 },
    { endpoint: 'none', outcome: 'route.unknown', count: 1 },
  ])
  assert.deepEqual(times.get('markets.bySlug')?.slice(4, 7), [0, 1, 2])
  assert.equal(times.get('markets.bySlug')?.at(-1), 2)
  assert.equal(times.has('none'), false)
})
