// A real node's answers, ingested over HTTP and held against an independent computation over the same blocks.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openReplay, type Replay, type ReplayOptions, type TruthRow, truth } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { type Grain, type StoredRow, storedRows } from '#test/stored-duties.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { hourEpochs } from '../duties/hours.ts'
import type { Measure } from '../ratings/measures.ts'
import { readValidator } from '../registry/registry.ts'
import { type Carry, processEpoch } from './epochs/process-epoch.ts'
import { Sums } from './epochs/sums.ts'
import { Follower } from './follow.ts'
import { withChainTimes } from './read/chain-identity.ts'
import { EpochReader } from './read/epoch-reader.ts'
import type { ExecutionSource } from './read/execution.ts'
import { settleBalances } from './read/settle-balances.ts'

const { epochs: truths, slots, constants } = truth()
const finalizedEpoch = 14
const epochsPerHour = 2
const epochsPerDay = 4

/** Each measure that the truth speaks of. A vote that was not included has no delay and is right about nothing. */
const counted: Partial<Record<Measure, (row: TruthRow) => number>> = {
  assigned: (row) => row.assigned,
  included: (row) => row.included,
  inclusions: (row) => row.inclusions,
  inclusion_delay: (row) => row.inclusionDelay ?? 0,
  correct_source: (row) => row.sourceCorrect ?? 0,
  correct_target: (row) => row.targetCorrect ?? 0,
  correct_head: (row) => row.headCorrect ?? 0,
  late_source: (row) => row.included - (row.timelySource ?? 0),
  late_target: (row) => (row.targetCorrect ?? 0) - (row.timelyTarget ?? 0),
  proposer_duties: (row) => row.proposerDuties,
  proposed: (row) => row.proposed,
  proposed_empty: (row) => row.proposedEmptyPayload,
  sync_signatures: (row) => row.syncSigned,
  sync_reward: (row) => row.syncSigned * constants.syncParticipantReward,
  sync_penalty: (row) => 0 - (row.syncDuties - row.syncSigned) * constants.syncParticipantReward,
  missed_sync_reward: (row) => (row.syncDuties - row.syncSigned) * constants.syncParticipantReward,
  slashes_received: () => 0,
  slashes_collected: () => 0,
  execution_unknown: () => 1,
}

/** Validator → measure → sum over these epochs. */
function expected(from: number, until: number): Map<number, Record<string, number>> {
  const sums = new Map<number, Record<string, number>>()
  for (const { epoch, rows, attestationRewards } of truths.slice(from, until)) {
    for (const row of rows) {
      const own = sums.get(row.validator) ?? {}
      for (const [name, of] of Object.entries(counted)) own[name] = (own[name] ?? 0) + of(row)
      const pay = attestationRewards[row.validator] as (typeof attestationRewards)[number]
      const parts = [pay.source, pay.target, pay.head]
      own.attestation_reward = (own.attestation_reward ?? 0) + parts.reduce((sum, part) => sum + Math.max(0, part), 0)
      own.block_reward = (own.block_reward ?? 0) + blockRewards(epoch, row.validator)
      sums.set(row.validator, own)
    }
  }
  return sums
}

const blockRewards = (epoch: number, validator: number): number =>
  slots
    .slice(epoch * 8, epoch * 8 + 8)
    .reduce((sum, { reward }) => sum + (reward?.proposer === validator ? reward.attestations + reward.sync : 0), 0)

async function ingest(context: TestContext, node: Replay) {
  const settings = await withChainTimes({ ...context, clock: systemClock })
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  return new Follower({ ...context, settings }, 'hoodi', beacon).catchUp(new AbortController().signal)
}

const contextFor = (node: Replay, more: object = {}) =>
  openContext({
    validators: {
      networks: { hoodi: { epochsPerHour, epochsPerDay, beacon: { urls: [node.url], fromEpoch: 0 }, ...more } },
    },
  })

/** By the chain's own time, which is stored with the rows. */
const rowsOf = async (context: TestContext, grain: Grain): Promise<StoredRow[]> =>
  storedRows({ ...context, settings: await withChainTimes({ ...context, clock: systemClock }) }, 'hoodi', grain)

async function assertTruth(context: TestContext): Promise<void> {
  const hours = await rowsOf(context, 'hours')
  const perHour = Map.groupBy(hours, ({ hour }) => hour)
  assert.equal(perHour.size, Math.ceil((finalizedEpoch - 1) / epochsPerHour))
  for (const [hour, rows] of perHour) assertSums(rows, hour * epochsPerHour, (hour + 1) * epochsPerHour, `hour ${hour}`)
  const days = Map.groupBy(await rowsOf(context, 'days'), ({ day }) => day)
  for (const [day, rows] of days) assertSums(rows, day * epochsPerDay, (day + 1) * epochsPerDay, `day ${day}`)
  assertSums(await rowsOf(context, 'utcDays'), 0, finalizedEpoch - 1, 'UTC day')
}

function assertSums(rows: readonly StoredRow[], from: number, until: number, what: string): void {
  const wanted = expected(from, Math.min(until, finalizedEpoch - 1))
  assert.equal(rows.length, wanted.size, what)
  for (const row of rows) {
    for (const [name, sum] of Object.entries(wanted.get(row.validator) ?? {})) {
      assert.equal(row[name as Measure], sum, `${what}, validator ${row.validator}: ${name}`)
    }
  }
}

const forms: readonly ReplayOptions[] = [
  { derived: true, ssz: true },
  { derived: true, ssz: false },
  { derived: false, ssz: true },
  { derived: false, ssz: false },
]

for (const form of forms) {
  const words = `${form.ssz ? 'SSZ' : 'JSON'}, ${form.derived ? 'with' : 'without'} states of empty slots`
  test(`every count and reward of a recorded node equals the truth: ${words}`, async () => {
    await using node = await openReplay(form)
    await using context = await contextFor(node)
    const progress = await ingest(context, node)
    assert.deepEqual(progress, { until: 13, finalizedEpoch, written: 13 })
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: 13 }])
    await assertTruth(context)
  })
}

test('earnings are the change of the recorded balances, figure by figure', async () => {
  await using node = await openReplay({ derived: false })
  await using context = await contextFor(node)
  await ingest(context, node)
  const days = Map.groupBy(await rowsOf(context, 'days'), ({ validator }) => validator)
  const earned = Array.from(days.values(), (rows) => rows.reduce((sum, { earnings }) => sum + earnings, 0))
  // Nobody deposited or withdrew: what each gained up to the first slot of epoch 13 is its balance less the 32 ETH of genesis.
  const response = await fetch(`${node.url}/eth/v1/beacon/states/104/validator_balances`)
  const { data } = (await response.json()) as { data: { index: string; balance: string }[] }
  assert.deepEqual(
    earned,
    data.map(({ balance }) => Number(BigInt(balance) - 32_000_000_000n)),
  )
})

test('the last epochs, not yet final when the recording ends, equal the truth as well', async () => {
  const open = '/eth/v1/beacon/states/136/finality_checkpoints'
  await using node = await openReplay({
    // The state of the slot after the last: only its finality is asked for, and there was no leak.
    meddle: (exchange) =>
      exchange.path === open ? { ...exchange, status: 200, body: '{"data":{"finalized":{"epoch":"15"}}}' } : exchange,
  })
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const { rules } = await beacon.chain()
  const reader = new EpochReader(beacon, rules)
  let carry: Carry | undefined
  for (let epoch = 0; epoch <= 15; epoch++) {
    const reading = await reader.read(epoch)
    settleBalances(reading, carry)
    const sums = new Sums()
    const refined = processEpoch(rules, reading, carry, sums)
    assert.deepEqual(
      refined.unexplainedBalanceChanges,
      { validators: 0, inGwei: 0, outGwei: 0 },
      'the rules explain every change of a balance',
    )
    for (const [validator, pay] of (truths[epoch]?.attestationRewards ?? []).entries()) {
      const { source, target, head, inactivity } = refined.voteRewards
      assert.deepEqual(
        [source[validator], target[validator], head[validator], inactivity[validator]],
        [pay.source, pay.target, pay.head, pay.inactivity],
      )
    }
    const { validator, sums: columns } = sums.take()
    const wanted = expected(epoch, epoch + 1)
    for (const [at, index] of Array.from(validator).entries()) {
      for (const [name, sum] of Object.entries(wanted.get(index) ?? {}))
        assert.equal(columns[name as Measure]?.[at], sum, name)
    }
    carry = refined.carry
  }
})

test('chain time comes from the node: genesis, shorter slots and the minimal preset', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  const { hoodi, mainnet } = (await withChainTimes({ ...context, clock: systemClock })).validators.networks
  assert.deepEqual([hoodi.genesisUnix, hoodi.slotSeconds, hoodi.slotsPerEpoch], [1_794_705_870, 2, 8])
  assert.equal(mainnet.slotSeconds, 12)
})

test('a node that was silent when the server started is read as soon as it answers, by its own time', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  // Of a silent node the settings do not know the time.
  const { settings } = context
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const follower = new Follower({ ...context, settings }, 'hoodi', beacon)
  const { until } = await follower.catchUp(new AbortController().signal)
  assert.equal(until, 13)
  await assertTruth(context)
  const { genesisUnix, slotSeconds, slotsPerEpoch } = settings.validators.networks.hoodi
  assert.deepEqual([genesisUnix, slotSeconds, slotsPerEpoch], [1_794_705_870, 2, 8])
})

test('the registry holds what the state says', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  await ingest(context, node)
  const entry = await readValidator(context.state, 'hoodi', 0)
  assert.equal(
    entry?.pubkey,
    '0xa99a76ed7796f7be22d5b7e85deeb7c5677e88e511e0b337618f8c4eb61349b4bf2d153f649f7b53359fe8b94a38e44c',
  )
  assert.deepEqual([entry?.activationEpoch, entry?.exitEpoch, entry?.withdrawalAddress], [0, null, null])
})

test('a watch list keeps the named validators only, with the same figures', async () => {
  await using node = await openReplay()
  const third = '0xa3a32b0f8b4ddb83f1a0a853d81dd725dfe577d4f4c3db8ece52ce2b026eca84815c1a7e8e92a4de3d755733bf7e4a9b'
  await using context = await contextFor(node, { watch: ['7', third] })
  await ingest(context, node)
  const rows = await rowsOf(context, 'utcDays')
  assert.deepEqual(
    rows.map(({ validator }) => validator),
    [2, 7],
  )
  const wanted = expected(0, 13)
  for (const row of rows) assert.equal(row.inclusions, wanted.get(row.validator)?.inclusions)
  assert.equal(await readValidator(context.state, 'hoodi', 3), undefined)
})

test('hours of old days are deleted, days are kept', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node, { hoursKeptDays: 1 })
  await ingest(context, node)
  const firstDay = async (grain: Grain) => Math.min(...(await rowsOf(context, grain)).map(({ day }) => day))
  assert.deepEqual([await firstDay('hours'), await firstDay('days')], [3, 0])
  const covered = await coveredEpochs(context.duties, 'hoodi')
  const kept = await hourEpochs(context.duties, 'hoodi')
  assert.deepEqual(kept, [{ from: 12, until: covered.at(-1)?.until }])
})

test('a node that lacks blocks is found out: nothing is written', async () => {
  await using node = await openReplay({
    meddle: (exchange) =>
      /beacon\/(blocks|headers)\/(9|10|11)$/.test(exchange.path) ? { ...exchange, status: 404, body: '{}' } : exchange,
  })
  await using context = await contextFor(node)
  await assert.rejects(
    ingest(context, node),
    /slot 12: the block names 0x\w+ as its parent, but the block of slot 8 has the root 0x\w+: the node lacks blocks/,
  )
  assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [])
})

test('cut connections, broken bytes and statuses of 500 change nothing but the number of questions', async () => {
  await using node = await openReplay({
    meddle: (exchange, count) => {
      if (count % 11 === 3) return undefined
      if (count % 13 === 5) return { ...exchange, status: 500, body: '{}' }
      if (count % 17 === 7 && exchange.status === 200) return { ...exchange, body: exchange.body.slice(0, 40) }
      return exchange
    },
  })
  await using context = await contextFor(node)
  // A question that finds five faults in a row fails the round, as it would a server's; the next round goes on.
  for (let round = 0; round < 10; round++) {
    const ended = await ingest(context, node).catch((error: Error) => error)
    if (!(ended instanceof Error)) break
    assert.equal(ended.name, 'BeaconError', String(ended.stack))
  }
  await assertTruth(context)
})

test('with an execution source, fees and payments are known, and a missed proposal misses their mean', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  const settings = await withChainTimes({ ...context, clock: systemClock })
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const source: ExecutionSource = {
    read: async (blocks) =>
      new Map(blocks.map(({ slot }) => [slot, { priorityFee: slot, baselineMev: 1, external: 2 }])),
  }
  await new Follower({ ...context, settings }, 'hoodi', beacon, source).catchUp(new AbortController().signal)
  const days = await rowsOf(context, 'days')
  const total = (name: Measure) => days.reduce((sum, row) => sum + row[name], 0)
  const ingested = slots.filter(({ slot }) => slot > 0 && slot < 13 * 8)
  const made = ingested.filter(({ proposed }) => proposed === 1)
  const fees = made.reduce((sum, { slot }) => sum + slot, 0)
  const missed = ingested
    .filter(({ proposed }) => proposed === 0)
    .map(({ slot }) => {
      const own = made.filter((one) => Math.floor(one.slot / 8) === Math.floor(slot / 8))
      return Math.floor(own.reduce((sum, one) => sum + one.slot + 1, 0) / own.length)
    })
  assert.equal(total('execution_unknown'), 0)
  assert.equal(total('priority_fee'), fees)
  assert.equal(total('baseline_mev'), made.length)
  assert.equal(total('external_reward'), 2 * made.length)
  assert.equal(
    total('missed_execution_reward'),
    missed.reduce((sum, one) => sum + one, 0),
  )
})
