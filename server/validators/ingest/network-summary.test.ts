// With a watch list, the daily summary of the network is the same as if all validators were stored.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countIn, type Range } from '#core/ranges.ts'
import { systemClock } from '#runtime/clock.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { readSummaries } from '../duties/daily-summaries.ts'
import { partsIn } from '../duties/layout.ts'
import { Follower } from './follow.ts'
import { withChainTimes } from './read/chain-identity.ts'

const network = 'hoodi'
const { signal } = new AbortController()
const epochsPerDay = 4
const watched = ['2', '7']

/** Hours span days, and days span midnights. Some validators join, leave and are slashed. */
const chain = simulateNetwork('network summary', {
  ...{ slotsPerEpoch: 4, validators: 28, committeesPerSlot: 1, syncSeats: 8, syncPeriod: 4, slotSeconds: 3600 },
  ...{ forkEpochs: presentForks, hasExecution: false, epochs: 28, calmEpochs: 28 },
  ...{ outage: { from: 0, until: 0 }, missed: 0.1, orphaned: 0.05, slashing: 0.01, balanceChanges: 0.1 },
})

/** A node whose finality the test moves, and a store that several servers open one after the other. */
async function openWorld() {
  const at = { finalized: 26 }
  const node = await openNodeOfRun(chain, { finalized: () => at.finalized })
  const context = await openContext()
  const start = async (watch: readonly string[], { fromEpoch = 0, watchPastDays = 0 } = {}) => {
    const hoodi = { epochsPerHour: 3, epochsPerDay, watch, watchPastDays, beacon: { urls: [node.url], fromEpoch } }
    const configured = settingsWith({ validators: { networks: { hoodi } } })
    const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
    const beacon = openBeacon({ network, urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
    return new Follower({ ...context, settings, clock: systemClock }, network, beacon)
  }
  return {
    ...{ at, context, start },
    async [Symbol.asyncDispose]() {
      await context[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

const summariesIn = ({ duties }: TestContext) =>
  readSummaries(duties, { network, kind: 'network', names: [''], days: { from: 0, until: 100 } })

/** The epochs of each UTC day in a chain day. */
const partsOf = (day: number): Range[] =>
  partsIn(
    { ...chain.plan, genesisUnix: chain.genesisUnix, epochsPerHour: 3, epochsPerDay },
    { from: day * epochsPerDay, until: (day + 1) * epochsPerDay },
  ).map(({ epochs }) => epochs)

const keptRows = async ({ duties }: TestContext): Promise<number> =>
  (await duties.query('countRows', undefined)).network_rows as number

/** The summaries of a server that stores all validators. */
async function expectedSummaries() {
  await using world = await openWorld()
  await (await world.start([])).catchUp(signal)
  assert.equal(await keptRows(world.context), 0)
  const all = await summariesIn(world.context)
  assert.equal(all.length, 6)
  assert(all.every(({ epochs, validators }) => epochs === epochsPerDay && validators >= 28))
  return all
}
const expected = await expectedSummaries()
const withoutDay = (day: number) => expected.filter((summary) => summary.day !== day)

test('the summary is that of all validators, and what it was computed from is deleted', async () => {
  await using world = await openWorld()
  await (await world.start(watched)).catchUp(signal)
  assert.deepEqual(await summariesIn(world.context), expected)
  const open = await world.context.duties.all<{ day: number }>('select distinct day from network_rows')
  assert.deepEqual(open, [{ day: 6 }], 'only the day that is not over')
})

test('it is the same if each epoch is stored alone, by a server that starts again after each', async () => {
  await using world = await openWorld()
  for (let finalized = 2; finalized <= 26; finalized++) {
    world.at.finalized = finalized
    await (await world.start(watched)).catchUp(signal)
  }
  assert.deepEqual(await summariesIn(world.context), expected)
})

test('a day with a gap is in part summarized, and completely after the gap was filled', async () => {
  await using world = await openWorld()
  await (await world.start(watched, { fromEpoch: 6 })).catchUp(signal)
  const [first, ...others] = await summariesIn(world.context)
  assert.deepEqual(others, expected.slice(2))
  assert.equal(first?.epochs, 2)
  assert.equal(first?.sums.assigned, (expected[1]?.sums.assigned ?? 0) / 2, 'all validators in two of four epochs')
  const follower = await world.start(watched)
  await follower.fill({ from: 5, until: 6 }, signal)
  await follower.catchUp(signal)
  assert.deepEqual(
    (await summariesIn(world.context)).map(({ epochs }) => epochs),
    [3, 4, 4, 4, 4],
  )
  await follower.fill({ from: 0, until: 5 }, signal)
  await follower.catchUp(signal)
  assert.deepEqual(await summariesIn(world.context), expected)
})

test('it stays when validators are added to the watch list and their past is read', async () => {
  await using world = await openWorld()
  world.at.finalized = 14
  await (await world.start(watched)).catchUp(signal)
  world.at.finalized = 26
  const follower = await world.start([...watched, '9'], { watchPastDays: 10 })
  await follower.catchUp(signal)
  while ((await follower.fillPast(signal)).is !== 'complete');
  await follower.catchUp(signal)
  assert.deepEqual(await summariesIn(world.context), expected)
})

test('a repair of whole days computes it again, a repair of other epochs leaves a part', async () => {
  await using world = await openWorld()
  const follower = await world.start(watched)
  await follower.catchUp(signal)
  const day = [1, 2, 3].find((number) => partsOf(number).length === 2) as number
  const [part] = partsOf(day) as [Range]
  await world.context.dutiesState.write((tx) => tx.run('update duty_summaries set validators = 1 where day = ?', day))
  const wholeDay = { from: day * epochsPerDay, until: (day + 1) * epochsPerDay }
  assert.equal((await follower.repair(wholeDay, signal)).failed, undefined)
  await follower.catchUp(signal)
  assert.deepEqual(await summariesIn(world.context), expected)
  assert.equal((await follower.repair(part, signal)).failed, undefined)
  await follower.catchUp(signal)
  const all = await summariesIn(world.context)
  assert.equal(all.find((summary) => summary.day === day)?.epochs, countIn([part]), 'the rest is not known any more')
  assert.deepEqual(
    all.filter((summary) => summary.day !== day),
    withoutDay(day),
  )
})

test('days before the watch list stay, and the day in which it was added is in part summarized', async () => {
  await using world = await openWorld()
  world.at.finalized = 11
  await (await world.start([])).catchUp(signal)
  world.at.finalized = 26
  await (await world.start(watched)).catchUp(signal)
  const all = await summariesIn(world.context)
  assert.deepEqual(
    all.map(({ epochs }) => epochs),
    [4, 4, 2, 4, 4, 4],
  )
  assert.deepEqual(
    all.filter(({ day }) => day !== 2),
    withoutDay(2),
  )
})

test('a damaged row is found, and a repair replaces it', async () => {
  await using world = await openWorld()
  const follower = await world.start(watched)
  await follower.catchUp(signal)
  await world.context.dutiesState.write(async (tx) => {
    const row = await tx.get<{ data: Uint8Array }>('select data from network_rows where validator_group = 0')
    await tx.run(
      'update network_rows set data = ? where validator_group = 0',
      (row as { data: Uint8Array }).data.with(9, 99),
    )
  })
  const check = () => world.context.duties.query('countRows', undefined)
  await assert.rejects(check(), /network_rows has a damaged row of hoodi .*tetrad repair --network hoodi/)
  assert.equal((await follower.repair({ from: 24, until: 25 }, signal)).failed, undefined)
  await check()
})
