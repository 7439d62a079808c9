// Ingest from a node that deletes the states before its finalized checkpoint (behaviour/validators.md#nodes-that-prune-states).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type CompletedNetwork, simulateNetwork } from '#simulator/beacon/networks.ts'
import { type BeaconNodeOptions, openNode } from '#simulator/beacon/node.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { everythingStored } from '#test/stored-duties.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { withChainTimes } from './read/chain-identity.ts'
import { openFollower } from './start.ts'

const signal = new AbortController().signal

/** A node whose newest slot the test moves. */
async function openMovingNode(network: CompletedNetwork, { prunes = true, ...options }: NodeOptions = {}) {
  const { slotsPerEpoch } = network.plan
  let head = 0
  const finalized = () => network.epochs[Math.floor(head / slotsPerEpoch)]?.states[0]?.finalized ?? 0
  const view = {
    ...network,
    get headSlot() {
      return head
    },
    epoch: (epoch: number) => (epoch * slotsPerEpoch <= head ? network.epochs[epoch] : undefined),
  }
  const pruning = prunes ? { statesFromSlot: () => finalized() * slotsPerEpoch } : {}
  const node = await openNode(view, { ...pruning, ...options })
  return {
    ...node,
    finalized,
    moveTo: (slot: number) => {
      head = Math.min(slot, network.headSlot)
      return head === network.headSlot
    },
  }
}

type NodeOptions = BeaconNodeOptions & { readonly prunes?: boolean }

const settingsFor = (urls: readonly string[], fromEpoch = 0) => ({
  validators: { networks: { hoodi: { epochsPerHour: 3, epochsPerDay: 6, beacon: { urls, fromEpoch } } } },
})

/** A new follower, as after a restart. */
async function startFollower(context: TestContext, urls: readonly string[], fromEpoch = 0, log = context.log) {
  const { hoodi } = context.settings.validators.networks
  const beacon = { ...hoodi.beacon, urls: [...urls], fromEpoch }
  const networks = { ...context.settings.validators.networks, hoodi: { ...hoodi, beacon } }
  const configured = { ...context.settings, validators: { networks } }
  const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
  return openFollower({ ...context, settings, clock: systemClock, log }, 'hoodi', context.dir)
}

const stored = async (context: TestContext) =>
  everythingStored({ ...context, settings: await withChainTimes({ ...context, clock: systemClock }) })

/** What is stored with an archive node, from the same epoch on. */
async function storedFromArchive(network: CompletedNetwork, fromEpoch: number): Promise<object> {
  await using node = await openMovingNode(network, { prunes: false, states: true, ssz: true })
  node.moveTo(network.headSlot)
  await using context = await openContext(settingsFor([node.url], fromEpoch))
  await (await startFollower(context, [node.url], fromEpoch)).catchUp(signal)
  return await stored(context)
}

const forms: readonly (readonly [string, NodeOptions])[] = [
  ['full states', { states: true, ssz: true }],
  ['JSON only', {}],
  ['JSON only, without states of empty slots', { forgetsEmpty: true }],
  ['full states, without states of empty slots', { states: true, forgetsEmpty: true }],
]

describe('a node that prunes states', () => {
  for (const [label, options] of forms) {
    for (const step of [1, 5]) {
      test(`gives the same rows as an archive node: ${label}, polled every ${step} slots`, async () => {
        const network = simulateNetwork(`prune-${label}`, { epochs: 14 })
        await using node = await openMovingNode(network, options)
        await using context = await openContext(settingsFor([node.url]))
        const follower = await startFollower(context, [node.url])
        for (let slot = 0; !node.moveTo(slot); slot += step) await follower.catchUp(signal)
        await follower.catchUp(signal)
        assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: network.finalized - 1 }])
        assert.deepEqual(await stored(context), await storedFromArchive(network, 0))
      })
    }
  }
})
