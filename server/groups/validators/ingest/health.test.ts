// How far behind is too far, and how long a node may fail (decision 0188).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noteStep } from '#ingest/steps.ts'
import { systemClock } from '#io/clock.ts'
import { coverageReport } from '#server/upkeep/coverage.ts'
import { cover } from '#store/coverage.ts'
import { openDesk, type TestDesk } from '#test/desk.ts'
import { networkHealth, networkStream } from './health.ts'
import { forgetRun, noteRun, runOf } from './runs.ts'
import { beaconFindings, startBeacon } from './start.ts'

const minuteMs = 60_000

/** Epochs of four minutes, the present one a second old, read up to `behind` before it. */
async function openNetwork({ behind = 3, slotSeconds = 30 } = {}) {
  const hoodi = { slotSeconds, slotsPerEpoch: 8, beacon: { urls: ['http://beacon.test'] } }
  const desk = await openDesk({ validators: { networks: { hoodi } } })
  const { genesisUnix } = desk.settings.validators.networks.hoodi
  const epochMs = slotSeconds * 8000
  const now = Math.ceil((desk.clock.now() - genesisUnix * 1000) / epochMs)
  desk.clock.move(genesisUnix * 1000 + now * epochMs + 1000 - desk.clock.now())
  await desk.dutiesState.write((tx) => cover(tx, 'duties/hoodi', now - 100, now - behind))
  return desk
}

async function told(desk: TestDesk) {
  const [ready] = await beaconFindings(desk)
  const { streams } = await coverageReport(desk)
  const stream = streams.find(({ group }) => group === 'validators')
  return [stream?.standing, ready?.ok, ready?.says]
}

test('three epochs behind is as near as it gets, five still well, six is late', async () => {
  for (const [behind, standing, ok] of [
    [3, 'well', true],
    [5, 'well', true],
    [6, 'stale', false],
  ] as const) {
    await using desk = await openNetwork({ behind })
    assert.deepEqual(await told(desk), [standing, ok, `${behind} epochs behind`])
  }
})

test('a node that fails for longer than an epoch lasts is told, also when something was read of late', async () => {
  await using desk = await openNetwork()
  noteStep(desk, networkStream('hoodi'))
  const run = noteRun(desk, 'hoodi')
  run.end('connection refused', desk.clock.now())
  desk.clock.move(2 * minuteMs)
  run.end('connection refused', desk.clock.now())
  assert.deepEqual(await told(desk), ['well', true, '3 epochs behind'])
  desk.clock.move(2 * minuteMs + 1)
  const words = '4 epochs behind; its beacon node has not been readable for 4 min'
  assert.deepEqual(await told(desk), ['stale', false, words])
  // It is not catching up however far behind it gets.
  desk.clock.move(8 * minuteMs)
  assert.equal((await told(desk))[0], 'stale')
})

test('a contradiction is reported at once, with what to do, until something is read', async () => {
  await using desk = await openNetwork()
  const run = noteRun(desk, 'hoodi')
  const reason = 'epoch 7, slot 57: the block names 0xaa as its parent; node http://node'
  run.end(reason, desk.clock.now(), true)
  const words = `3 epochs behind; its beacon node contradicts itself: ${reason}`
  assert.deepEqual(await told(desk), ['stale', false, words])
  assert.match(
    (await networkHealth(desk, 'hoodi')).trouble?.todo ?? '',
    /add a second one to validators\.networks\.hoodi/,
  )
  run.step(run.standing)
  assert.deepEqual(await told(desk), ['well', true, '3 epochs behind'])
})

test('a network of which nothing is final yet is no failure, as long as its node answers', async () => {
  const hoodi = { beacon: { urls: ['http://beacon.test'] } }
  await using desk = await openDesk({ validators: { networks: { hoodi } } })
  const run = noteRun(desk, 'hoodi')
  noteStep(desk, networkStream('hoodi'))
  desk.clock.move(20 * minuteMs)
  assert.equal((await beaconFindings(desk))[0]?.ok, false)
  run.end(null, desk.clock.now())
  assert.equal((await beaconFindings(desk))[0]?.ok, true)
})

test('whatever is read ends the failing, and so does a look that finds nothing new', async () => {
  for (const mend of ['step', 'end'] as const) {
    await using desk = await openNetwork()
    const run = noteRun(desk, 'hoodi')
    run.end('connection refused', desk.clock.now())
    desk.clock.move(5 * minuteMs)
    assert.equal((await networkHealth(desk, 'hoodi')).isFresh, false)
    if (mend === 'step') run.step(run.standing)
    else run.end(null, desk.clock.now())
    assert.equal((await networkHealth(desk, 'hoodi')).isFresh, true)
    run.end('connection refused', desk.clock.now())
    assert.equal((await networkHealth(desk, 'hoodi')).isFresh, true)
  }
})

test('who no longer asks the node, because another server does, says nothing of it', async () => {
  await using desk = await openNetwork()
  const run = noteRun(desk, 'hoodi')
  run.end('connection refused', desk.clock.now())
  desk.clock.move(5 * minuteMs)
  assert.equal((await networkHealth(desk, 'hoodi')).isFresh, false)
  forgetRun(desk, 'hoodi', run)
  assert.equal((await networkHealth(desk, 'hoodi')).isFresh, true)
  // A later run is not forgotten with an earlier one.
  const next = noteRun(desk, 'hoodi')
  forgetRun(desk, 'hoodi', run)
  assert.equal(runOf(desk, 'hoodi'), next)
})

test('an ingester that ends forgets its run', async () => {
  await using desk = await openNetwork()
  const stop = new AbortController()
  const ended = startBeacon({ ...desk, clock: systemClock }, stop.signal)
  while (!runOf(desk, 'hoodi')) await new Promise((resolve) => setTimeout(resolve, 5))
  stop.abort()
  await ended
  assert.equal(runOf(desk, 'hoodi'), undefined)
})

test('on a chain with short epochs a node has two minutes to come back', async () => {
  await using desk = await openNetwork({ slotSeconds: 12, behind: 3 })
  const run = noteRun(desk, 'hoodi')
  run.end('connection refused', desk.clock.now())
  desk.clock.move(2 * minuteMs)
  assert.equal((await networkHealth(desk, 'hoodi')).trouble, undefined)
  desk.clock.move(1)
  assert.match((await networkHealth(desk, 'hoodi')).trouble?.says ?? '', /not been readable for 2 min/)
})
