// Chains with rare events around and after the fork to Gloas. Every stored figure of every validator equals the expected
// one: with envelopes, without them, and without full states.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openContext, settingsWith } from '#test/context.ts'
import { seedsOf } from '#test/long.ts'
import type { DisruptionPlan } from '#test/simulator/seeded-behaviour.ts'
import { type CompletedNetwork, simulateNetwork, simulateScenario } from '#test/simulator/simulate-network.ts'
import { emptyDuties, storedRows } from '#test/stored-duties.ts'
import { sumTruth } from '#test/sum-truth.ts'
import { assertOnlyTransfers, truthMeasures } from '#test/truth-measures.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import type { PayloadPlan } from '../behaviour.ts'
import { type BeaconNodeOptions, openNode } from '../node.ts'
import { gloasFrom, type NetworkPlan } from '../plan.ts'
import { chainConstants } from './gloas-state.ts'

const network = 'hoodi'
const slotsPerEpoch = 4
const fork = 3
const { signal } = new AbortController()

const slotsOf = (epoch: number, epochs = 1): number[] =>
  Array.from({ length: epochs * slotsPerEpoch }, (_, at) => epoch * slotsPerEpoch + at)

const withPayloads = (slots: readonly number[], payload: Partial<PayloadPlan>): Partial<DisruptionPlan> => ({
  payloads: Object.fromEntries(slots.map((slot) => [slot, payload])),
})

const withheld = { delivery: 'withheld' } as const

/** The first chain of each kind always has its event; further ones differ in everything that is drawn. */
const chainsPerKind = 8

const simulate = (
  number: number,
  seed: string,
  changes: Partial<NetworkPlan & DisruptionPlan> = {},
): CompletedNetwork =>
  simulateNetwork(number === 0 ? `edge/${seed}` : `edge/${seed}/${number}`, {
    ...{
      slotsPerEpoch,
      epochs: 14,
      calmEpochs: 4,
      validators: 28,
      committeesPerSlot: 1,
      syncSeats: 8,
      slotSeconds: 12,
    },
    ...{ missed: 0.05, orphaned: 0.03, slashing: 0.01, balanceChanges: 0.1, outage: { from: 0, until: 0 } },
    ...{ forkEpochs: gloasFrom(fork), hasExecution: false, ...changes },
  })

const context = await openContext()
after(() => context[Symbol.asyncDispose]())

/** Reads all finalized epochs and compares every figure. */
async function assertIngested(world: CompletedNetwork, options: BeaconNodeOptions): Promise<void> {
  await emptyDuties(context)
  await context.ingest.write((tx) => tx.run('delete from validators'))
  await using node = await openNode(world, options)
  const hoodi = { epochsPerHour: 1, epochsPerDay: 5, beacon: { urls: [node.url], fromEpoch: 0 } }
  const configured = settingsWith({ validators: { networks: { [network]: hoodi } } })
  const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
  const beacon = openBeacon({ network, urls: [node.url], timeoutMs: 5000, clock: systemClock, backoffMs: 1 })
  await new Follower({ ...context, settings }, network, beacon).catchUp(signal)
  const until = world.finalized - 1
  assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: 0, until }])
  const rows = await storedRows({ ...context, settings }, network, 'hours')
  const stored = new Map(rows.map((row) => [`${row.hour} ${row.validator}`, row]))
  for (let epoch = 0; epoch < until; epoch++) {
    for (const [validator, sums] of sumTruth(world.truth, epoch, epoch + 1)) {
      const row = stored.get(`${epoch} ${validator}`)
      for (const name of truthMeasures)
        assert.equal(row?.[name] ?? 0, sums[name] ?? 0, `epoch ${epoch}, validator ${validator}: ${name}`)
      stored.delete(`${epoch} ${validator}`)
    }
  }
  assertOnlyTransfers(stored)
}

/** By slot, since Gloas: whether the payload is part of the chain. */
function payloadsOf({ blocks, plan }: CompletedNetwork): Map<number, boolean> {
  const first = (plan.forkEpochs.gloas ?? 0) * plan.slotsPerEpoch
  const all = [...blocks.values()].filter(({ slot }) => slot >= first)
  return new Map(all.slice(0, -1).map(({ slot }, at) => [slot, all[at + 1]?.gloas?.isParentFull === true]))
}

interface EdgeChain {
  readonly world: (number: number) => CompletedNetwork
  /** Fails unless the chain has the event, in epochs that are read. */
  readonly check: (world: CompletedNetwork) => void
}

const hasEvent =
  (kind: string) =>
  ({ scenario, finalized }: CompletedNetwork): void => {
    const { truth } = simulateScenario(scenario, finalized - 1)
    assert((truth.kinds().get(kind) ?? 0) > 0, kind)
  }

const { historicalRoots } = chainConstants

/** The first two blocks since the fork are in these slots. The first one is without payload, and its votes depend on that. */
function assertBlockWithoutPayload(world: CompletedNetwork, slot: number, next: number): void {
  const [first, second] = [...world.blocks.keys()].filter((at) => at >= fork * slotsPerEpoch).sort((a, b) => a - b)
  assert.deepEqual([first, second], [slot, next])
  assert.equal(payloadsOf(world).get(slot), false)
  // Votes of the empty slot before the next block are in time for the head.
  assert(world.blocks.get(next)?.attestations.some((vote) => vote.slot === next - 1))
}

const edgeChains: Readonly<Record<string, EdgeChain>> = {
  'an inactivity leak over the fork': {
    world: (number) =>
      simulate(number, 'leak', { epochs: 20, forkEpochs: gloasFrom(7), outage: { from: 2, until: 11 }, slashing: 0 }),
    check: (world) => {
      hasEvent('leak')(world)
      for (const epoch of [6, 7, 8])
        assert(world.epochs[epoch]?.states.at(-1)?.validators.some(({ score }) => score > 0n))
    },
  },
  'Gloas at genesis': {
    world: (number) => simulate(number, 'genesis', { forkEpochs: gloasFrom(0) }),
    check: ({ blocks }) => assert([...blocks.values()].every((block) => block.fork === 'gloas')),
  },
  'a fork slot without a block': {
    world: (number) => simulate(number, 'fork slot', { emptySlots: [fork * slotsPerEpoch] }),
    check: ({ blocks }) => {
      assert(!blocks.has(fork * slotsPerEpoch))
      assert(blocks.has(fork * slotsPerEpoch + 1))
    },
  },
  'a fork epoch without a block': {
    world: (number) => simulate(number, 'fork epoch', { emptySlots: slotsOf(fork) }),
    check: ({ epochs }) => assert.equal(epochs[fork]?.blocks.size, 0),
  },
  'a first block without payload that shares its bit with slot 0, and no block in the next slot': {
    world: (number) =>
      simulate(number, 'first index', {
        missed: 0,
        orphaned: 0,
        slashing: 0,
        emptySlots: [...slotsOf(fork), historicalRoots + 1],
        ...withPayloads([historicalRoots], withheld),
      }),
    check: (world) => assertBlockWithoutPayload(world, historicalRoots, historicalRoots + 2),
  },
  'the same, followed by an epoch that begins with an empty slot': {
    world: (number) =>
      simulate(number, 'first index, empty epoch', {
        missed: 0,
        orphaned: 0,
        slashing: 0,
        epochs: 16,
        emptySlots: [...slotsOf(fork), ...slotsOf(fork + 1, 2).slice(1, 5)],
        ...withPayloads([historicalRoots], withheld),
      }),
    check: (world) => assertBlockWithoutPayload(world, historicalRoots, historicalRoots + 5),
  },
  'the same, after more empty slots than the chain keeps bits': {
    world: (number) =>
      simulate(number, 'first index, long pause', {
        ...{ missed: 0, orphaned: 0, slashing: 0, epochs: 24 },
        emptySlots: [...slotsOf(fork, 5), 2 * historicalRoots + 1],
        ...withPayloads([2 * historicalRoots], withheld),
      }),
    check: (world) => assertBlockWithoutPayload(world, 2 * historicalRoots, 2 * historicalRoots + 2),
  },
  'an empty payload in the fork slot, whose bit is reset before the next block': {
    world: (number) =>
      simulate(number, 'fork slot, long pause', {
        ...{ missed: 0, orphaned: 0, slashing: 0, epochs: 24 },
        emptySlots: slotsOf(fork, 5).slice(1, historicalRoots + 1),
        ...withPayloads([fork * slotsPerEpoch], withheld),
      }),
    check: (world) =>
      assertBlockWithoutPayload(world, fork * slotsPerEpoch, fork * slotsPerEpoch + historicalRoots + 1),
  },
  'no block from before the fork until the epoch after it': {
    world: (number) =>
      simulate(number, 'around the fork', { epochs: 16, emptySlots: slotsOf(fork - 1, 3).slice(2, 9) }),
    check: ({ epochs }) => assert.equal(epochs[fork]?.blocks.size, 0),
  },
  'an epoch without a block': {
    world: (number) => simulate(number, 'no block', { emptySlots: slotsOf(fork + 3) }),
    check: ({ epochs }) => assert.equal(epochs[fork + 3]?.blocks.size, 0),
  },
  'two epochs without a block': {
    world: (number) =>
      simulate(number, 'two epochs', {
        missed: 0,
        orphaned: 0,
        slashing: 0,
        epochs: 18,
        emptySlots: slotsOf(fork + 5, 2).slice(-9),
      }),
    check: ({ epochs }) => assert.equal(epochs[fork + 6]?.blocks.size, 0),
  },
  'first and last slots of epochs without a block': {
    world: (number) =>
      simulate(number, 'edges of epochs', {
        epochs: 16,
        missed: 0,
        emptySlots: [2, 3, 4, 6, 7, 9].flatMap((epoch) => [slotsOf(epoch)[0] ?? 0, (slotsOf(epoch)[0] ?? 0) - 1]),
      }),
    check: ({ epochs }) => {
      const isEmpty = ({ epoch, blocks }: CompletedNetwork['epochs'][number]) => !blocks.has(epoch * slotsPerEpoch)
      assert(epochs.slice(fork).filter(isEmpty).length >= 5)
    },
  },
  'a sync committee that begins with the fork': {
    world: (number) => simulate(number, 'sync committee', { syncPeriod: fork }),
    check: ({ epochs }) => assert.notDeepEqual(epochs[fork]?.sync, epochs[fork - 1]?.sync),
  },
  'deposits, exits and consolidations around the fork': {
    world: (number) => simulate(number, 'operations', { epochs: 18, validators: 44, balanceChanges: 0.9 }),
    check: ({ snapshots }) => {
      const before = snapshots[fork * slotsPerEpoch - 1]
      const isLeaving = ({ exit }: { readonly exit: number }) => exit >= fork && Number.isFinite(exit)
      assert(before && before.queue.length > 0)
      assert(before.validators.some(isLeaving))
      assert(snapshots.slice(fork * slotsPerEpoch).some(({ consolidations }) => consolidations.length > 0))
    },
  },
  'slashed proposers': {
    world: (number) => simulate(number, 'slashed proposers', { epochs: 18, validators: 44, slashing: 0.25 }),
    check: hasEvent('payment of a slashed proposer'),
  },
  'an empty payload in the fork slot, and no block in the next slot': {
    world: (number) =>
      simulate(number, 'fork slot without payload', {
        missed: 0,
        orphaned: 0,
        slashing: 0,
        emptySlots: [fork * slotsPerEpoch + 1],
        ...withPayloads([fork * slotsPerEpoch], withheld),
      }),
    check: (world) => {
      assert.equal(payloadsOf(world).get(fork * slotsPerEpoch), false)
      assert(!world.blocks.has(fork * slotsPerEpoch + 1))
    },
  },
  'only late payloads': {
    world: (number) =>
      simulate(number, 'late', { epochs: 16, ...withPayloads(slotsOf(fork + 1, 4), { delivery: 'late' }) }),
    check: (world) => {
      const payloads = payloadsOf(world)
      assert(slotsOf(fork + 1, 4).filter((slot) => payloads.get(slot) === false).length > 10)
    },
  },
  'an epoch without a payload': {
    world: (number) => simulate(number, 'no payload', withPayloads(slotsOf(fork + 3), withheld)),
    check: (world) => {
      const payloads = payloadsOf(world)
      assert(slotsOf(fork + 3).every((slot) => payloads.get(slot) !== true))
    },
  },
  'the fork epoch without a payload': {
    world: (number) => simulate(number, 'fork without payload', withPayloads(slotsOf(fork), withheld)),
    check: (world) => {
      const payloads = payloadsOf(world)
      assert(slotsOf(fork).every((slot) => payloads.get(slot) !== true))
    },
  },
  'three epochs without a payload': {
    world: (number) => simulate(number, 'no payloads', { epochs: 16, ...withPayloads(slotsOf(fork + 2, 3), withheld) }),
    check: (world) => {
      const payloads = payloadsOf(world)
      const empty = slotsOf(fork + 2, 3).filter((slot) => payloads.get(slot) === false)
      assert(empty.length > 8, `${empty.length} empty payloads`)
    },
  },
  'a missed quorum': {
    world: (number) => simulate(number, 'quorum', { epochs: 20, missed: 0.25, balanceChanges: 0 }),
    check: hasEvent('missed quorum'),
  },
  'a builder that exits, and another one that gets its index': {
    world: (number) => simulate(number, 'builders', { epochs: 30, balanceChanges: 0.4, slashing: 0 }),
    check: (world) => {
      hasEvent('builder exit')(world)
      hasEvent('builder index used again')(world)
    },
  },
}

const forms: readonly [name: string, options: BeaconNodeOptions][] = [
  ['with envelopes', { ssz: true, states: true }],
  ['without full states', {}],
  ['without envelopes', { ssz: true, states: true, envelopesFromSlot: () => Number.POSITIVE_INFINITY }],
]
const formsOfRun = seedsOf(forms.length, 1).flatMap((at) => forms.slice(at, at + 1))

for (const [name, { world, check }] of Object.entries(edgeChains)) {
  describe(name, () => {
    test('the chain has the event', () => {
      const { finalized, plan } = world(0)
      check(world(0))
      assert(finalized >= (plan.forkEpochs.gloas ?? 0) + 5, `epoch ${finalized} is final`)
    })

    for (const [form, options] of formsOfRun) {
      test(`every figure is right ${form}`, async () => {
        for (const number of seedsOf(chainsPerKind, 1)) await assertIngested(world(number), options)
      })
    }
  })
}
