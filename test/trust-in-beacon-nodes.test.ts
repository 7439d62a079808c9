// What is trusted of a beacon node that is wrong without contradicting itself, and what a second node changes: each test
// pins a line of docs/security.md#trust-in-sources. The proposer of an empty slot is in
// server/validators/ingest/read/epoch-duties.test.ts.
import assert from 'node:assert/strict'
import { after, afterEach, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { stateOffsets } from '#sources/beacon/state-layout.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { createEpochProcessor } from '#validators/ingest/epochs/epoch-processor.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { bytesAt, openAlteringProxy } from './altering-proxy.ts'
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

/** Less than what a score loses in an epoch in which the chain finalizes. */
const addedScore = 8n
/** The size of a record in the list of validators. */
const validatorBytes = 121

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
  const processor = createEpochProcessor(beacon, { comparesNodes: true })
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

  test('is not stored if a second node has another one', async () => {
    await using node = await openNodeOfRun(world)
    await using wrong = await openNodeOfRun(other, { finalized: () => world.finalized })
    await assert.rejects(ingest([wrong.url, node.url]), { name: 'NodesDisagreeError' })
    assert.deepEqual(await covered(), [])
  })
})

describe('inactivity scores of a state', () => {
  /** A proxy that adds to the scores of all validators in all states. */
  async function openWrongScores(url: string) {
    const { rules } = await openBeacon({ network, urls: [url], timeoutMs: 5000, clock: systemClock }).chain()
    const offsets = stateOffsets(rules)
    const change = (bytes: Buffer) => {
      const count = (bytes.readUInt32LE(offsets.balances) - bytes.readUInt32LE(offsets.validators)) / validatorBytes
      const scores = bytes.readUInt32LE(offsets.scores)
      for (let at = scores; at < scores + 8 * count; at += 8)
        bytes.writeBigUInt64LE(bytes.readBigUInt64LE(at) + addedScore, at)
    }
    return openAlteringProxy(url, bytesAt(/\/debug\/beacon\/states\/\d+$/, change))
  }

  test('do not matter while the chain finalizes', async () => {
    await using node = await openNodeOfRun(world)
    const truth = await ingest([node.url])
    await emptyDuties(context)
    await using wrong = await openWrongScores(node.url)
    assert.deepEqual(await ingest([wrong.url]), truth)
    assert.ok(wrong.count() > 0)
  })

  test('contradict the balances during a leak: ingest stops, or uses a second node', async () => {
    const leaking = simulateNetwork('trusted, leak', { ...calm, epochs: 20, outage: { from: 3, until: 11 } })
    await using node = await openNodeOfRun(leaking)
    const truth = await ingest([node.url])
    assert.deepEqual(await covered(), [{ from: 0, until: leaking.finalized - 1 }])
    await emptyDuties(context)
    await using wrong = await openWrongScores(node.url)
    await assert.rejects(ingest([wrong.url]), { name: 'ContradictionError', message: /the balance of validator/ })
    const end = (await covered()).at(-1)?.until ?? 0
    assert.ok(end < 11, `epochs up to ${end} are stored`)
    await emptyDuties(context)
    assert.deepEqual(await ingest([wrong.url, node.url]), truth)
  })
})
