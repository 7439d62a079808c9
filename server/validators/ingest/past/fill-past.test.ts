// The past of validators that are added to a watch list (behaviour/validators.md#watch-lists), on a simulated network.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type Log, silentLog } from '#runtime/log.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { storedRows } from '#test/stored-duties.ts'
import { sumTruth } from '#test/sum-truth.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { listMissedDuties } from '../../duties/missed.ts'
import { keptEpochs } from '../../duties/watch-ranges.ts'
import { measures } from '../../method/measures.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { startBeacon } from '../start.ts'
import { findRun } from '../status/ingest-status.ts'
import { type PastStep, readMissingPast } from './fill-past.ts'
import { createFillPastSchedule } from './schedule-fill-past.ts'

const network = 'hoodi'
const signal = new AbortController().signal
const epochsPerHour = 3
/** Some hours span two days. */
const epochsPerDay = 4

const chain = simulateNetwork('past', {
  ...{ slotsPerEpoch: 4, validators: 28, committeesPerSlot: 1, syncSeats: 8, syncPeriod: 4, slotSeconds: 12 },
  ...{ forkEpochs: presentForks, hasExecution: false, epochs: 24, calmEpochs: 24 },
  ...{ outage: { from: 0, until: 0 }, missed: 0.1, orphaned: 0, slashing: 0, balanceChanges: 0 },
})

/** A node whose finality the test moves. */
async function openWorld(simulated = chain) {
  const at = { finalized: 0 }
  const node = await openNodeOfRun(simulated, { finalized: () => at.finalized })
  const context = await openContext()
  let settings = context.settings
  /** A server that was restarted with these settings. */
  const restart = async (watch: readonly string[], changes: object = {}, log: Log = context.log) => {
    const networkSettings = {
      epochsPerHour,
      epochsPerDay,
      watch,
      watchPastDays: 2,
      beacon: { urls: [node.url], fromEpoch: 0 },
    }
    const configured = settingsWith({ validators: { networks: { [network]: { ...networkSettings, ...changes } } } })
    settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
    const beacon = openBeacon({ network, urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
    return new Follower({ ...context, settings, log, clock: systemClock }, network, beacon)
  }
  return {
    ...{ at, context, restart, url: node.url },
    /** Reads up to `until` with this list. */
    async follow(watch: readonly string[], until: number, changes: object = {}) {
      at.finalized = until + 1
      const follower = await restart(watch, changes)
      await follower.catchUp(signal)
      return follower
    },
    current: (): TestContext => ({ ...context, settings }),
    kept: async (validator: number) =>
      keptEpochs(context.duties, network, await coveredEpochs(context.duties, network), [validator]),
    async [Symbol.asyncDispose]() {
      await context[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

/** Rows of these validators, in all grains, and their missed duties. */
async function rowsOf(context: TestContext, validators: readonly number[]) {
  const grains = ['hours', 'utcHours', 'days', 'utcDays'] as const
  const rows = await Promise.all(grains.map((grain) => storedRows(context, network, grain)))
  const time = context.settings.validators.networks[network]
  const missed = await Promise.all(
    validators.map((one) =>
      listMissedDuties(context.duties, { network, time, validators: [one], epochs: { from: 0, until: 100 } }),
    ),
  )
  return JSON.stringify([rows.map((list) => list.filter(({ validator }) => validators.includes(validator))), missed])
}

async function assertTruth(context: TestContext, validator: number, from: number, until: number): Promise<void> {
  const rows = (await storedRows(context, network, 'days')).filter((row) => row.validator === validator)
  const expected = sumTruth(chain.truth, from, until).get(validator) ?? assert.fail()
  for (const name of measures) {
    const sum = rows.reduce((total, row) => total + row[name], 0)
    assert.equal(sum, expected[name] ?? 0, name)
  }
}

/** Reads the whole past. Returns the first epoch of each step. */
async function fillAll(follower: () => Promise<Follower>): Promise<number[]> {
  const starts: number[] = []
  for (;;) {
    const step = await (await follower()).fillPast(signal)
    if (step.is !== 'read') return starts
    starts.push(step.epochs.from)
  }
}

test('an added validator gets its past, oldest first, through restarts, and other rows do not change', async () => {
  await using world = await openWorld()
  await world.follow(['2', '5'], 14)
  await world.follow(['2', '5', '9'], 16)
  const before = await rowsOf(world.current(), [2, 5])
  assert.deepEqual(await readMissingPast(world.current(), network), { validators: 1, epochs: 10 })
  const first = await (await world.restart(['2', '5', '9'])).fillPast(signal)
  assert.deepEqual(first, { is: 'read', epochs: { from: 4, until: 6 }, validators: 1, left: 8 })
  assert.deepEqual(await world.kept(9), [
    { from: 4, until: 6 },
    { from: 14, until: 16 },
  ])
  assert.deepEqual(await readMissingPast(world.current(), network), { validators: 1, epochs: 8 })
  const starts = await fillAll(() => world.restart(['2', '5', '9']))
  assert.deepEqual(starts, [6, 8, 9, 12], 'segments, which end with an hour or a day')
  // Added in day 3 (epochs 12 to 15), so its past begins with day 1.
  assert.deepEqual(await world.kept(9), [{ from: 4, until: 16 }])
  assert.deepEqual(await readMissingPast(world.current(), network), { validators: 0, epochs: 0 })
  await assertTruth(world.current(), 9, 4, 16)
  assert.equal(await rowsOf(world.current(), [2, 5]), before)
  // Later epochs are added as usual.
  await world.follow(['2', '5', '9'], 20)
  await assertTruth(world.current(), 9, 4, 20)
})

test('a validator that was removed and added again gets the epochs in between, unless it is removed before', async () => {
  await using world = await openWorld()
  await world.follow(['2', '9'], 4)
  await world.follow(['2'], 7)
  await world.follow(['2', '9'], 9)
  assert.deepEqual(await world.kept(9), [
    { from: 0, until: 4 },
    { from: 7, until: 9 },
  ])
  const removed = await world.restart(['2'])
  assert.deepEqual(await removed.fillPast(signal), { is: 'complete' }, 'no epoch was stored without it yet')
  assert.equal((await readMissingPast(world.current(), network)).epochs, 3)
  assert.deepEqual(await fillAll(() => world.restart(['2', '9'])), [4, 6])
  assert.deepEqual(await world.kept(9), [{ from: 0, until: 9 }])
  await assertTruth(world.current(), 9, 0, 9)
})

test('if the list is removed, all other validators get their past; deleted hours stay deleted', async () => {
  await using world = await openWorld()
  const changes = { hoursKeptDays: 1, missedKeptDays: 1 }
  await world.follow(['2'], 6, changes)
  const follower = await world.follow([], 9, changes)
  await fillAll(async () => follower)
  assert.deepEqual(await world.kept(3), [{ from: 0, until: 9 }])
  for (const validator of [2, 3, 27]) await assertTruth(world.current(), validator, 0, 9)
  const hours = await storedRows(world.current(), network, 'hours')
  assert.deepEqual([...new Set(hours.map(({ day }) => day))], [2])
  const time = world.current().settings.validators.networks[network]
  for (let validator = 0; validator < 28; validator++) {
    const missed = await listMissedDuties(world.context.duties, {
      network,
      time,
      validators: [validator],
      epochs: { from: 0, until: 8 },
    })
    assert.deepEqual(missed, [])
  }
})

test('a gap that is filled after a validator was added counts once, and none is filled without a stored one', async () => {
  await using world = await openWorld()
  const late = (fromEpoch: number) => ({ beacon: { urls: [world.url], fromEpoch } })
  await world.follow(['2'], 10, late(6))
  const follower = await world.follow(['2', '9'], 12, late(0))
  const removed = await world.restart(['9'], late(0))
  await assert.rejects(removed.fill({ from: 5, until: 6 }, signal), /no longer on the watch list/)
  assert.equal(await follower.fill({ from: 0, until: 6 }, signal), 6)
  assert.deepEqual(await world.kept(9), [
    { from: 0, until: 6 },
    { from: 10, until: 12 },
  ])
  assert.deepEqual(await fillAll(async () => follower), [6, 8, 9])
  await assertTruth(world.current(), 9, 0, 12)
})

test('an added validator gets its past during a leak', async () => {
  // Its first epochs are not final for so long that inactivity scores rise.
  const leaking = simulateNetwork('watch file', { epochs: 12, outage: { from: 0, until: 0 } })
  await using world = await openWorld(leaking)
  await world.follow(['2'], 7)
  const follower = await world.follow(['2', '9'], 8)
  assert((await fillAll(async () => follower)).length > 1)
  assert.deepEqual(await world.kept(9), [{ from: 0, until: 8 }])
})

test('a server reads one segment per poll, retries hourly, reports missing states once and skips refused epochs', async () => {
  const clock = new ManualClock(0)
  const lines: (readonly [message: string, epochs: unknown])[] = []
  const add = (fields: { until?: number; untilEpoch?: number }, message: string) =>
    void lines.push([message.replace(/;.*/, ''), fields.until ?? fields.untilEpoch])
  const log = { ...silentLog, info: add, warn: add } as unknown as Log
  const attempts: number[] = []
  const steps: (PastStep | Error)[] = []
  let watchChanges = 0
  const follower = {
    network,
    get watchChanges() {
      return watchChanges
    },
    fillPast: async (_: AbortSignal, after = 0): Promise<PastStep> => {
      attempts.push(after)
      const step = steps.shift() ?? { is: 'complete' as const }
      if (step instanceof Error) throw step
      return step
    },
  } as const
  let stored = 0
  const poll = createFillPastSchedule({ clock, log }, follower, () => {
    stored += 1
  })
  const pollWith = async (...next: (PastStep | Error)[]) => {
    steps.push(...next)
    const before = attempts.length
    await poll(signal)
    return attempts.slice(before)
  }
  const epochs = { from: 0, until: 3 }
  assert.deepEqual(await pollWith({ is: 'computing', epochs }), [0])
  assert.deepEqual(await pollWith({ is: 'read', epochs, validators: 1, left: 6 }), [0])
  assert.deepEqual(await pollWith({ is: 'refused', epochs: { from: 3, until: 6 }, reason: 'differs' }), [0])
  assert.deepEqual(await pollWith({ is: 'unreadable', epochs: { from: 6, until: 9 } }), [6])
  assert.deepEqual(await pollWith(), [9])
  assert.deepEqual(await pollWith(), [], 'the next attempt is in an hour')
  clock.advance(3_600_000)
  assert.deepEqual(await pollWith({ is: 'unreadable', epochs: { from: 3, until: 9 } }), [0])
  assert.deepEqual(await pollWith(new Error('connection refused')), [9])
  watchChanges += 1
  assert.deepEqual(await pollWith(), [0], 'the list has changed')
  assert.deepEqual(await pollWith(), [])
  assert.equal(stored, 1)
  assert.deepEqual(lines, [
    ['earlier epochs of added validators stored', 3],
    ['earlier epochs of added validators were not stored', 6],
    ['no beacon node has the states of earlier epochs of added validators', 9],
    ['earlier epochs of added validators could not be read', undefined],
  ])
})

test('the loops of a server read the past of an added validator', async () => {
  await using world = await openWorld()
  await world.follow(['3'], 9)
  world.at.finalized = 13
  await world.restart(['3', '7'])
  const stop = new AbortController()
  const read = Promise.withResolvers<void>()
  const log: Log = {
    ...silentLog,
    info: (fields, message) => {
      const isPast = message === 'earlier epochs of added validators stored'
      if (isPast && (fields as { epochsLeft: number }).epochsLeft === 0) read.resolve()
    },
  }
  const context = { ...world.current(), log, clock: systemClock }
  const ended = startBeacon(context, stop.signal, () => {})
  const wake = setInterval(() => findRun(context, network)?.wakeUp.wake(), 20)
  await read.promise
  clearInterval(wake)
  stop.abort()
  await ended
  assert.deepEqual(await world.kept(7), await world.kept(3))
})
