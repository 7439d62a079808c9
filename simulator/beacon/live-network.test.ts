// A live network returns the same epochs as a completed simulation, in any order of requests, and keeps few of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ManualClock } from '#test/manual-clock.ts'
import { type DisruptionPlan, drawDisruptionPlan, SeededBehaviour } from '#test/simulator/seeded-behaviour.ts'
import { drawNetworkPlan, simulateScenario } from '#test/simulator/simulate-network.ts'
import { createSeededRandom } from '../seeded-random.ts'
import { LiveNetwork } from './live-network.ts'

const genesisUnix = 1_700_000_000
/** Only the number of epochs matters here. */
const small = { slotsPerEpoch: 4, validators: 16, committeesPerSlot: 1, syncSeats: 8 } as const

function scene(seed: string, epochs: number, changes: Partial<DisruptionPlan> = {}) {
  const draws = createSeededRandom(`${seed}/plan`)
  const plan = { ...drawNetworkPlan(draws), ...small }
  const scenario = { seed, plan, behaviour: new SeededBehaviour({ ...drawDisruptionPlan(draws), epochs, ...changes }) }
  const epochMs = plan.slotsPerEpoch * plan.slotSeconds * 1000
  const clock = new ManualClock(genesisUnix * 1000 + (epochs - 0.5) * epochMs)
  return { scenario, clock, epochMs, network: new LiveNetwork(scenario, genesisUnix, clock) }
}

test('epochs requested in any order equal those of a completed simulation', async () => {
  const epochs = 40
  const requests = fc.array(fc.integer({ min: 0, max: epochs - 1 }), { minLength: 1, maxLength: 6 })
  const completedOf = Array.from({ length: 4 }, (_, number) =>
    simulateScenario(scene(`living/${number}`, epochs).scenario, epochs),
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...completedOf), requests, async (completed, requested) => {
      const { network } = scene(completed.seed, epochs)
      // Concurrently, as ingest requests blocks.
      const records = await Promise.all(requested.map((epoch) => network.epoch(epoch)))
      assert.deepEqual(
        records,
        requested.map((epoch) => completed.epochs[epoch]),
      )
    }),
    { numRuns: 8 },
  )
})

test('future epochs are unavailable until their time has come', async () => {
  const { network, clock, epochMs } = scene('living/later', 10)
  assert.equal(await network.epoch(10), undefined)
  assert.equal(await network.epoch(-1), undefined)
  const before = await network.epoch(9)
  clock.advance(epochMs)
  assert.equal((await network.epoch(10))?.epoch, 10)
  assert.deepEqual(await network.epoch(9), before)
})

test('a long simulation uses bounded memory, and old epochs are still available', async () => {
  // With a checkpoint every eight epochs, more than 512 epochs exceed the limit.
  const epochs = 530
  const quiet = { slashing: 0, balanceChanges: 0, outage: { from: 0, until: 0 } }
  const { network, scenario } = scene('living/long', epochs, quiet)
  await network.epoch(epochs - 1)
  const counts = network.memoryCounts()
  assert(counts.epochs <= 12 && counts.checkpoints <= 64, JSON.stringify(counts))
  assert.deepEqual(await network.epoch(93), simulateScenario(scenario, 94).epochs.at(-1))
  assert(network.memoryCounts().checkpoints <= 64)
})

test('a simulated past is kept, each epoch once, until it is forgotten', async () => {
  const epochs = 40
  const { network, scenario } = scene('living/past', epochs)
  await network.simulatePast()
  assert.equal(network.memoryCounts().epochs, epochs)
  const first = network.epoch(0)
  assert(first !== undefined && !(first instanceof Promise), 'not simulated again')
  assert.deepEqual(first, simulateScenario(scenario, 1).epochs[0])
  network.forgetPast()
  assert.equal(network.memoryCounts().epochs, 12)
  assert.deepEqual(await network.epoch(0), first)
})
