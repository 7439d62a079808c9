// Ingest from a node that deletes the states before its finalized checkpoint
// (behaviour/validators.md#nodes-that-prune-states).

import assert from 'node:assert/strict'
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import type { BeaconNodeOptions } from '#simulator/beacon/node.ts'
import type { EpochRecord } from '#simulator/beacon/records.ts'
import { Simulation } from '#simulator/beacon/simulate.ts'
import { Truth } from '#simulator/beacon/truth.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { jsonAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { drawDisruptionPlan, SeededBehaviour } from '#test/simulator/seeded-behaviour.ts'
import { type CompletedNetwork, drawNetworkPlan, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { everythingStored } from '#test/stored-duties.ts'
import { waitUntil } from '#test/wait-until.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { createEpochProcessor } from '../epochs/epoch-processor.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { recordHead } from '../read/head-recorder.ts'
import { StateRecords } from '../read/state-records.ts'
import { beaconFindings, startBeacon } from '../start.ts'

const signal = new AbortController().signal

/** What a node needs of a network. */
type Chain = Pick<CompletedNetwork, 'seed' | 'plan' | 'genesisUnix' | 'headSlot' | 'epochs'>

/** A node whose newest slot the test moves. Which states it returns is the subject of the tests, not up to the client. */
async function openMovingNode(network: Chain, { prunes = true, ...options }: NodeOptions = {}) {
  const { slotsPerEpoch } = network.plan
  let chain = network
  let head = 0
  const finalized = () => chain.epochs[Math.floor(head / slotsPerEpoch)]?.states[0]?.finalized ?? 0
  const view = {
    ...network,
    get headSlot() {
      return head
    },
    epoch: (epoch: number) => (epoch * slotsPerEpoch <= head ? chain.epochs[epoch] : undefined),
  }
  const pruning = prunes ? { statesFromSlot: () => finalized() * slotsPerEpoch } : {}
  const node = await openNodeOfRun(view, { ssz: false, states: false, rewards: false, ...pruning, ...options })
  return {
    ...node,
    finalized,
    /** Returns whether the chain ends there. */
    moveTo: (slot: number) => {
      head = Math.min(slot, chain.headSlot)
      return head === chain.headSlot
    },
    switchTo: (other: Chain) => {
      chain = other
    },
  }
}

type MovingNode = Awaited<ReturnType<typeof openMovingNode>>

type NodeOptions = BeaconNodeOptions & { readonly prunes?: boolean }

/** Every epoch costs requests. Days have 6 epochs, so 11 epochs store one day and the begin of the next one. */
const small = { epochs: 11, slotsPerEpoch: 4, validators: 24, committeesPerSlot: 1, syncSeats: 8 } as const
/** A longer chain, whose finality never stops. */
const steady = { ...small, epochs: 15, outage: { from: 0, until: 0 }, missed: 0.08, orphaned: 0, slashing: 0 } as const

const settingsFor = (urls: readonly string[], fromEpoch = 0) => ({
  validators: { networks: { hoodi: { epochsPerHour: 3, epochsPerDay: 6, beacon: { urls, fromEpoch } } } },
})

const recordsDir = (context: TestContext): string => join(context.dir, 'beacon', 'hoodi')

/** Waiting after a failed request takes no time. */
function createSkippingClock() {
  let elapsedMs = 0
  const sleep = async (ms: number) => {
    elapsedMs += ms
  }
  return { ...systemClock, monotonicMs: () => elapsedMs, sleep }
}

/** A new follower, as after a restart. */
async function startFollower(
  context: TestContext,
  urls: readonly string[],
  { fromEpoch = 0, log = context.log, isRecording = true } = {},
) {
  const { hoodi } = context.settings.validators.networks
  const beacon = { ...hoodi.beacon, urls: [...urls], fromEpoch }
  const networks = { ...context.settings.validators.networks, hoodi: { ...hoodi, beacon } }
  const configured = { ...context.settings, validators: { ...context.settings.validators, networks } }
  const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
  const nodes = openBeacon({ network: 'hoodi', urls, timeoutMs: 10_000, clock: createSkippingClock(), backoffMs: 1 })
  const records = isRecording ? new StateRecords(recordsDir(context)) : undefined
  const processor = createEpochProcessor(nodes, { records })
  return new Follower({ ...context, settings, clock: systemClock, log }, 'hoodi', processor)
}

const stored = async (context: TestContext) =>
  everythingStored({ ...context, settings: await withChainTimes({ ...context, clock: systemClock }) })

/** What is stored with an archive node, from the same epoch on. */
async function storedFromArchive(network: Chain, fromEpoch: number): Promise<object> {
  await using node = await openMovingNode(network, { prunes: false, states: true, ssz: true })
  node.moveTo(network.headSlot)
  await using context = await openContext(settingsFor([node.url], fromEpoch))
  await (await startFollower(context, [node.url], { fromEpoch })).catchUp(signal)
  return await stored(context)
}

/** Two chains that share the epochs before `forkEpoch`. */
function simulateFork(seed: string, forkEpoch: number, epochs: number) {
  const draws = createSeededRandom(`${seed}/plan`)
  const plan = { ...drawNetworkPlan(draws), ...drawDisruptionPlan(draws), ...small, epochs }
  const scenarioOf = (name: string) => ({ seed: name, plan, behaviour: new SeededBehaviour(plan) })
  const trunk = new Simulation(scenarioOf(seed), new Truth())
  const shared = Array.from({ length: forkEpoch }, () => trunk.simulateEpoch())
  const continueAs = (name: string): Chain => {
    const branch = new Simulation(scenarioOf(name), new Truth(), structuredClone(trunk.saveData()))
    const branchEpochs = Array.from({ length: epochs - forkEpoch }, (): EpochRecord => branch.simulateEpoch())
    const headSlot = epochs * plan.slotsPerEpoch - 1
    return { seed: name, plan, genesisUnix: 1_700_000_000, headSlot, epochs: [...shared, ...branchEpochs] }
  }
  return { abandoned: continueAs(`${seed}/abandoned`), canonical: continueAs(`${seed}/canonical`) }
}

const forms: readonly (readonly [label: string, step: number, options: NodeOptions])[] = [
  ['full states', 2, { states: true, ssz: true }],
  ['JSON only', 5, {}],
  ['JSON only, without states of empty slots', 3, { forgetsEmpty: true }],
  ['full states, without states of empty slots', 4, { states: true, forgetsEmpty: true }],
  ['JSON only, without pending deposits', 7, { queues: false }],
]

for (const [label, step, options] of forms) {
  test(`a node that prunes states gives the same rows as an archive node: ${label}`, async () => {
    const network = simulateNetwork(`prune-${label}`, { epochs: small.epochs })
    await using node = await openMovingNode(network, options)
    await using context = await openContext(settingsFor([node.url]))
    const follower = await startFollower(context, [node.url])
    for (let slot = 0; !node.moveTo(slot); slot += step) await follower.catchUp(signal)
    await follower.catchUp(signal)
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: network.finalized - 1 }])
    assert.deepEqual(await stored(context), await storedFromArchive(network, 0))
  })
}

/** Runs catchUp, and aborts it after this many requests to the node. */
async function catchUpAborted(follower: Follower, node: { requestCount(): number }, requests: number) {
  const stop = new AbortController()
  let isDone = false
  const end = node.requestCount() + requests
  const work = follower.catchUp(stop.signal).then(
    () => undefined,
    (error: Error) => error,
  )
  void work.then(() => {
    isDone = true
  })
  while (!isDone && node.requestCount() < end) await nextEventLoopTurn()
  stop.abort()
  return work
}

const recordsIn = async (context: TestContext): Promise<string[]> =>
  (await readdir(recordsDir(context))).filter((name) => /^\d+-/.test(name)).sort()

describe('records of states', () => {
  test('a restart at any point changes nothing, also during recording and between recording and commit', async () => {
    const network = simulateNetwork('prune-restart', small)
    const draws = createSeededRandom('prune-restart')
    await using node = await openMovingNode(network, { states: true, ssz: true })
    await using context = await openContext(settingsFor([node.url]))
    for (let slot = 0; !node.moveTo(slot); slot += draws.whole(1, network.plan.slotsPerEpoch)) {
      await catchUpAborted(await startFollower(context, [node.url]), node, draws.whole(1, 60))
      await (await startFollower(context, [node.url])).catchUp(signal)
    }
    await (await startFollower(context, [node.url])).catchUp(signal)
    assert.deepEqual(await stored(context), await storedFromArchive(network, 0))
  })

  test('only the records that are still needed are kept', async () => {
    const network = simulateNetwork('prune-few', { ...small, epochs: 14 })
    await using node = await openMovingNode(network)
    await using context = await openContext(settingsFor([node.url]))
    const follower = await startFollower(context, [node.url])
    for (let slot = 0; !node.moveTo(slot); slot += 3) await follower.catchUp(signal)
    const [{ until } = { until: 0 }] = await coveredEpochs(context.duties, 'hoodi')
    const epochs = (await recordsIn(context)).map((name) => Number.parseInt(name, 10)).sort((a, b) => a - b)
    assert(until > 8 && (epochs[0] ?? 0) >= until - 5, `${until}: ${epochs}`)
  })

  test('a damaged record of an epoch that is not final is read again', async () => {
    const network = simulateNetwork('prune-damage', small)
    const { slotsPerEpoch } = network.plan
    await using node = await openMovingNode(network)
    await using context = await openContext(settingsFor([node.url]))
    const damages: readonly ((file: string) => Promise<void>)[] = [
      (file) => truncate(file, 100),
      (file) => truncate(file, 0),
      (file) => rm(file),
      async (file) => {
        const bytes = await readFile(file)
        bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1
        await writeFile(file, bytes)
      },
      (file) => truncate(join(file, '..', 'pubkeys'), 50),
      (file) => writeFile(join(file, '..', 'pubkeys'), Buffer.alloc(4800)),
    ]
    for (let slot = 0; !node.moveTo(slot); slot += 3) {
      const epoch = Math.floor(slot / slotsPerEpoch)
      await (await startFollower(context, [node.url])).catchUp(signal)
      const newest = (await recordsIn(context)).find((name) => name.startsWith(`${epoch}-`))
      if (newest !== undefined) await damages[(slot / 3) % damages.length]?.(join(recordsDir(context), newest))
      await (await startFollower(context, [node.url])).catchUp(signal)
    }
    await (await startFollower(context, [node.url])).catchUp(signal)
    assert.deepEqual(await stored(context), await storedFromArchive(network, 0))
  })

  test('without finality, only the newest epochs are recorded, and the others are reported', async () => {
    const network = simulateNetwork('prune-leak', { ...small, epochs: 16, outage: { from: 2, until: 12 } })
    const { slotsPerEpoch } = network.plan
    await using node = await openMovingNode(network)
    await using context = await openContext(settingsFor([node.url]))
    const nodes = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock })
    const records = new StateRecords(recordsDir(context))
    const { rules } = await nodes.chain()
    const dropped: number[] = []
    for (let epoch = 0; epoch < 12; epoch++) {
      node.moveTo((epoch + 1) * slotsPerEpoch - 1)
      const recording = await recordHead({ beacon: nodes, records, epochsMax: 4 }, rules, 0, signal)
      assert.equal(recording.failure, undefined)
      dropped.push(...recording.dropped)
    }
    assert(node.finalized() < 4)
    assert.deepEqual(await records.epochs(), [8, 9, 10, 11])
    assert.deepEqual(dropped, [0, 1, 2, 3, 4, 5, 6, 7])
  })

  test('a folder that cannot be written is reported, and does not stop ingest', async () => {
    const network = simulateNetwork('prune-folder', { ...small, epochs: 8, outage: { from: 0, until: 0 } })
    await using node = await openMovingNode(network, { prunes: false })
    await using context = await openContext(settingsFor([node.url]))
    await writeFile(join(context.dir, 'beacon'), 'a file in the place of the folder')
    node.moveTo(network.headSlot)
    const lines: string[] = []
    const log = openLog('warn', (line) => lines.push(line))
    const follower = await startFollower(context, [node.url], { log })
    assert((await follower.catchUp(signal)).written > 0)
    await follower.catchUp(signal)
    assert.equal(lines.length, 1)
    assert.match(lines[0] ?? '', /states of recent epochs could not be recorded/)
  })

  test('after a reorganization, the states of the new chain are recorded and used', async () => {
    const forked = simulateFork('prune-fork', 4, small.epochs)
    const { slotsPerEpoch } = forked.canonical.plan
    await using node = await openMovingNode(forked.abandoned)
    await using context = await openContext(settingsFor([node.url]))
    const follower = await startFollower(context, [node.url])
    // The abandoned chain has two epochs of its own, which are recorded.
    for (let slot = 0; slot < 6 * slotsPerEpoch; slot += 2) {
      node.moveTo(slot)
      await follower.catchUp(signal)
    }
    const abandoned = await recordsIn(context)
    node.switchTo(forked.canonical)
    for (let slot = 6 * slotsPerEpoch; !node.moveTo(slot); slot += 2) await follower.catchUp(signal)
    await follower.catchUp(signal)
    assert(abandoned.some((name) => name.startsWith('5-')))
    assert.deepEqual(await stored(context), await storedFromArchive(forked.canonical, 0))
  })

  describe('that contradict the chain', () => {
    const network = simulateNetwork('prune-lie', { ...small, epochs: 18, outage: { from: 0, until: 0 } })
    const { slotsPerEpoch } = network.plan
    const liar = jsonAt<{ balance: string }[]>(/\/validators$/, (list) => {
      const [first] = list
      if (first) first.balance = String(BigInt(first.balance) + 1n)
    })

    /** The node is wrong in the first slot of an epoch. Afterwards the server is down until the other slot. */
    async function follow(node: MovingNode, { wrongAt, downUntil }: { wrongAt: number; downUntil: number }) {
      await using proxy = await openAlteringProxy(node.url)
      const context = await openContext(settingsFor([proxy.url]))
      const follower = await startFollower(context, [proxy.url])
      for (let slot = 0; !node.moveTo(slot); slot += slot === wrongAt ? downUntil - slot : 2) {
        proxy.alter(slot === wrongAt ? liar : undefined)
        await follower.catchUp(signal)
      }
      await follower.catchUp(signal)
      return context
    }

    test('are replaced if a node still has the states', async () => {
      const shorter = simulateNetwork('prune-lie', { ...small, epochs: 12, outage: { from: 0, until: 0 } })
      const truth = await storedFromArchive(shorter, 0)
      for (const prunes of [false, true]) {
        await using node = await openMovingNode(shorter, { prunes })
        const wrongAt = 6 * slotsPerEpoch
        await using context = await follow(node, { wrongAt, downUntil: wrongAt + 2 })
        assert.deepEqual(await stored(context), truth)
      }
    })

    test('are not stored if no node has the states any more, and ingest continues after these epochs', async () => {
      await using node = await openMovingNode(network)
      await using context = await follow(node, { wrongAt: 6 * slotsPerEpoch, downUntil: 11 * slotsPerEpoch })
      const [before, after, ...more] = await coveredEpochs(context.duties, 'hoodi')
      assert.deepEqual(more, [])
      assert.deepEqual(
        [before, after],
        [
          { from: 0, until: 4 },
          { from: 8, until: node.finalized() - 1 },
        ],
      )
    })
  })

  test('with an archive node, states are requested as often as without records', async () => {
    const network = simulateNetwork('prune-count', { ...small, epochs: 13 })
    const counts: number[] = []
    const rows: object[] = []
    for (const isRecording of [true, false]) {
      await using node = await openMovingNode(network, { prunes: false, states: true })
      let count = 0
      await using proxy = await openAlteringProxy(node.url, ({ path }) => {
        if (path.includes('/debug/beacon/states/')) count += 1
        return undefined
      })
      await using context = await openContext(settingsFor([proxy.url]))
      const follower = await startFollower(context, [proxy.url], { isRecording })
      for (let slot = 0; !node.moveTo(slot); slot += 4) await follower.catchUp(signal)
      await follower.catchUp(signal)
      counts.push(count)
      rows.push(await stored(context))
    }
    const [recording = 0, plain = 0] = counts
    assert.deepEqual(rows[0], rows[1])
    // Epochs that are not final have been requested as well.
    assert(plain > 10 && recording <= plain + 3, `${recording} requests instead of ${plain}`)
  })
})

describe('epochs whose states no node has', () => {
  /** The stored inactivity scores of the last epochs begin after the gap. */
  const withoutScores = (tables: object) => ({ ...tables, inactivity_scores: undefined })

  /** Ingests with a pruning node, then moves it forward without ingest until it has deleted states. */
  async function withDowntime(
    context: TestContext,
    node: MovingNode,
    network: CompletedNetwork,
    urls: readonly string[],
  ) {
    const { slotsPerEpoch } = network.plan
    const stopEpoch = 4
    const before = await startFollower(context, urls)
    for (let slot = 0; slot < (stopEpoch + 1) * slotsPerEpoch; slot += 2) {
      node.moveTo(slot)
      await before.catchUp(signal)
    }
    let slot = (stopEpoch + 1) * slotsPerEpoch
    while (node.finalized() < stopEpoch + 3) node.moveTo(slot++)
    // The last epoch before the gap needs the finality of the epoch after the next one; the first one after it needs the
    // epoch before it.
    return { gap: { from: stopEpoch - 1, until: node.finalized() + 1 }, slot }
  }

  test('after a downtime only these epochs are missing, and an archive node closes the gap', async () => {
    const network = simulateNetwork('prune-downtime', steady)
    await using node = await openMovingNode(network, { states: true })
    await using context = await openContext(settingsFor([node.url]))
    const { gap, slot: restart } = await withDowntime(context, node, network, [node.url])
    const lines: string[] = []
    const follower = await startFollower(context, [node.url], { log: openLog('warn', (line) => lines.push(line)) })
    for (let slot = restart; !node.moveTo(slot); slot += 2) await follower.catchUp(signal)
    await follower.catchUp(signal)
    const end = network.finalized - 1
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [
      { from: 0, until: gap.from },
      { from: gap.until, until: end },
    ])
    const missing = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /are missing/.test(msg))
    assert.deepEqual(
      missing.map(({ fromEpoch, untilEpoch }) => ({ from: fromEpoch, until: untilEpoch })),
      [gap],
    )
    assert.equal(lines.length, 2, lines.join(''))
    assert.equal(await follower.fillGaps(signal), false)

    await using archive = await openMovingNode(network, { prunes: false, states: true })
    archive.moveTo(network.headSlot)
    const withArchive = await startFollower(context, [node.url, archive.url])
    assert.equal(await withArchive.fillGaps(signal), true)
    assert.equal(await withArchive.fillGaps(signal), false)
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: end }])
    assert.deepEqual(withoutScores(await stored(context)), withoutScores(await storedFromArchive(network, 0)))
  })

  test('a server reports them, reads them from an archive node after a restart, and records states', async () => {
    const network = simulateNetwork('prune-server', steady)
    await using node = await openMovingNode(network, { states: true })
    await using archive = await openMovingNode(network, { prunes: false, states: true })
    await using plain = await openContext(settingsFor([node.url, archive.url]))
    const { gap, slot: restart } = await withDowntime(plain, node, network, [node.url])
    const follower = await startFollower(plain, [node.url])
    for (let slot = restart; !node.moveTo(slot); slot += 3) await follower.catchUp(signal)
    archive.moveTo(network.headSlot)
    const settings = await withChainTimes({ ...plain, clock: systemClock })
    const context = { ...plain, settings, clock: systemClock }
    const [finding] = await beaconFindings(context)
    assert.equal((await coveredEpochs(plain.duties, 'hoodi')).length, 2)
    const reported = `; epochs ${gap.from} to ${gap.until - 1} are missing: add an archive node`
    assert(finding?.message.includes(reported))
    await rm(recordsDir(plain), { recursive: true })
    const stop = new AbortController()
    const running = startBeacon(context, stop.signal, () => {}, plain.dir)
    await waitUntil(async () => (await coveredEpochs(plain.duties, 'hoodi')).length <= 1)
    stop.abort()
    await running
    assert.deepEqual(withoutScores(await stored(plain)), withoutScores(await storedFromArchive(network, 0)))
    assert((await recordsIn(plain)).length > 0)
  })

  test('are not skipped while a second node does not respond', async () => {
    const network = simulateNetwork('prune-second', steady)
    await using node = await openMovingNode(network)
    await using archive = await openMovingNode(network, { prunes: false })
    await using context = await openContext(settingsFor([node.url]))
    await withDowntime(context, node, network, [node.url])
    const before = await coveredEpochs(context.duties, 'hoodi')
    archive.moveTo(network.headSlot)
    await using proxy = await openAlteringProxy(archive.url)
    const { url } = proxy
    await proxy[Symbol.asyncDispose]()
    const follower = await startFollower(context, [node.url, url])
    await assert.rejects(follower.catchUp(signal), { name: 'BeaconError' })
    const [covered, ...others] = await coveredEpochs(context.duties, 'hoodi')
    assert.deepEqual([covered?.from, others], [0, []])
    assert((covered?.until ?? 0) >= (before[0]?.until ?? 0))
    await (await startFollower(context, [node.url, archive.url])).catchUp(signal)
    assert.equal((await coveredEpochs(context.duties, 'hoodi')).length, 1)
  })

  test('with a node that returns no states at all, nothing is stored, and the range of skipped epochs grows', async () => {
    const network = simulateNetwork('prune-none', { ...steady, epochs: 12 })
    const { slotsPerEpoch } = network.plan
    await using node = await openMovingNode(network, { statesFromSlot: () => Number.POSITIVE_INFINITY })
    await using context = await openContext(settingsFor([node.url]))
    const follower = await startFollower(context, [node.url])
    node.moveTo(8 * slotsPerEpoch)
    const first = node.finalized()
    await follower.catchUp(signal)
    node.moveTo(network.headSlot)
    const { until, written, skipped } = await follower.catchUp(signal)
    const end = network.finalized - 1
    assert.deepEqual(
      { until, written, skipped },
      { until: end, written: 0, skipped: { from: 0, until: end, finalizedEpoch: first } },
    )
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [])
  })

  test('at the first start, ingest begins with the first epoch that the node has', async () => {
    const network = simulateNetwork('prune-first', { ...steady, missed: 0 })
    for (const fromEpoch of [-1, 0]) {
      await using node = await openMovingNode(network, { states: true })
      await using context = await openContext(settingsFor([node.url], fromEpoch))
      const follower = await startFollower(context, [node.url], { fromEpoch })
      let start = 0
      // The node does not have the first epoch of a day.
      while (node.finalized() < 6) node.moveTo(++start)
      const first = node.finalized() + 1
      for (let slot = start; !node.moveTo(slot); slot += 2) await follower.catchUp(signal)
      await follower.catchUp(signal)
      assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: first, until: network.finalized - 1 }])
      assert.deepEqual(await stored(context), await storedFromArchive(network, first))

      await using archive = await openMovingNode(network, { prunes: false })
      archive.moveTo(network.headSlot)
      while (await (await startFollower(context, [node.url, archive.url], { fromEpoch })).fillGaps(signal));
      const [covered] = await coveredEpochs(context.duties, 'hoodi')
      assert.equal(covered?.from, fromEpoch === 0 ? 0 : first - (first % 6))
    }
  })
})
