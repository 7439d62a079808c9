// Ingest against simulated networks: whatever a seed acts out, under whatever faults of the node, the stores hold the truth.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { Settings } from '#runtime/settings.ts'
import { BeaconError, openBeacon } from '#sources/beacon/client.ts'
import { openRpc } from '#sources/evm/rpc.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { seedsOf } from '#test/long.ts'
import { emptyDuties, storedRows } from '#test/stored-duties.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { createExecutionSource } from '#validators/ingest/read/execution.ts'
import { openDepositReader } from '#validators/ingest/start.ts'
import { type Measure, measures } from '#validators/ratings/measures.ts'
import { createSeededRandom } from '../seeded-random.ts'
import { openExecution } from './execution.ts'
import { type CompletedNetwork, simulateNetwork } from './networks.ts'
import { type BeaconNodeOptions, openNode } from './node.ts'

const seeds = seedsOf(150)
const network = 'hoodi'

/** Ingests the world as a server would that is stopped and started on the way. */
async function ingest(
  context: TestContext,
  world: CompletedNetwork,
  habits: BeaconNodeOptions,
  epochsPerHour: number,
): Promise<Settings> {
  let finalized = Math.max(2, world.finalized - 2)
  await using node = await openNode(world, { ...habits, finalized: () => finalized, chainId: '560048' })
  await using execution = await openExecution(world, '560048')
  const clock = systemClock
  const time = { epochsPerHour, epochsPerDay: epochsPerHour * 2 }
  const own = { ...time, beacon: { urls: [node.url], fromEpoch: 0 }, execution: { rpc: [{ url: execution.url }] } }
  const overrides = { validators: { networks: { [network]: own } } }
  const settings = await withChainTimes({ ...context, settings: settingsWith(overrides), clock })
  const { chainId, rpc } = settings.validators.networks[network].execution
  const payments = world.plan.hasExecution ? createExecutionSource(openRpc({ chain: chainId, rpc, clock })) : undefined
  for (const end of [finalized, world.finalized]) {
    finalized = end
    const beacon = openBeacon({ network, urls: [node.url], timeoutMs: 5000, clock, backoffMs: 1 })
    await untilDone(new Follower({ ...context, settings }, network, beacon, payments))
    if (payments) await openDepositReader({ ...context, settings, clock }, network, await beacon.chain()).catchUp(never)
  }
  return settings
}

const never = new AbortController().signal

/** An attempt that fails is repeated, as the server's loop does. */
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

/** The sums of these epochs, by validator; rows without anything in them are left out. */
function truthOf(world: CompletedNetwork, from: number, until: number): Map<number, Partial<Record<Measure, number>>> {
  const sums = new Map<number, Partial<Record<Measure, number>>>()
  for (let epoch = from; epoch < until; epoch++) {
    for (const [validator, row] of world.truth.rows(epoch)) {
      const own = sums.get(validator) ?? {}
      for (const name of measures) if (row[name]) own[name] = (own[name] ?? 0) + row[name]
      sums.set(validator, own)
    }
  }
  return sums
}

async function assertTruth(
  context: TestContext,
  world: CompletedNetwork,
  habits: BeaconNodeOptions,
  epochsPerHour: number,
): Promise<void> {
  const until = world.finalized - 1
  assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: 0, until }])
  const rows = await storedRows(context, network, 'hours')
  const found = new Map(rows.map((row) => [`${row.hour} ${row.validator}`, row]))
  const slashed = new Set(world.snapshots.at(-1)?.validators.flatMap((one, index) => (one.slashed ? [index] : [])))
  for (let hour = 0; hour * epochsPerHour < until; hour++) {
    const truth = truthOf(world, hour * epochsPerHour, Math.min(until, (hour + 1) * epochsPerHour))
    for (const [validator, sums] of truth) {
      const row = found.get(`${hour} ${validator}`)
      found.delete(`${hour} ${validator}`)
      for (const name of measures) {
        // Without the state of a boundary, a late penalty of a slashed validator may count one epoch later (behaviour/validators.md#earnings).
        if (name === 'earnings' && habits.forgetsEmpty && slashed.has(validator)) continue
        assert.equal(row?.[name] ?? 0, sums[name] ?? 0, `hour ${hour}, validator ${validator}: ${name}`)
      }
    }
  }
  assert.deepEqual([...found.keys()], [], 'rows of nobody')
  if (world.plan.hasExecution) await assertDeposits(context, world)
}

/** Whoever is registered has the addresses of those who paid for it. */
async function assertDeposits(context: TestContext, world: CompletedNetwork): Promise<void> {
  const rows = await context.state.all<{ pubkey: string; address: string | null }>(
    `select '0x' || lower(hex(v.pubkey)) as pubkey, '0x' || lower(hex(d.address)) as address
     from validators v left join validator_deposits d on d.network = v.network and d.validator_index = v.validator_index`,
  )
  const truth = new Map(world.epochs[world.finalized - 1]?.deposits.map(({ pubkey, from }) => [pubkey, from]))
  assert(rows.length >= world.plan.validators)
  for (const { pubkey, address } of rows) assert.equal(address, truth.get(pubkey) ?? null, pubkey)
}

test('simulated networks are ingested without a single wrong figure, under faults', async () => {
  await using context = await openContext()
  let done = 0
  for (const number of seeds) {
    const seed = `beacon/${number}`
    const draws = createSeededRandom(`${seed}/habits`)
    const habits: BeaconNodeOptions = {
      ssz: draws.happens(0.5),
      states: draws.happens(0.5),
      rewards: draws.happens(0.3),
      forgetsEmpty: draws.happens(0.3),
      faults: draws.pick([0, 0.03, 0.08]),
    }
    const epochsPerHour = draws.pick([3, 100, 100])
    const world = simulateNetwork(seed)
    // A few seeds slash so many validators that nothing becomes final.
    if (world.finalized < 3) continue
    done += 1
    try {
      const settings = await ingest(context, world, habits, epochsPerHour)
      await assertTruth({ ...context, settings }, world, habits, epochsPerHour)
    } catch (error) {
      throw new Error(`seed ${seed}, ${JSON.stringify({ ...habits, epochsPerHour })}: ${(error as Error).message}`, {
        cause: error,
      })
    }
    await empty(context)
  }
  assert(done >= seeds.length * 0.7, `only ${done} of ${seeds.length} seeds become final`)
})

/** Everything that ingest wrote. */
async function empty(context: TestContext): Promise<void> {
  await emptyDuties(context)
  await context.state.write(async (tx) => {
    for (const name of ['validator_deposits', 'deposit_senders', 'cursors', 'validators']) {
      await tx.run(`delete from ${name}`)
    }
  })
}

test('the worlds act out everything they are there for, and it becomes final', () => {
  const seen = new Map<string, number>()
  const count = (what: string, times: number) => seen.set(what, (seen.get(what) ?? 0) + times)
  const marks = ['slashes_received', 'wrong_target_penalty', 'late_source', 'sync_penalty', 'proposed_empty'] as const
  for (let number = 0; number < 60; number++) {
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
        for (const name of marks) count(name, row[name] ? 1 : 0)
        count('repeated', (row.inclusions ?? 0) > 1 ? 1 : 0)
      }
    }
    count('newcomers', (world.snapshots.at(-1)?.validators.length ?? 0) - world.plan.validators)
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
    ...marks,
  ]
  const told = ['leak', 'orphan', 'vote for an orphan', 'vote behind its epoch', 'vote later than an epoch']
  for (const kind of [
    ...kinds,
    ...told,
    'payment of a builder',
    'payment to an unknown address',
    'repeated',
    'newcomers',
  ]) {
    assert((seen.get(kind) ?? 0) > 3, `${kind}: ${seen.get(kind) ?? 0} times`)
  }
})

test('the same seed acts out the same world', () => {
  const [one, other] = [simulateNetwork('same'), simulateNetwork('same')]
  assert.deepEqual(one.epochs, other.epochs)
})
