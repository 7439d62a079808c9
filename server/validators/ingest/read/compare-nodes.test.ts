// Two beacon nodes of one network are compared before epochs are stored (behaviour/validators.md#comparison-of-nodes).

import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, settingsWith } from '#test/context.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { emptyDuties } from '#test/stored-duties.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { createEpochProcessor } from '../epochs/epoch-processor.ts'
import { Follower } from '../follow.ts'
import type { IngestStep } from '../status/ingest-progress.ts'
import { withChainTimes } from './chain-identity.ts'

const network = 'hoodi'
const slotsPerEpoch = 4
const plan = {
  ...{ epochs: 12, outage: { from: 0, until: 0 }, slashing: 0, missed: 0.15, orphaned: 0, balanceChanges: 0 },
  ...{
    slotsPerEpoch,
    slotSeconds: 12,
    validators: 24,
    committeesPerSlot: 2,
    syncSeats: 8,
    forkEpochs: presentForks,
    hasExecution: false,
  },
}
const world = simulateNetwork('compare', plan)

const signal = new AbortController().signal
const context = await openContext()
after(() => context[Symbol.asyncDispose]())
afterEach(() => emptyDuties(context))

async function openFollower(urls: readonly string[], comparesNodes = true) {
  // One epoch per segment.
  const hoodi = { epochsPerHour: 1, epochsPerDay: 6, beacon: { urls, fromEpoch: 0 } }
  const configured = settingsWith({ validators: { networks: { [network]: hoodi } } })
  const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
  const beacon = openBeacon({ network, urls, timeoutMs: 5000, clock: systemClock, backoffMs: 1 })
  const processor = createEpochProcessor(beacon, { comparesNodes })
  const follower = new Follower({ ...context, settings }, network, processor)
  const steps: IngestStep[] = []
  return { steps, catchUp: () => follower.catchUp(signal, (step) => steps.push(step)) }
}

const covered = () => coveredEpochs(context.duties, network)

test('a node on another fork stops ingest', async () => {
  const fork = { ...simulateNetwork('compare other', plan), genesisUnix: world.genesisUnix }
  await using one = await openNodeOfRun(world)
  await using other = await openNodeOfRun(fork, { finalized: () => world.finalized })
  const { catchUp, steps } = await openFollower([one.url, other.url])
  await assert.rejects(catchUp(), new RegExp(`${one.url} and ${other.url} return different last blocks: 0x`))
  assert.deepEqual([await covered(), steps], [[], []])
})

test('a second node that is down, behind or without blocks does not stop ingest, and is reported', async () => {
  await using one = await openNodeOfRun(world)
  await using behind = await openNodeOfRun(world, { finalized: () => 1 })
  await using without = await openNodeOfRun(world, { lacks: () => true, finalized: () => world.finalized })
  const unreachable = 'http://127.0.0.1:1'
  for (const [url, reason] of [
    [unreachable, /cannot be reached \(ECONNREFUSED\)$/],
    [behind.url, /: it is behind; its finalized epoch is 1$/],
    [without.url, /: it has no block of epoch \d$/],
  ] as const) {
    const { catchUp, steps } = await openFollower([one.url, url])
    await catchUp()
    assert.deepEqual(await covered(), [{ from: 0, until: world.finalized - 1 }])
    const [first = ''] = steps.at(-1)?.notCompared ?? []
    assert.ok(first.startsWith(url), first)
    assert.match(first, reason)
    await emptyDuties(context)
  }
})

test('a node that has recovered is compared again', async () => {
  let finalized = 1
  await using one = await openNodeOfRun(world)
  await using two = await openNodeOfRun(world, { finalized: () => finalized })
  const { catchUp, steps } = await openFollower([one.url, two.url])
  await catchUp()
  assert.equal(steps.at(-1)?.notCompared?.length, 1)
  finalized = world.finalized
  await emptyDuties(context)
  const again = await openFollower([one.url, two.url])
  await again.catchUp()
  assert.deepEqual(again.steps.at(-1)?.notCompared, [])
})
