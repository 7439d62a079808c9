// Chains without a block for several epochs: every validator misses every duty, and loses balance by the inactivity leak.
// Every stored figure equals the expected one (behaviour/validators.md#verification).
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { gloasFrom, type NetworkPlan, presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, settingsWith } from '#test/context.ts'
import type { DisruptionPlan } from '#test/simulator/seeded-behaviour.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { emptyDuties, storedRows } from '#test/stored-duties.ts'
import { sumTruth } from '#test/sum-truth.ts'
import { assertOnlyTransfers, truthMeasures } from '#test/truth-measures.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { listMissedDuties, missedKinds, payloadFlags } from '../../duties/missed.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'

const network = 'hoodi'
const slotsPerEpoch = 4
const { signal } = new AbortController()

const context = await openContext()
after(() => context[Symbol.asyncDispose]())

/** Half-open slots without a block. */
type EmptySlots = readonly [from: number, until: number]

const simulate = (
  seed: string,
  [from, until]: EmptySlots,
  changes: Partial<NetworkPlan & DisruptionPlan> = {},
): CompletedNetwork =>
  simulateNetwork(`empty/${seed}`, {
    ...{ slotsPerEpoch, epochs: Math.ceil(until / slotsPerEpoch) + 9, calmEpochs: 8, validators: 32 },
    ...{ committeesPerSlot: 1, syncSeats: 8, slotSeconds: 12, derivesDuties: true, hasExecution: false },
    ...{ missed: 0.05, orphaned: 0.03, slashing: 0.02, balanceChanges: 0.2, outage: { from: 0, until: 0 } },
    ...{ forkEpochs: presentForks, emptySlots: Array.from({ length: until - from }, (_, at) => from + at), ...changes },
  })

/** Reads all finalized epochs from `fromEpoch` on, and compares every figure. */
async function assertIngested(world: CompletedNetwork, fromEpoch = 0): Promise<void> {
  await emptyDuties(context)
  await context.ingest.write((tx) => tx.run('delete from validators'))
  await using node = await openNodeOfRun(world)
  const hoodi = { epochsPerHour: 1, epochsPerDay: 5, beacon: { urls: [node.url], fromEpoch } }
  const configured = settingsWith({ validators: { networks: { [network]: hoodi } } })
  const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
  const beacon = openBeacon({ network, urls: [node.url], timeoutMs: 5000, clock: systemClock, backoffMs: 1 })
  await new Follower({ ...context, settings }, network, beacon).catchUp(signal)
  const until = world.finalized - 1
  assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: fromEpoch, until }])
  const rows = await storedRows({ ...context, settings }, network, 'hours')
  const stored = new Map(rows.map((row) => [`${row.hour} ${row.validator}`, row]))
  for (let epoch = fromEpoch; epoch < until; epoch++) {
    for (const [validator, sums] of sumTruth(world.truth, epoch, epoch + 1)) {
      const row = stored.get(`${epoch} ${validator}`)
      for (const name of truthMeasures)
        assert.equal(row?.[name] ?? 0, sums[name] ?? 0, `epoch ${epoch}, validator ${validator}: ${name}`)
      stored.delete(`${epoch} ${validator}`)
    }
  }
  assertOnlyTransfers(stored)
}

const chains: Readonly<Record<string, () => CompletedNetwork>> = {
  '3 epochs in Fulu': () => simulate('fulu 3', [17, 33]),
  '9 epochs in Fulu': () => simulate('fulu 9', [16, 55]),
  '6 epochs in Gloas': () => simulate('gloas 6', [26, 53], { forkEpochs: gloasFrom(3) }),
  '8 epochs across the fork': () => simulate('fork 8', [16, 49], { forkEpochs: gloasFrom(8) }),
  'the first 5 epochs': () => simulate('genesis 5', [0, 22]),
  'the first 5 epochs of Gloas': () => simulate('gloas genesis', [0, 22], { forkEpochs: gloasFrom(0) }),
}

for (const [chain, create] of Object.entries(chains)) {
  describe(`no blocks for ${chain}`, () => {
    const world = create()
    test('every figure is right', async () => {
      assert(world.finalized > (world.plan.emptySlots?.at(-1) ?? 0) / slotsPerEpoch)
      await assertIngested(world)
    })

    test('every figure is right if ingest begins among these epochs', async () => {
      const slots = world.plan.emptySlots ?? []
      const middle = Math.floor((slots[slots.length >> 1] ?? 0) / slotsPerEpoch)
      await assertIngested(world, middle + 1)
    })
  })
}

describe('since Gloas, the first block after these epochs decides about the payload of the last one before them', () => {
  // The last block is in slot 41, its proposer built the payload, and withheld it. The epochs 11 to 16 have no block.
  const world = simulate('decided', [42, 69], {
    ...{ forkEpochs: gloasFrom(6), syncPeriod: 8 },
    ...{ slashing: 0, balanceChanges: 0, missed: 0, orphaned: 0 },
    payloads: { 41: { delivery: 'withheld', builder: 'self' } },
  })

  test('for the votes of its payload committee', async () => {
    await assertIngested(world)
    const epochs = { from: 10, until: 11 }
    const validators = Array.from({ length: 32 }, (_, index) => index)
    const time = { ...settingsWith().validators.networks[network], slotsPerEpoch, epochsPerHour: 1, epochsPerDay: 5 }
    const missed = await listMissedDuties(context.dutiesState, { network, time, validators, epochs })
    const votes = missed.filter(({ kind, slot }) => missedKinds[kind] === 'payloadVote' && slot === 41)
    assert(votes.length > 0)
    for (const { payload } of votes)
      assert.equal(payload & (payloadFlags.full | payloadFlags.empty), payloadFlags.empty)
  })
})
