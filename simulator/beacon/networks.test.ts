// Ingests simulated networks with reorganizations from nodes with faults, and compares the stores with the expected
// figures.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { Settings } from '#runtime/settings.ts'
import { BeaconError, openBeacon } from '#sources/beacon/client.ts'
import { openRpc } from '#sources/evm/rpc.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { seedsOf } from '#test/long.ts'
import { FaultyHead } from '#test/simulator/faulty-head.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { emptyDuties, storedRows } from '#test/stored-duties.ts'
import { sumTruth } from '#test/sum-truth.ts'
import { assertOnlyTransfers, truthMeasures } from '#test/truth-measures.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { openDepositReader } from '#validators/ingest/deposits/follow-deposits.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { createExecutionSource } from '#validators/ingest/read/execution.ts'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'
import { openExecution } from './execution.ts'
import { type BeaconNodeOptions, openNode } from './node.ts'
import { gloasFrom, presentForks } from './plan.ts'
import type { Branch } from './simulate.ts'

const seeds = seedsOf(150, 6)
const network = 'hoodi'

/** Ingests like a server that follows the chain and is restarted from time to time. */
async function ingest(
  context: TestContext,
  world: CompletedNetwork,
  faults: number,
  epochsPerHour: number,
): Promise<Settings> {
  const draws = createSeededRandom(`${world.seed}/head`)
  const { headSlot, plan } = world
  const isPartlyFinalized = (finalized: number) => finalized >= Math.max(2, world.finalized - 2)
  const startSlot = world.snapshots.findIndex(
    (state, slot) => world.blocks.has(slot) && isPartlyFinalized(state.finalized),
  )
  const branches = drawBranches(draws, startSlot, headSlot, plan.forkEpochs.gloas !== undefined)
  const head = new FaultyHead(world, faults, { headSlot: startSlot, branches })
  await using node = await openNode(head, { ...options, chainId: '560048' })
  await using execution = await openExecution(head, '560048')
  const clock = systemClock
  const time = { epochsPerHour, epochsPerDay: epochsPerHour * 2 }
  const hoodi = { ...time, beacon: { urls: [node.url], fromEpoch: 0 }, execution: { rpc: [{ url: execution.url }] } }
  const overrides = { validators: { networks: { [network]: hoodi } } }
  const settings = await withChainTimes({ ...context, settings: settingsWith(overrides), clock })
  const { chainId, rpc } = settings.validators.networks[network].execution
  const payments = plan.hasExecution ? createExecutionSource(openRpc({ chain: chainId, rpc, clock })) : undefined
  for (;;) {
    const beacon = openBeacon({ network, urls: [node.url], timeoutMs: 5000, clock, backoffMs: 1 })
    await untilDone(new Follower({ ...context, settings }, network, beacon, payments))
    if (payments) await openDepositReader({ ...context, settings, clock }, network, await beacon.chain()).catchUp(never)
    if (head.headSlot === headSlot) return settings
    head.advance(Math.min(draws.whole(1, 3 * plan.slotsPerEpoch), headSlot - head.headSlot))
  }
}

/** Branches of one to three slots, with and without blocks. With `flips`, some differ in the payload of their parent. */
function drawBranches(draws: SeededRandom, from: number, until: number, flips: boolean): Branch[] {
  const branches: Branch[] = []
  for (let slot = from; slot + 4 < until; slot += draws.whole(4, 16)) {
    const end = slot + draws.whole(1, 4)
    const empty = draws.happens(0.3) ? [slot] : []
    branches.push({ from: slot, until: end, empty, ...(flips && { hasParentPayload: draws.happens(0.5) }) })
  }
  return branches
}

const never = new AbortController().signal

/** Repeats failed attempts, like the loop of a server. */
async function untilDone(follower: Follower): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await follower.catchUp(never)
      return
    } catch (error) {
      if (attempt === 9 || !(error instanceof BeaconError)) throw error
    }
  }
}

async function assertTruth(context: TestContext, world: CompletedNetwork, epochsPerHour: number): Promise<void> {
  const until = world.finalized - 1
  assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: 0, until }])
  const rows = await storedRows(context, network, 'hours')
  const remaining = new Map(rows.map((row) => [`${row.hour} ${row.validator}`, row]))
  for (let hour = 0; hour * epochsPerHour < until; hour++) {
    const truth = sumTruth(world.truth, hour * epochsPerHour, Math.min(until, (hour + 1) * epochsPerHour))
    for (const [validator, sums] of truth) {
      const row = remaining.get(`${hour} ${validator}`)
      remaining.delete(`${hour} ${validator}`)
      for (const name of truthMeasures) {
        assert.equal(row?.[name] ?? 0, sums[name] ?? 0, `hour ${hour}, validator ${validator}: ${name}`)
      }
    }
  }
  assertOnlyTransfers(remaining)
  if (world.plan.hasExecution) await assertDeposits(context, world)
}

/** Every registered validator has the addresses of its depositors. */
async function assertDeposits(context: TestContext, world: CompletedNetwork): Promise<void> {
  const rows = await context.ingest.all<{ pubkey: string; address: string | null }>(
    `select '0x' || lower(hex(v.pubkey)) as pubkey, '0x' || lower(hex(d.address)) as address
     from validators v left join validator_deposits d on d.network = v.network and d.validator_index = v.validator_index`,
  )
  const truth = new Map(world.epochs[world.finalized - 1]?.deposits.map(({ pubkey, from }) => [pubkey, from]))
  assert(rows.length >= world.plan.validators)
  for (const { pubkey, address } of rows) assert.equal(address, truth.get(pubkey) ?? null, pubkey)
}

/** How the node of a seed behaves. Faults: the share of its responses that fail. */
const drawNode = (draws: SeededRandom) => ({
  faults: draws.pick([0, 0.03, 0.08]),
  epochsPerHour: draws.pick([3, 100, 100]),
})

/** `states: node` needs the states of all slots. */
const options: BeaconNodeOptions = { ssz: true, states: true }

async function ingestSeeds(name: string, simulate: (seed: string) => CompletedNetwork) {
  await using context = await openContext()
  let done = 0
  for (const number of seeds) {
    const seed = `${name}/${number}`
    const { faults, epochsPerHour } = drawNode(createSeededRandom(`${seed}/habits`))
    const world = simulate(seed)
    // With a few seeds, so many validators are slashed that nothing becomes final.
    if (world.finalized < 3) continue
    done += 1
    try {
      const settings = await ingest(context, world, faults, epochsPerHour)
      await assertTruth({ ...context, settings }, world, epochsPerHour)
    } catch (error) {
      const message = `seed ${seed}, ${JSON.stringify({ faults, epochsPerHour })}: ${(error as Error).message}`
      throw new Error(message, { cause: error })
    }
    await empty(context)
  }
  assert(done >= seeds.length / 2, `only ${done} of ${seeds.length} seeds become final`)
}

test('simulated networks are ingested without a wrong figure, despite reorganizations and faults of the node', () =>
  ingestSeeds('beacon', simulateNetwork))

/** Some have an inactivity leak after the fork. */
function simulateFork(seed: string): CompletedNetwork {
  const draws = createSeededRandom(`${seed}/fork`)
  const fork = draws.whole(1, 5)
  const outage = draws.happens(0.3) ? { from: fork + 5, until: fork + 10 } : { from: 0, until: 0 }
  return simulateNetwork(seed, {
    ...{ forkEpochs: gloasFrom(fork), epochs: fork + (outage.from > 0 ? 17 : 11), outage },
  })
}

test('networks that cross the fork to Gloas are ingested without a wrong figure', () =>
  ingestSeeds('gloas', simulateFork))

test('votes for the first block of the fork are judged as if the chain had its payload', async () => {
  const world = simulateFork('pruned/43')
  const { plan, blocks } = world
  const first = (plan.forkEpochs.gloas ?? 0) * plan.slotsPerEpoch
  assert.equal(blocks.get(first)?.gloas?.delivery, 'withheld')
  assert(!blocks.has(first + 1))
  const votes = blocks.get(first + 2)?.attestations.filter(({ slot }) => slot === first + 1) ?? []
  assert(votes.some(({ head, index }) => head === blocks.get(first)?.root && index === 0))
  await using context = await openContext()
  const settings = await ingest(context, world, 0, 3)
  await assertTruth({ ...context, settings }, world, 3)
})

/** Deletes everything that ingest wrote. */
async function empty(context: TestContext): Promise<void> {
  await emptyDuties(context)
  await context.ingest.write(async (tx) => {
    for (const name of ['validator_deposits', 'deposit_senders', 'cursors', 'validators']) {
      await tx.run(`delete from ${name}`)
    }
  })
}

test('the simulated networks cover all kinds of events, in finalized epochs', () => {
  const seen = new Map<string, number>()
  const count = (kind: string, times: number) => seen.set(kind, (seen.get(kind) ?? 0) + times)
  const eventMeasures = [
    'slashes_received',
    'wrong_target_penalty',
    'late_source',
    'sync_penalty',
    'proposed_empty',
  ] as const
  for (let number = 0; number < 12; number++) {
    const world = simulateNetwork(`beacon/${number}`)
    const finalSlots = (world.finalized - 1) * world.plan.slotsPerEpoch
    const final = [...world.blocks.values()].filter(({ slot }) => slot < finalSlots)
    for (const { fork, deposits, withdrawals } of final) {
      count(fork, 1)
      count('deposits', deposits.length)
      count('withdrawals', withdrawals.length)
    }
    count('missed', Math.max(0, finalSlots - 1 - final.length))
    for (const [kind, times] of world.truth.kinds()) count(kind, world.finalized > 3 ? times : 0)
    for (let epoch = 0; epoch < world.finalized - 1; epoch++) {
      for (const row of world.truth.rows(epoch).values()) {
        for (const name of eventMeasures) count(name, row[name] ? 1 : 0)
        count('repeated', (row.inclusions ?? 0) > 1 ? 1 : 0)
      }
    }
    count('new validators', (world.snapshots.at(-1)?.validators.length ?? 0) - world.plan.validators)
  }
  const kinds = [
    'altair',
    'bellatrix',
    'capella',
    'deneb',
    'electra',
    'fulu',
    'deposits',
    'withdrawals',
    'missed',
    ...eventMeasures,
  ]
  const events = ['leak', 'orphan', 'vote for an orphan', 'vote behind its epoch', 'vote later than an epoch']
  for (const kind of [
    ...kinds,
    ...events,
    'payment of a builder',
    'payment to an unknown address',
    'repeated',
    'new validators',
  ]) {
    assert((seen.get(kind) ?? 0) > 3, `${kind}: ${seen.get(kind) ?? 0} times`)
  }
})

test('the same seed gives the same network', () => {
  assert.deepEqual(simulateNetwork('same').epochs, simulateNetwork('same').epochs)
})

test('a validator is the source of one consolidation only, as on a real chain', () => {
  let count = 0
  for (let number = 0; number < 6; number++) {
    const { snapshots } = simulateNetwork(`consolidations ${number}`, {
      ...{ epochs: 14, slotsPerEpoch: 4, validators: 24, committeesPerSlot: 2, syncSeats: 8, forkEpochs: presentForks },
      ...{ hasExecution: false, outage: { from: 0, until: 0 }, calmEpochs: 0, balanceChanges: 0.4 },
    })
    // A consolidation that is new in a state.
    const added = snapshots.flatMap(({ consolidations }, at) => {
      const before = new Set(snapshots[at - 1]?.consolidations)
      return consolidations.filter((consolidation) => !before.has(consolidation)).map(({ from }) => from)
    })
    assert.deepEqual(added, [...new Set(added)])
    count += added.length
  }
  assert(count > 3, `${count} consolidations`)
})
