// The scenarios of the golden files: chains, and ways to ingest them. Ways that must lead to the same responses are
// compared with the same file.
import assert from 'node:assert/strict'
import type { Network } from '#api/contract/wire/validators.ts'
import { systemClock } from '#runtime/clock.ts'
import { type NetworkSettings, networkSettings } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import { demoSeed } from '#simulator/demo-seed.ts'
import { openDemoNodes } from '#simulator/nodes.ts'
import { stoppedAt } from '#simulator/stopped-clock.ts'
import { roles } from '#simulator/validators/behaviour.ts'
import { startDemoValidators, validatorSamples } from '#simulator/validators.ts'
import { storedChain } from '#validators/duties/networks.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { openReplay } from './beacon-replay.ts'
import { testNowMs } from './context.ts'
import { gloasScenarios } from './golden-gloas.ts'
import type { RequestPlan } from './golden-requests.ts'
import { calm, catchUp, fill, indicesUpTo, openSimulated, type Scenario, signal } from './golden-simulated.ts'
import { openFollower } from './open-follower.ts'
import { openQuietServer, type QuietServer } from './quiet-server.ts'
import { simulateNetwork } from './simulator/simulate-network.ts'

/** Changes settings of one network, like a restart with another tetrad.yaml. */
const contextWith = (context: AppContext, network: Network, changes: Partial<NetworkSettings>): AppContext => {
  const { networks } = context.settings.validators
  const changed = { ...networks, [network]: { ...networkSettings(context.settings, network), ...changes } }
  return {
    ...context,
    settings: { ...context.settings, validators: { ...context.settings.validators, networks: changed } },
  }
}

const demo: Scenario = {
  name: 'the demo',
  isLong: true,
  async run(check) {
    const clock = stoppedAt(systemClock, testNowMs)
    const validators = await startDemoValidators(demoSeed, await openDemoNodes(demoSeed, clock, { hoodiHours: 2 }))
    try {
      await using server = await openQuietServer({ settings: validators.settings, clock })
      await validators.load(server.context)
      const { mainnet, hoodi } = (await withChainTimes(server.context)).validators.networks
      // Otherwise the server would answer with the times of the real mainnet, because its node answered too late.
      const used = server.context.settings.validators.networks
      assert.deepEqual([used.mainnet.genesisUnix, used.hoodi.genesisUnix], [mainnet.genesisUnix, hoodi.genesisUnix])
      const [first = 0, second = 0, ...others] = validatorSamples.indices
      const newcomer = roles.newcomer.validator
      const keys = await pubkeysOf(server, 'mainnet', [first, newcomer])
      await check('demo', 'loaded', server, [
        {
          ...{ network: 'mainnet', time: mainnet, epochs: 137, allValidators: indicesUpTo(98), pubkeys: keys },
          sampleValidators: [first, second, ...others, newcomer],
        },
        {
          ...{ network: 'hoodi', time: hoodi, epochs: 27, allValidators: indicesUpTo(16), sampleValidators: [0, 5] },
          pubkeys: await pubkeysOf(server, 'hoodi', [3]),
        },
      ])
    } finally {
      await validators.close()
    }
  },
}

/** Public keys come from the chain, so the golden files do not depend on the database. */
async function pubkeysOf(server: QuietServer, network: Network, indices: readonly number[]): Promise<string[]> {
  const responses = await Promise.all(indices.map((index) => server.get(`/v0/eth/validators/${index}`, network)))
  return responses.map(({ body }) => (JSON.parse(body) as { validatorPubkey: string }).validatorPubkey)
}

const recordedEpochs = 13
const chainTriesMax = 10

/** On a busy machine, the node may respond too late for the start of the server. */
async function ensureChainTimes({ duties, settings, ...context }: AppContext): Promise<void> {
  for (let tries = 0; !(await storedChain(duties, 'hoodi')); tries++) {
    assert(tries < chainTriesMax, 'the node does not respond')
    const timed = await withChainTimes({ ...context, duties, settings })
    Object.assign(settings.validators.networks.hoodi, timed.validators.networks.hoodi)
  }
}

async function openRecorded(changes: object = {}, fromEpoch = 0) {
  const node = await openReplay()
  const hoodi = { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url], fromEpoch }, ...changes }
  const server = await openQuietServer({ settings: { validators: { networks: { hoodi } } } })
  await ensureChainTimes(server.context)
  const plan: RequestPlan = {
    ...{ network: 'hoodi', time: server.context.settings.validators.networks.hoodi, epochs: recordedEpochs },
    ...{ allValidators: indicesUpTo(64), sampleValidators: [7, 12, 61], pubkeys: recordedKeys },
  }
  return {
    ...{ server, context: server.context, plan },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

/** Of validators 0 and 2. */
const recordedKeys = [
  '0xa99a76ed7796f7be22d5b7e85deeb7c5677e88e511e0b337618f8c4eb61349b4bf2d153f649f7b53359fe8b94a38e44c',
  '0xa3a32b0f8b4ddb83f1a0a853d81dd725dfe577d4f4c3db8ece52ce2b026eca84815c1a7e8e92a4de3d755733bf7e4a9b',
]

const recorded: Scenario = {
  name: 'the recorded chain',
  async run(check) {
    await using at = await openRecorded()
    await catchUp(at.context, 'hoodi')
    await check('recorded', 'read', at.server, [at.plan])
  },
}

const unread: Scenario = {
  name: 'a network that has not been read',
  async run(check) {
    await using at = await openRecorded()
    await check('unread', 'nothing', at.server, [{ ...at.plan, sampleValidators: [7, 12], allValidators: [7, 12] }])
  },
}

const recordedLate: Scenario = {
  name: 'the recorded chain from the middle, with epochs filled in later',
  async run(check) {
    await using at = await openRecorded({}, 9)
    await catchUp(at.context, 'hoodi')
    await check('recorded-late', 'from epoch 9', at.server, [at.plan])
    await fill(at.context, 'hoodi', { from: 5, until: 6 }, { from: 0, until: 3 })
    await check('recorded-late', 'with holes', at.server, [at.plan])
    await fill(at.context, 'hoodi', { from: 3, until: 7 }, { from: 0, until: 100 })
    await check('recorded', 'read', at.server, [at.plan])
  },
}

const recordedExpired: Scenario = {
  name: 'the recorded chain with hours and missed duties that expire',
  async run(check) {
    await using at = await openRecorded({ hoursKeptDays: 1, missedKeptDays: 2 }, 4)
    await catchUp(at.context, 'hoodi')
    await check('recorded-expired', 'expired', at.server, [at.plan])
    await fill(at.context, 'hoodi', { from: 1, until: 4 })
    await check('recorded-expired', 'filled after', at.server, [at.plan])
  },
}

const recordedWatched: Scenario = {
  name: 'the recorded chain with a watch list',
  async run(check) {
    await using at = await openRecorded({ watch: ['7', '61', ...recordedKeys.slice(1)] })
    await catchUp(at.context, 'hoodi')
    await check('recorded-watched', 'read', at.server, [{ ...at.plan, sampleValidators: [7, 2, 12] }])
  },
}

/** Chain days are UTC days. */
const midnightWorld = () => ({
  ...simulateNetwork('golden/midnight', {
    ...{ ...calm, epochs: 62, slotsPerEpoch: 4, slotSeconds: 3600, validators: 26 },
    ...{ missed: 0.08, orphaned: 0.05, slashing: 0.01, balanceChanges: 0.15 },
  }),
  genesisUnix: Date.UTC(2026, 2, 26) / 1000,
})
const midnightNetwork = { epochsPerHour: 2, epochsPerDay: 6 }

const midnight: Scenario = {
  name: 'a chain with genesis at midnight',
  isLong: true,
  async run(check) {
    await using at = await openSimulated(midnightWorld(), { network: midnightNetwork, few: [3, 11, 27] })
    await catchUp(at.context, 'hoodi')
    await check('midnight', 'read', at.server, [at.plan])
  },
}

const midnightAtHead: Scenario = {
  name: 'a chain with genesis at midnight, whose last epochs are read one by one',
  isLong: true,
  async run(check) {
    const world = midnightWorld()
    let finalized = world.finalized - 14
    await using at = await openSimulated(world, {
      ...{ network: midnightNetwork, few: [3, 11, 27] },
      finalized: () => finalized,
    })
    const follower = await openFollower(at.context, 'hoodi')
    for (; finalized <= world.finalized; finalized++) await follower.catchUp(signal)
    await check('midnight', 'read', at.server, [at.plan])
  },
}

/** Hours cross chain days, both cross UTC days, and a year ends. */
const uneven: Scenario = {
  name: 'a chain with uneven hours and days, and a watch list that changes',
  isLong: true,
  async run(check) {
    const world = {
      ...simulateNetwork('golden/uneven', {
        ...{ ...calm, epochs: 84, slotsPerEpoch: 8, slotSeconds: 2700, validators: 30 },
        ...{ missed: 0.05, orphaned: 0.03, slashing: 0.01, balanceChanges: 0.1 },
      }),
      genesisUnix: Date.UTC(2025, 11, 18, 17, 23, 11) / 1000,
    }
    let finalized = 33
    const watch = ['1', '4', '8', '30']
    await using at = await openSimulated(world, {
      ...{ network: { epochsPerHour: 4, epochsPerDay: 7, watch }, few: [4, 8, 9, 31] },
      finalized: () => finalized,
    })
    await catchUp(at.context, 'hoodi')
    await check('uneven', 'first list', at.server, [at.plan])
    finalized = 58
    await catchUp(contextWith(at.context, 'hoodi', { watch: ['4', '9', '30', '31'] }), 'hoodi')
    finalized = world.finalized
    await catchUp(contextWith(at.context, 'hoodi', { watch: [] }), 'hoodi')
    await check('uneven', 'everyone', at.server, [at.plan])
  },
}

/** More than 128 chain days: longer than a long span. */
const longWorld = () => ({
  ...simulateNetwork('golden/long', {
    ...{ ...calm, epochs: 270, slotsPerEpoch: 4, slotSeconds: 10_800, validators: 20, committeesPerSlot: 1 },
    ...{ missed: 0.05, orphaned: 0.03, slashing: 0, balanceChanges: 0.01 },
  }),
  genesisUnix: Date.UTC(2025, 10, 3, 10, 0, 5) / 1000,
})
const longNetwork = { epochsPerHour: 1, epochsPerDay: 2, hoursKeptDays: 0, missedKeptDays: 0 }

const long: Scenario = {
  name: 'a chain of 134 days',
  isLong: true,
  async run(check) {
    await using at = await openSimulated(longWorld(), { network: longNetwork, few: [2, 19] })
    await catchUp(at.context, 'hoodi')
    await check('long', 'read', at.server, [at.plan])
  },
}

const longFilled: Scenario = {
  name: 'a chain of 134 days from the middle, with days filled in later',
  isLong: true,
  async run(check) {
    const network = { ...longNetwork, fromEpoch: 151 }
    await using at = await openSimulated(longWorld(), { network, few: [2, 19] })
    await catchUp(at.context, 'hoodi')
    await fill(at.context, 'hoodi', { from: 97, until: 126 }, { from: 20, until: 31 }, { from: 55, until: 56 })
    await check('long-holes', 'with holes', at.server, [at.plan])
    await fill(at.context, 'hoodi', { from: 120, until: 140 }, { from: 0, until: 200 })
    await check('long', 'read', at.server, [at.plan])
  },
}

export const scenarios: readonly Scenario[] = [
  demo,
  unread,
  recorded,
  recordedLate,
  recordedExpired,
  recordedWatched,
  midnight,
  midnightAtHead,
  uneven,
  long,
  longFilled,
  ...gloasScenarios,
]
