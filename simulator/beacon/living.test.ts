// A network that follows a clock: it tells the same as one that is acted out at once, whatever it is asked and when, and keeps
// little.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ManualClock } from '#runtime/clock.ts'
import { createSeededRandom } from '../seeded-random.ts'
import { type DisruptionPlan, drawDisruptionPlan, SeededBehaviour } from './behaviour.ts'
import { LiveNetwork, simulateScenario } from './networks.ts'
import { drawNetworkPlan } from './plan.ts'

const genesisUnix = 1_700_000_000

function scene(seed: string, epochs: number, changes: Partial<DisruptionPlan> = {}) {
  const draws = createSeededRandom(`${seed}/plan`)
  const plan = drawNetworkPlan(draws)
  const script = { seed, plan, behaviour: new SeededBehaviour({ ...drawDisruptionPlan(draws), epochs, ...changes }) }
  const epochMs = plan.slotsPerEpoch * plan.slotSeconds * 1000
  const clock = new ManualClock(genesisUnix * 1000 + (epochs - 0.5) * epochMs)
  return { script, clock, epochMs, world: new LiveNetwork(script, genesisUnix, clock) }
}

test('asked in any order, its epochs are those that are acted out at once', async () => {
  const epochs = 40
  const asking = fc.array(fc.integer({ min: 0, max: epochs - 1 }), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 3 }), asking, async (number, asked) => {
      const { script, world } = scene(`living/${number}`, epochs)
      const whole = simulateScenario(script, epochs)
      // All at once, as a reader asks for blocks.
      const records = await Promise.all(asked.map((epoch) => world.epoch(epoch)))
      assert.deepEqual(
        records,
        asked.map((epoch) => whole.epochs[epoch]),
      )
    }),
    { numRuns: 8 },
  )
})

test('what has not happened yet is not told, and happens with time', async () => {
  const { world, clock, epochMs } = scene('living/later', 10)
  assert.equal(await world.epoch(10), undefined)
  assert.equal(await world.epoch(-1), undefined)
  const before = await world.epoch(9)
  clock.advance(epochMs)
  assert.equal((await world.epoch(10))?.epoch, 10)
  assert.deepEqual(await world.epoch(9), before)
})

test('a network that has lived long keeps no more than one that has lived a little, and its past can be asked for', async () => {
  const epochs = 700
  const quiet = { slashing: 0, moving: 0, outage: { from: 0, until: 0 } }
  const { world, script } = scene('living/long', epochs, quiet)
  await world.epoch(epochs - 1)
  const { kept, marks } = world.memoryCounts()
  assert(kept <= 12 && marks <= 64, `${kept} epochs, ${marks} marks`)
  assert.deepEqual(await world.epoch(333), simulateScenario(script, 334).epochs.at(-1))
  assert(world.memoryCounts().marks <= 64)
})
