// When a network counts as late, and how long its node may fail (behaviour/validators.md#late-networks).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordStep } from '#ingest/stream-progress.ts'
import { coverageReport } from '#operations/coverage.ts'
import { systemClock } from '#runtime/clock.ts'
import { addCoverage } from '#storage/coverage.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { waitUntil } from '#test/wait-until.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { beaconFindings, startBeacon } from '../start.ts'
import { networkStream, readNetworkHealth } from './health.ts'
import { findRun, registerRun, unregisterRun } from './ingest-status.ts'

const minuteMs = 60_000

/** Epochs last four minutes, the current one is a second old, and the last `behind` epochs are not stored. */
async function openNetwork({ behind = 3, slotSeconds = 30, fromEpoch = -1 } = {}) {
  const hoodi = { slotSeconds, slotsPerEpoch: 8, beacon: { urls: ['http://beacon.test'], fromEpoch } }
  const context = await openContext({ validators: { networks: { hoodi } } })
  const { genesisUnix } = context.settings.validators.networks.hoodi
  const epochMs = slotSeconds * 8000
  const now = Math.ceil((context.clock.now() - genesisUnix * 1000) / epochMs)
  context.clock.advance(genesisUnix * 1000 + now * epochMs + 1000 - context.clock.now())
  await context.dutiesState.write((tx) => addCoverage(tx, 'duties/hoodi', now - 100, now - behind))
  return context
}

async function readReports(context: TestContext) {
  const [finding] = await beaconFindings(context)
  const { streams } = await coverageReport(context)
  const stream = streams.find(({ group }) => group === 'validators')
  return [stream?.status, finding?.ok, finding?.message]
}

test('three to five epochs behind is healthy, six is late', async () => {
  for (const [behind, status, ok] of [
    [3, 'healthy', true],
    [5, 'healthy', true],
    [6, 'stale', false],
  ] as const) {
    await using context = await openNetwork({ behind })
    assert.deepEqual(await readReports(context), [status, ok, `${behind} epochs behind`])
  }
})

test('epochs ahead of the clock are not fresh: the clock is wrong', async () => {
  await using context = await openNetwork()
  context.clock.wrongByMs = -24 * 60 * minuteMs
  assert.deepEqual(await readReports(context), ['stale', false, '357 epochs ahead of the clock'])
})

test('a node that fails is reported in time, even if the clock is set back', async () => {
  await using context = await openNetwork()
  const run = registerRun(context, 'hoodi')
  context.clock.wrongByMs = 2 * minuteMs
  run.end('connection refused', context.clock.monotonicMs())
  context.clock.wrongByMs = 0
  context.clock.advance(4 * minuteMs + 1)
  const message = '4 epochs behind; its beacon node has been unreadable for 4 min'
  assert.deepEqual(await readReports(context), ['stale', false, message])
})

test('a node that fails for longer than an epoch is reported, even if epochs were stored recently', async () => {
  await using context = await openNetwork()
  recordStep(context, networkStream('hoodi'))
  const run = registerRun(context, 'hoodi')
  run.end('connection refused', context.clock.monotonicMs())
  context.clock.advance(2 * minuteMs)
  run.end('connection refused', context.clock.monotonicMs())
  assert.deepEqual(await readReports(context), ['healthy', true, '3 epochs behind'])
  context.clock.advance(2 * minuteMs + 1)
  const message = '4 epochs behind; its beacon node has been unreadable for 4 min'
  assert.deepEqual(await readReports(context), ['stale', false, message])
  // It never counts as catching up while the node fails.
  context.clock.advance(8 * minuteMs)
  assert.equal((await readReports(context))[0], 'stale')
})

test('nodes that disagree are reported in /readyz and the coverage', async () => {
  await using context = await openNetwork()
  const run = registerRun(context, 'hoodi')
  const nodes = async () => (await coverageReport(context)).streams.find(({ group }) => group === 'validators')?.nodes
  const progress = { until: 1, finalizedEpoch: 3, written: 1 }
  run.step(progress)
  assert.equal(await nodes(), undefined)
  run.end('epoch 2: http://a and http://b return different last blocks', context.clock.monotonicMs(), 'disagreement')
  assert.equal(await nodes(), 'disagree')
  const [, isReady, text] = await readReports(context)
  assert.equal(isReady, false)
  assert.match(
    String(text),
    /its beacon nodes disagree: epoch 2: http:\/\/a and http:\/\/b return different last blocks$/,
  )
  assert.match((await readNetworkHealth(context, 'hoodi')).problem?.todo ?? '', /remove it from validators/)
  run.end(null, context.clock.monotonicMs())
  assert.equal(await nodes(), undefined)
})

test('a contradiction is reported at once, with advice, until an epoch is stored', async () => {
  await using context = await openNetwork()
  const run = registerRun(context, 'hoodi')
  const reason = 'epoch 7, slot 57: the parent root of the block is 0xaa; node http://node'
  run.end(reason, context.clock.monotonicMs(), 'contradiction')
  const message = `3 epochs behind; its beacon node contradicts itself: ${reason}`
  assert.deepEqual(await readReports(context), ['stale', false, message])
  assert.match(
    (await readNetworkHealth(context, 'hoodi')).problem?.todo ?? '',
    /add a second one to validators\.networks\.hoodi/,
  )
  run.step(run.status)
  assert.deepEqual(await readReports(context), ['healthy', true, '3 epochs behind'])
})

test('a network without a finalized epoch is healthy while its node responds', async () => {
  const hoodi = { beacon: { urls: ['http://beacon.test'] } }
  await using context = await openContext({ validators: { networks: { hoodi } } })
  const run = registerRun(context, 'hoodi')
  recordStep(context, networkStream('hoodi'))
  context.clock.advance(20 * minuteMs)
  assert.equal((await beaconFindings(context))[0]?.ok, false)
  run.end(null, context.clock.monotonicMs())
  assert.equal((await beaconFindings(context))[0]?.ok, true)
})

test('a stored epoch ends the failure, and so does a poll without new epochs', async () => {
  for (const recovery of ['step', 'end'] as const) {
    await using context = await openNetwork()
    const run = registerRun(context, 'hoodi')
    run.end('connection refused', context.clock.monotonicMs())
    context.clock.advance(5 * minuteMs)
    assert.equal((await readNetworkHealth(context, 'hoodi')).isFresh, false)
    if (recovery === 'step') run.step(run.status)
    else run.end(null, context.clock.monotonicMs())
    assert.equal((await readNetworkHealth(context, 'hoodi')).isFresh, true)
    run.end('connection refused', context.clock.monotonicMs())
    assert.equal((await readNetworkHealth(context, 'hoodi')).isFresh, true)
  }
})

test('a server that no longer ingests, because another one does, does not report failures', async () => {
  await using context = await openNetwork()
  const run = registerRun(context, 'hoodi')
  run.end('connection refused', context.clock.monotonicMs())
  context.clock.advance(5 * minuteMs)
  assert.equal((await readNetworkHealth(context, 'hoodi')).isFresh, false)
  unregisterRun(context, 'hoodi', run)
  assert.equal((await readNetworkHealth(context, 'hoodi')).isFresh, true)
  // Unregistering an earlier run does not remove a later one.
  const next = registerRun(context, 'hoodi')
  unregisterRun(context, 'hoodi', run)
  assert.equal(findRun(context, 'hoodi'), next)
})

test('an ingester that ends unregisters its run', async () => {
  await using context = await openNetwork()
  const stop = new AbortController()
  const ended = startBeacon({ ...context, clock: systemClock }, stop.signal)
  await waitUntil(() => findRun(context, 'hoodi') !== undefined)
  stop.abort()
  await ended
  assert.equal(findRun(context, 'hoodi'), undefined)
})

test('on a chain with short epochs, a node may fail for two minutes', async () => {
  await using context = await openNetwork({ slotSeconds: 12, behind: 3 })
  const run = registerRun(context, 'hoodi')
  run.end('connection refused', context.clock.monotonicMs())
  context.clock.advance(2 * minuteMs)
  assert.equal((await readNetworkHealth(context, 'hoodi')).problem, undefined)
  context.clock.advance(1)
  assert.match((await readNetworkHealth(context, 'hoodi')).problem?.message ?? '', /unreadable for 2 min/)
})

test('a gap in the coverage is reported, and does not make the server unready', async () => {
  await using context = await openNetwork()
  const { until } = (await readNetworkHealth(context, 'hoodi')).covered[0] ?? { until: 0 }
  const [from, end] = [until - 400, until - 390]
  await context.dutiesState.write((tx) => addCoverage(tx, 'duties/hoodi', from, end))
  const [status, ok, message] = await readReports(context)
  assert.deepEqual([status, ok], ['gaps', true])
  assert.match(
    String(message),
    new RegExp(`^3 epochs behind; epochs ${end} to \\d+ are missing: add a node that has the state`),
  )
})

test('while the server fills a gap, the network is catching up and the number of missing epochs is reported', async () => {
  await using context = await openNetwork()
  const first = (await readNetworkHealth(context, 'hoodi')).covered[0]?.from ?? 0
  await context.dutiesState.write((tx) => addCoverage(tx, 'duties/hoodi', first - 50, first - 40))
  const missing = `3 epochs behind; epochs ${first - 40} to ${first - 1} are missing: `
  const [status, ok, message] = await readReports(context)
  assert.deepEqual([status, ok, String(message).startsWith(missing)], ['gaps', true, true])

  const run = registerRun(context, 'hoodi')
  run.recordFill(40)
  const filling = '3 epochs behind; 40 earlier epochs are still being read'
  assert.deepEqual(await readReports(context), ['catching up', true, filling])
  run.recordFill(0)
  assert.deepEqual(await readReports(context), [status, ok, message])
})

test('epochs from `fromEpoch` to the first stored one are missing, if the operator has set it', async () => {
  for (const fromEpoch of [0, 7]) {
    await using context = await openNetwork({ fromEpoch })
    const [first] = await coveredEpochs(context.duties, 'hoodi')
    assert.ok(first)
    const missing = `3 epochs behind; epochs ${fromEpoch} to ${first.from - 1} are missing: `
    const [status, ok, message] = await readReports(context)
    assert.deepEqual([status, ok, String(message).startsWith(missing)], ['gaps', true, true], String(message))
    const { gapless, streams } = await coverageReport(context)
    const network = streams.find(({ group }) => group === 'validators')
    assert.deepEqual([gapless, network?.gapless], [false, false])
    assert.deepEqual([network?.from, network?.gaps], [fromEpoch, [{ from: fromEpoch, until: first.from }]])
  }
  // It has more than requested.
  await using context = await openNetwork({ fromEpoch: 2 ** 30 })
  assert.deepEqual(await readReports(context), ['healthy', true, '3 epochs behind'])
})

test('while epochs before the first stored one are read, the network is catching up, but not after a failed poll', async () => {
  await using context = await openNetwork()
  const healthy = ['healthy', true, '3 epochs behind']
  assert.deepEqual(await readReports(context), healthy)
  const run = registerRun(context, 'hoodi')
  run.recordFill(40)
  const filling = '3 epochs behind; 40 earlier epochs are still being read'
  assert.deepEqual(await readReports(context), ['catching up', true, filling])
  run.end('connection refused', context.clock.monotonicMs())
  assert.deepEqual(await readReports(context), healthy)
})
