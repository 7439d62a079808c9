// Simulated days with one node of each client that was synced from a checkpoint and has default settings: with
// restarts at random points, reorganizations, and an hour in which the server is down (docs/beacon-nodes.md).
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { far } from '#simulator/beacon/amounts.ts'
import type { BlockOperations, SlotContext } from '#simulator/beacon/behaviour.ts'
import type { ChainState } from '#simulator/beacon/chain.ts'
import { type BeaconNodeOptions, openNode, type SimulatedBeaconNode } from '#simulator/beacon/node.ts'
import { gloasFrom, type NetworkPlan, presentForks } from '#simulator/beacon/plan.ts'
import type { Branch } from '#simulator/beacon/simulate.ts'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { beaconClientOfRun } from '#test/client-of-run.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { isLongRun } from '#test/long.ts'
import { MovingHead } from '#test/simulator/moving-head.ts'
import { type ClientName, profiles } from '#test/simulator/profiles.ts'
import { SeededBehaviour } from '#test/simulator/seeded-behaviour.ts'
import { simulateScenario } from '#test/simulator/simulate-network.ts'
import { storedRows } from '#test/stored-duties.ts'
import { sumTruth } from '#test/sum-truth.ts'
import { assertOnlyTransfers, truthMeasures } from '#test/truth-measures.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { createEpochProcessor } from './epochs/epoch-processor.ts'
import { Follower } from './follow.ts'
import { readGapReasons } from './gaps/explain-gaps.ts'
import { withChainTimes } from './read/chain-identity.ts'
import { StateRecords } from './read/state-records.ts'

const network = 'hoodi'
const signal = new AbortController().signal
/** By default, these keep states since finality only. */
const pruning: readonly ClientName[] = ['lighthouse', 'teku', 'lodestar']

const slotsPerEpoch = 4
const epochsPerHour = 6
/** Some hours span two days. */
const epochsPerDay = 7
/** The long run has more restarts, reorganizations and days that end within an hour. */
const days = isLongRun ? 10 : 6
const firstEpoch = epochsPerHour
const checkpointEpoch = firstEpoch - 2

const plan = {
  ...{ slotsPerEpoch, validators: 28, committeesPerSlot: 1, syncSeats: 8, syncPeriod: 16, slotSeconds: 12 },
  ...{ forkEpochs: presentForks, hasExecution: false, derivesDuties: true },
  ...{ calmEpochs: 4, outage: { from: 0, until: 0 } },
  ...{ missed: 0.08, orphaned: 0.05, slashing: 0.004, balanceChanges: 0.1 },
}

/**
 * Blocks of the simulated chain before Gloas list neither exits nor consolidations, so they do not affect the queues here.
 * Requested consolidations and partial withdrawals take effect within a gap, which on real chains is not possible.
 */
class Behaviour extends SeededBehaviour {
  override operationsAt(at: SlotContext, chain: ChainState, draws: SeededRandom): BlockOperations {
    const operations = super.operationsAt(at, chain, draws)
    const queued = new Set(chain.data.queue.map(({ pubkey }) => pubkey))
    return {
      ...operations,
      consolidations: [],
      partialWithdrawals: [],
      exits: operations.exits.filter((index) => !queued.has(chain.at(index).pubkey)),
      deposits: operations.deposits.filter(({ validator }) => validator === 'new' || chain.at(validator).exit === far),
    }
  }
}

/** The chain of a seed, with branches of one to three slots, or with these branches. */
function simulateChain(
  seed: string,
  slots: number,
  onlyBranches?: readonly Branch[],
  forkEpochs: NetworkPlan['forkEpochs'] = presentForks,
) {
  const draws = createSeededRandom(`${seed}/branches`)
  const epochs = Math.ceil(slots / slotsPerEpoch)
  const chainPlan = { ...plan, forkEpochs, epochs }
  const scenario = { seed, plan: chainPlan, behaviour: new Behaviour(chainPlan) }
  const chain = { ...simulateScenario(scenario, epochs), plan: chainPlan, genesisUnix: 1_700_000_000 }
  const startSlot = firstEpoch * slotsPerEpoch
  const branches: Branch[] = []
  for (let slot = startSlot; slot + 4 < chain.headSlot; slot += draws.whole(6, 40)) {
    const until = slot + draws.whole(1, 4)
    const empty = draws.happens(0.3) ? [slot] : []
    // Since Gloas, the payload of the last common block may be part of one chain and not of the other.
    branches.push({ from: slot, until, empty, ...(forkEpochs.gloas && { hasParentPayload: draws.happens(0.5) }) })
  }
  const used = onlyBranches ?? branches
  return { chain, branches: used, head: new MovingHead(chain, { headSlot: startSlot, branches: used }) }
}

/** A server that follows a node. It can be stopped and started again. */
async function openServer(context: TestContext, node: SimulatedBeaconNode) {
  const lines: string[] = []
  const log = openLog('info', (line) => lines.push(line))
  const settings = await withChainTimes({ ...context, clock: systemClock })
  // Time passes fast, so that segments do not share a transaction.
  let elapsedMs = 0
  const monotonicMs = () => {
    elapsedMs += 10_000
    return elapsedMs
  }
  const clock = { ...systemClock, monotonicMs }
  const start = () => {
    const nodes = openBeacon({ network, urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
    const records = new StateRecords(join(context.dir, 'beacon', network))
    return new Follower({ ...context, settings, log, clock }, network, createEpochProcessor(nodes, { records }))
  }
  let follower = start()
  return {
    lines,
    settings,
    poll: () => follower.catchUp(signal),
    fillGaps: () => follower.fillGaps(signal),
    startAgain: () => {
      follower = start()
    },
    /** Stops as soon as an epoch is stored, and starts again. Returns whether one was stored. */
    async restartAfterStep() {
      const stop = new AbortController()
      await follower
        .catchUp(stop.signal, () => stop.abort())
        .catch((error: unknown) => {
          if (!stop.signal.aborted) throw error
        })
      follower = start()
      return stop.signal.aborted
    },
    /** Stops after this many requests of a poll. */
    async restart(requests: number) {
      const stop = new AbortController()
      const end = node.requestCount() + requests
      let isDone = false
      const work = follower.catchUp(stop.signal).then(
        () => undefined,
        () => undefined,
      )
      void work.then(() => {
        isDone = true
      })
      while (!isDone && node.requestCount() < end) await nextEventLoopTurn()
      stop.abort()
      await work
      follower = start()
    },
  }
}

const settingsFor = (url: string) => ({
  validators: {
    networks: { [network]: { epochsPerHour, epochsPerDay, beacon: { urls: [url], fromEpoch: firstEpoch } } },
  },
})

type Simulated = ReturnType<typeof simulateChain>

async function follow(client: ClientName, { chain, head }: Simulated, options: BeaconNodeOptions = {}) {
  const draws = createSeededRandom(`${chain.seed}/restarts`)
  const profile = profiles[client]
  const node = await openNode(head, { profile, checkpointSlot: checkpointEpoch * slotsPerEpoch, ...options })
  const context = await openContext(settingsFor(node.url))
  const server = await openServer(context, node)
  const advance = (slots: number) => head.advance(Math.min(slots, chain.headSlot - head.headSlot))
  const advanceTo = async (slot: number) => {
    while (head.headSlot < slot) {
      advance(Math.min(draws.whole(1, 2 * slotsPerEpoch), slot - head.headSlot))
      if (draws.happens(0.1)) await server.restart(draws.whole(1, 60))
      await server.poll()
    }
  }
  return {
    ...{ chain, context, server, draws, advance, advanceTo },
    async [Symbol.asyncDispose]() {
      await context[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

type Followed = Awaited<ReturnType<typeof follow>>

/** Compares every figure of every validator in these hours. */
async function assertTruth({ chain, context, server: { settings } }: Followed, hours: readonly number[]) {
  // An hour that spans two days has two rows.
  const rows = Map.groupBy(
    await storedRows({ ...context, settings }, network, 'hours'),
    ({ hour, validator }) => `hour ${hour}, validator ${validator}`,
  )
  for (const hour of hours) {
    const expected = sumTruth(chain.truth, hour * epochsPerHour, (hour + 1) * epochsPerHour)
    for (const [validator, sums] of expected) {
      const label = `hour ${hour}, validator ${validator}`
      const hourRows = rows.get(label) ?? []
      for (const name of truthMeasures) {
        const sum = hourRows.reduce((total, row) => total + row[name], 0)
        assert.equal(sum, sums[name] ?? 0, `${label}: ${name}`)
      }
      rows.delete(label)
    }
    const unexpected = [...rows].filter(([label]) => label.startsWith(`hour ${hour},`))
    for (const [label, hourRows] of unexpected) assertOnlyTransfers(new Map(hourRows.map((row) => [label, row])))
  }
}

const hourSlots = epochsPerHour * slotsPerEpoch

/** The first slot from `from` on after which an hour ends with a block and the usual finality, and not on a branch. */
function findDowntime({ chain: { blocks, snapshots }, branches }: Simulated, from: number): number {
  const isUsual = (end: number) =>
    blocks.has(end) &&
    (snapshots[end]?.finalized ?? 0) >= Math.floor(end / slotsPerEpoch) - 3 &&
    !branches.some((branch) => branch.from <= end && end < branch.until)
  for (let slot = from; ; slot++) if (isUsual(slot + hourSlots)) return slot
}

/** The complete hours of these days. */
const allHours = Array.from(
  { length: Math.floor((days * epochsPerDay) / epochsPerHour) },
  (_, at) => firstEpoch / epochsPerHour + at,
)

/** Days with the default node of a client, and a downtime of an hour. */
async function followDays(seed: string, forkEpochs: NetworkPlan['forkEpochs'], options: BeaconNodeOptions = {}) {
  const client = beaconClientOfRun()
  const slots = (firstEpoch + days * epochsPerDay + 4) * slotsPerEpoch
  const simulated = simulateChain(`${seed} ${client}`, slots, undefined, forkEpochs)
  await using followed = await follow(client, simulated, options)
  const { chain, context, server, draws, advance, advanceTo } = followed
  const downtimeFrom = (firstEpoch + draws.whole(1, days - 4) * epochsPerDay) * slotsPerEpoch
  await advanceTo(findDowntime(simulated, downtimeFrom))
  advance(hourSlots)
  await server.restart(draws.whole(1, 200))
  await advanceTo(chain.headSlot)
  assert(chain.finalized > firstEpoch + days * epochsPerDay)
  assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: firstEpoch, until: chain.finalized - 1 }])
  await assertTruth(followed, allHours)
  const isComputed = server.lines.some((line) => line.includes('computed from blocks'))
  assert.equal(isComputed, pruning.includes(client))
}

test('days with the default node of a client: no epoch is missing, and every figure is right', () =>
  followDays('ten days', presentForks))

test('days that cross the fork to Gloas with a node that prunes payloads: every figure is right', () =>
  followDays('fork/13', gloasFrom(firstEpoch + 3), { envelopesFromSlot: ({ finalizedSlot }) => finalizedSlot }))

const downtimeEpoch = firstEpoch + epochsPerHour
const downtimeSlot = (downtimeEpoch + 1) * slotsPerEpoch - 1

/** A gap of several hours, with a restart after each stored epoch. */
async function followGapWithRestarts(seed: string, forkEpochs: NetworkPlan['forkEpochs']) {
  // The last record before the downtime is of another fork.
  const branch = { from: downtimeEpoch * slotsPerEpoch, until: downtimeSlot + 1 }
  const simulated = simulateChain(seed, (downtimeEpoch + 17) * slotsPerEpoch, [branch], forkEpochs)
  await using followed = await follow('lighthouse', simulated)
  const { chain, context, server } = followed
  await followed.advanceTo(downtimeSlot)
  followed.advance(2 * hourSlots)
  while (simulated.head.headSlot < chain.headSlot) {
    followed.advance(slotsPerEpoch)
    while (await server.restartAfterStep());
  }
  const computed = server.lines.filter((line) => line.includes('computed from blocks')).length
  assert(computed > 5, `${computed} times`)
  const until = chain.finalized - 1
  assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: firstEpoch, until }])
  await assertTruth(
    followed,
    allHours.filter((hour) => (hour + 1) * epochsPerHour <= until),
  )
}

test('a restart after each stored epoch of a gap changes nothing', () =>
  followGapWithRestarts('gap restarts', presentForks))

test('a gap since Gloas is computed from blocks, also with restarts', () =>
  followGapWithRestarts('gap gloas', gloasFrom(2)))

describe('a downtime that leaves a gap', () => {
  /** Stops for a time and follows the chain until the gap is known. Returns it, with the reason in the log. */
  async function followWithGap(
    downtimeSlots: number,
    optionsFor: (chain: Simulated['chain']) => BeaconNodeOptions = () => ({}),
    andThen: (followed: Followed) => Promise<void> = async () => {},
  ) {
    const simulated = simulateChain('gap', (downtimeEpoch + 8) * slotsPerEpoch + downtimeSlots)
    await using followed = await follow('lighthouse', simulated, optionsFor(simulated.chain))
    await followed.advanceTo(downtimeSlot)
    followed.advance(downtimeSlots)
    await followed.advanceTo(simulated.chain.headSlot)
    const lines = followed.server.lines.map((text) => JSON.parse(text))
    const { fromEpoch, untilEpoch, reason } = lines.find(({ untilEpoch }) => untilEpoch !== undefined)
    const [before, after, ...more] = await coveredEpochs(followed.context.duties, network)
    assert.deepEqual(more, [])
    assert.deepEqual({ fromEpoch, untilEpoch }, { fromEpoch: before?.until, untilEpoch: after?.from })
    // An epoch needs the two states after it, and the last one was recorded before the downtime.
    assert.equal(fromEpoch, downtimeEpoch - 1)
    const hours = allHours.filter((hour) => (hour + 1) * epochsPerHour <= fromEpoch)
    await assertTruth(followed, hours)
    await andThen(followed)
    return { fromEpoch, untilEpoch, reason }
  }

  const reasonsIn = async ({ context }: Followed) =>
    (await readGapReasons(context.ingest, network)).map(({ reason }) => reason)

  test('the node lacks a block: the gap has a reason, and is filled once the node has the block, also after a restart', async () => {
    let hasBlock = false
    const lackOne = ({ blocks }: Simulated['chain']): BeaconNodeOptions => {
      const missing = [...blocks.keys()].find((slot) => slot > downtimeSlot + slotsPerEpoch)
      return { lacks: (slot) => slot === missing && !hasBlock }
    }
    const computation =
      'the states of epochs \\d+ to \\d+ cannot be computed from blocks: .+: the node lacks blocks between them'
    const { reason } = await followWithGap(2 * hourSlots, lackOne, async (followed) => {
      const { chain, server, context } = followed
      assert.equal(await server.fillGaps(), false)
      const [stored, ...others] = await reasonsIn(followed)
      assert.deepEqual(others, [])
      const answer = `^http://127\\.0\\.0\\.1:\\d+ has no state of epoch ${downtimeEpoch - 1} \\(status 404: .+\\); `
      assert.match(stored ?? '', new RegExp(answer + computation))
      hasBlock = true
      server.startAgain()
      assert.equal(await server.fillGaps(), true)
      assert.equal(await server.fillGaps(), false)
      assert.deepEqual(await reasonsIn(followed), [])
      const until = chain.finalized - 1
      assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: firstEpoch, until }])
      await assertTruth(
        followed,
        allHours.filter((hour) => (hour + 1) * epochsPerHour <= until),
      )
    })
    assert.match(reason, new RegExp(`^${computation}`))
  })

  test('it is longer than the limit', async () => {
    const { reason } = await followWithGap(54 * slotsPerEpoch)
    assert.match(reason, /^\d+ epochs without states are too many; the limit is 48$/)
  })
})
