// What is trusted of a beacon node that is wrong without contradicting itself, and what a second node changes: each test
// pins a line of docs/security.md#trust-in-sources.
import assert from 'node:assert/strict'
import { after, afterEach, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { createEpochProcessor } from '#validators/ingest/epochs/epoch-processor.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { openNodeOfRun } from './client-of-run.ts'
import { openContext, settingsWith } from './context.ts'
import { type CompletedNetwork, simulateNetwork } from './simulator/simulate-network.ts'
import { emptyDuties, storedRows } from './stored-duties.ts'

const network = 'hoodi'
const slotsPerEpoch = 4
const calm = {
  ...{ slotsPerEpoch, slotSeconds: 12, validators: 24, committeesPerSlot: 2, syncSeats: 8 },
  ...{ slashing: 0, missed: 0.1, orphaned: 0, balanceChanges: 0, forkEpochs: presentForks, hasExecution: false },
}
const finalizing = { ...calm, epochs: 12, outage: { from: 0, until: 0 } }
const world = simulateNetwork('trusted', finalizing)

const { signal } = new AbortController()
const context = await openContext()
after(() => context[Symbol.asyncDispose]())
afterEach(async () => {
  await emptyDuties(context)
  await context.ingest.write((tx) => tx.run('delete from validators'))
})

/** Stores all finalized epochs. Returns the rows. */
async function ingest(urls: readonly string[]): Promise<object> {
  const hoodi = { epochsPerHour: 1, epochsPerDay: 6, beacon: { urls, fromEpoch: 0 } }
  const configured = settingsWith({ validators: { networks: { [network]: hoodi } } })
  const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
  const beacon = openBeacon({ network, urls, timeoutMs: 5000, clock: systemClock, backoffMs: 1 })
  const processor = createEpochProcessor(beacon)
  await new Follower({ ...context, settings }, network, processor).catchUp(signal)
  return storedRows({ ...context, settings }, network, 'hours')
}

const covered = () => coveredEpochs(context.duties, network)

describe('a whole chain that is consistent in itself', () => {
  const other: CompletedNetwork = { ...simulateNetwork('trusted, other', finalizing), genesisUnix: world.genesisUnix }

  test('is stored if all nodes have it', async () => {
    await using node = await openNodeOfRun(world)
    const truth = await ingest([node.url])
    await emptyDuties(context)
    await using wrong = await openNodeOfRun(other)
    await using same = await openNodeOfRun(other)
    assert.notDeepEqual(await ingest([wrong.url, same.url]), truth)
    assert.deepEqual(await covered(), [{ from: 0, until: other.finalized - 1 }])
  })
})
