// Chains without a block for several epochs: every validator misses every duty, and loses balance by the inactivity leak.
// Every stored figure equals the expected one (behaviour/validators.md#verification).
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { after, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type BeaconNodeOptions, openNode } from '#simulator/beacon/node.ts'
import { gloasFrom, type NetworkPlan, presentForks } from '#simulator/beacon/plan.ts'
import type { SimulatedNetwork } from '#simulator/beacon/records.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, settingsWith } from '#test/context.ts'
import { profiles } from '#test/simulator/profiles.ts'
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
async function assertIngested(world: CompletedNetwork, options: BeaconNodeOptions, fromEpoch = 0): Promise<void> {
  await emptyDuties(context)
  await context.ingest.write((tx) => tx.run('delete from validators'))
  await using node = await openNodeOfRun(world, options)
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

const forms: Readonly<Record<string, BeaconNodeOptions>> = {
  'whole states': { ssz: true, states: true },
  'JSON only': { ssz: false, states: false },
  'without envelopes': { ssz: true, states: true, envelopes: false },
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
    for (const [form, options] of Object.entries(forms))
      test(`every figure is right: ${form}`, async () => {
        assert(world.finalized > (world.plan.emptySlots?.at(-1) ?? 0) / slotsPerEpoch)
        await assertIngested(world, options)
      })

    test('every figure is right if ingest begins among these epochs', async () => {
      const slots = world.plan.emptySlots ?? []
      const middle = Math.floor((slots[slots.length >> 1] ?? 0) / slotsPerEpoch)
      await assertIngested(world, { ssz: true, states: true }, middle + 1)
    })
  })
}

describe('a node that has neither the blocks nor the states before its checkpoint', () => {
  const checkpointEpoch = 30
  const world = simulate('checkpoint', [0, 0], { epochs: checkpointEpoch + 9, missed: 0, orphaned: 0 })
  for (const fromEpoch of [1, 3, 12])
    test(`leaves a gap, and is not searched for blocks: from epoch ${fromEpoch}`, async () => {
      await emptyDuties(context)
      await context.ingest.write((tx) => tx.run('delete from validators'))
      const checkpointSlot = checkpointEpoch * slotsPerEpoch
      const searched: number[] = []
      const intercept = ({ url }: IncomingMessage) => {
        const slot = /\/headers\/(\d+)$/.exec(url ?? '')?.[1]
        if (slot !== undefined && Number(slot) < checkpointSlot) searched.push(Number(slot))
        return false
      }
      await using node = await openNode({ ...world, intercept }, { profile: profiles.prysm, checkpointSlot })
      const hoodi = { epochsPerHour: 1, epochsPerDay: 5, beacon: { urls: [node.url], fromEpoch } }
      const configured = settingsWith({ validators: { networks: { [network]: hoodi } } })
      const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
      const beacon = openBeacon({ network, urls: [node.url], timeoutMs: 5000, clock: systemClock, backoffMs: 1 })
      const { lastGap } = await new Follower({ ...context, settings }, network, beacon).catchUp(signal)
      assert.deepEqual({ from: lastGap?.from, until: lastGap?.until }, { from: fromEpoch, until: checkpointEpoch + 1 })
      const until = world.finalized - 1
      assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: checkpointEpoch + 1, until }])
      assert(searched.length < 40, `${searched.length} headers before the checkpoint`)
    })
})

describe('a node that lacks blocks cannot make their epochs empty if ingest begins among them', () => {
  const [from, until] = [4 * slotsPerEpoch, 11 * slotsPerEpoch]
  const lacks = (slot: number) => slot >= from && slot < until
  const world = simulate('lacking', [0, 0], { epochs: 20, missed: 0, orphaned: 0, slashing: 0, balanceChanges: 0 })
  const blockByRoot = (root: string) => {
    const block = world.blockByRoot?.(root)
    return block && !lacks(block.slot) ? block : undefined
  }
  async function ingest(chain: SimulatedNetwork) {
    await emptyDuties(context)
    await context.ingest.write((tx) => tx.run('delete from validators'))
    await using node = await openNode(chain, { ssz: true, states: true, lacks })
    const hoodi = { epochsPerHour: 1, epochsPerDay: 5, beacon: { urls: [node.url], fromEpoch: 8 } }
    const configured = settingsWith({ validators: { networks: { [network]: hoodi } } })
    const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
    const beacon = openBeacon({ network, urls: [node.url], timeoutMs: 5000, clock: systemClock, backoffMs: 1 })
    return await new Follower({ ...context, settings }, network, beacon).catchUp(signal)
  }

  test('it returns them by their root', async () => {
    await assert.rejects(ingest(world), /no block of slot 43, but the block of slot 44 names that as its parent/)
    assert.deepEqual(await coveredEpochs(context.duties, network), [])
  })

  test('it does not have them at all: they are a gap', async () => {
    const { lastGap } = await ingest({ ...world, blockByRoot })
    assert.deepEqual({ from: lastGap?.from, until: lastGap?.until }, { from: 8, until: 12 })
    assert.match(
      lastGap?.problem ?? '',
      /^the node has no block before slot 40, so it is unknown whether that is empty/,
    )
    assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: 12, until: world.finalized - 1 }])
  })
})

describe('since Gloas, the first block after these epochs decides about the payload of the last one before them', () => {
  // The last block is in slot 41, its proposer built the payload, and withheld it. The epochs 11 to 16 have no block.
  const world = simulate('decided', [42, 69], {
    ...{ forkEpochs: gloasFrom(6), syncPeriod: 8 },
    ...{ slashing: 0, balanceChanges: 0, missed: 0, orphaned: 0 },
    payloads: { 41: { delivery: 'withheld', builder: 'self' } },
  })
  const missing = { status: 404, body: '{"code":404,"message":"state not found"}' }

  test('for the votes of its payload committee', async () => {
    await assertIngested(world, { ssz: true, states: true })
    const epochs = { from: 10, until: 11 }
    const validators = Array.from({ length: 32 }, (_, index) => index)
    const time = { ...settingsWith().validators.networks[network], slotsPerEpoch, epochsPerHour: 1, epochsPerDay: 5 }
    const missed = await listMissedDuties(context.dutiesState, { network, time, validators, epochs })
    const votes = missed.filter(({ kind, slot }) => missedKinds[kind] === 'payloadVote' && slot === 41)
    assert(votes.length > 0)
    for (const { payload } of votes)
      assert.equal(payload & (payloadFlags.full | payloadFlags.empty), payloadFlags.empty)
  })

  for (const [from, until] of [
    [9, 11],
    [11, 13],
  ] as const)
    test(`if no node has the states of the epochs ${from} to ${until - 1}`, async () => {
      const intercept: CompletedNetwork['intercept'] = (request, response) => {
        const slot = Number(/\/states\/(\d+)/.exec(request.url ?? '')?.[1] ?? -1)
        const isMissing = slot >= from * slotsPerEpoch && slot < until * slotsPerEpoch
        if (isMissing) response.writeHead(missing.status, { 'content-type': 'application/json' }).end(missing.body)
        return isMissing
      }
      await assertIngested({ ...world, intercept }, { ssz: true, states: true })
    })
})
