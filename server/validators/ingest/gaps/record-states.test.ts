// Ingests the recorded responses of a real node and compares the result with an independent computation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openReplay, type Replay, type ReplayOptions, type TruthRow, truth } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { type Grain, type StoredRow, storedRows } from '#test/stored-duties.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { hourEpochs } from '../../duties/hours.ts'
import type { Measure } from '../../method/measures.ts'
import { readValidator } from '../../registry/registry.ts'
import { type Carry, processEpoch } from '../epochs/process-epoch.ts'
import { Sums } from '../epochs/sums.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { EpochReader } from '../read/epoch-reader.ts'
import type { ExecutionSource } from '../read/execution.ts'
import { settleBalances } from '../read/settle-balances.ts'

const { epochs: truths, slots, constants } = truth()
const finalizedEpoch = 14
const epochsPerHour = 2
const epochsPerDay = 4

/** The measures that the independent computation has. A vote that was not included has no delay and no correct flag. */
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
      const total = sums.get(row.validator) ?? {}
      for (const [name, of] of Object.entries(counted)) total[name] = (total[name] ?? 0) + of(row)
      const { source, target, head } = attestationRewards[row.validator] as (typeof attestationRewards)[number]
      const rewards = [source, target, head].map((gwei) => Math.max(0, gwei))
      total.attestation_reward = (total.attestation_reward ?? 0) + rewards.reduce((sum, gwei) => sum + gwei, 0)
      total.block_reward = (total.block_reward ?? 0) + blockRewards(epoch, row.validator)
      sums.set(row.validator, total)
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

/** With the chain times that are stored with the rows. */
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

function assertSums(rows: readonly StoredRow[], from: number, until: number, label: string): void {
  const expectedRows = expected(from, Math.min(until, finalizedEpoch - 1))
  assert.equal(rows.length, expectedRows.size, label)
  for (const row of rows) {
    for (const [name, sum] of Object.entries(expectedRows.get(row.validator) ?? {})) {
      assert.equal(row[name as Measure], sum, `${label}, validator ${row.validator}: ${name}`)
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
  const label = `${form.ssz ? 'SSZ' : 'JSON'}, ${form.derived ? 'with' : 'without'} states of empty slots`
  test(`every stored count and reward equals the independent computation: ${label}`, async () => {
    await using node = await openReplay(form)
    await using context = await contextFor(node)
    const progress = await ingest(context, node)
    assert.deepEqual(progress, { until: 13, finalizedEpoch, written: 13 })
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: 13 }])
    await assertTruth(context)
  })
}

/** The recording lacks states of empty slots. A node that does not offer them is expected to answer with 404. */
const failing: NonNullable<ReplayOptions['meddle']> = (exchange) =>
  exchange.status === 404 && exchange.path.includes('/states/')
    ? { ...exchange, status: 500, body: '{"code":500,"message":"Internal Server Error"}' }
    : exchange

for (const ssz of [true, false]) {
  test(`a status 500 for states of empty slots leads to the same figures: ${ssz ? 'SSZ' : 'JSON'}`, async () => {
    await using node = await openReplay({ ssz, meddle: failing })
    await using context = await contextFor(node)
    assert.deepEqual(await ingest(context, node), { until: 13, finalizedEpoch, written: 13 })
    await assertTruth(context)
  })
}

test('a node that answers all requests for states with status 500 leads to no gap', async () => {
  await using node = await openReplay({
    meddle: (exchange) => (/\/states\/\d/.test(exchange.path) ? failing({ ...exchange, status: 404 }, 0) : exchange),
  })
  await using context = await contextFor(node)
  await assert.rejects(ingest(context, node), /status 500/)
  assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [])
})

test('earnings equal the changes of the recorded balances', async () => {
  await using node = await openReplay({ derived: false })
  await using context = await contextFor(node)
  await ingest(context, node)
  const days = Map.groupBy(await rowsOf(context, 'days'), ({ validator }) => validator)
  const earned = Array.from(days.values(), (rows) => rows.reduce((sum, { earnings }) => sum + earnings, 0))
  // There were no deposits or withdrawals, so earnings are the balance at the start of epoch 13 minus 32 ETH.
  const response = await fetch(`${node.url}/eth/v1/beacon/states/104/validator_balances`)
  const { data } = (await response.json()) as { data: { index: string; balance: string }[] }
  assert.deepEqual(
    earned,
    data.map(({ balance }) => Number(BigInt(balance) - 32_000_000_000n)),
  )
})

test('the last epochs, which are not final in the recording, also equal the independent computation', async () => {
  const open = '/eth/v1/beacon/states/136/finality_checkpoints'
  await using node = await openReplay({
    // The recording lacks this state. Only its finalized epoch is needed, and there was no leak.
    meddle: (exchange) =>
      exchange.path === open ? { ...exchange, status: 200, body: '{"data":{"finalized":{"epoch":"15"}}}' } : exchange,
  })
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const { rules } = await beacon.chain()
  const reader = new EpochReader(beacon, rules)
  let carry: Carry | undefined
  for (let epoch = 0; epoch <= 15; epoch++) {
    const data = await reader.read(epoch)
    settleBalances(data, carry)
    const sums = new Sums()
    const processed = processEpoch(rules, data, carry, sums)
    assert.deepEqual(
      processed.unexplainedBalanceChanges,
      { validators: 0, inGwei: 0, outGwei: 0 },
      'the rules explain every balance change',
    )
    for (const [validator, expectedRewards] of (truths[epoch]?.attestationRewards ?? []).entries()) {
      const { source, target, head, inactivity } = processed.voteRewards
      assert.deepEqual(
        {
          ...{ source: source[validator], target: target[validator] },
          ...{ head: head[validator], inactivity: inactivity[validator] },
        },
        expectedRewards,
      )
    }
    const { validator, sums: columns } = sums.take()
    const expectedRows = expected(epoch, epoch + 1)
    for (const [at, index] of Array.from(validator).entries()) {
      for (const [name, sum] of Object.entries(expectedRows.get(index) ?? {}))
        assert.equal(columns[name as Measure]?.[at], sum, name)
    }
    carry = processed.carry
  }
})

test('chain times come from the node: genesis, slot time and slots per epoch', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  const { hoodi, mainnet } = (await withChainTimes({ ...context, clock: systemClock })).validators.networks
  assert.deepEqual([hoodi.genesisUnix, hoodi.slotSeconds, hoodi.slotsPerEpoch], [1_794_705_870, 2, 8])
  assert.equal(mainnet.slotSeconds, 12)
})

test('a node that was unreachable when the server started is read later, with its own chain times', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  // These settings have the default times, as if the node had not responded.
  const { settings } = context
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const follower = new Follower({ ...context, settings }, 'hoodi', beacon)
  const { until } = await follower.catchUp(new AbortController().signal)
  assert.equal(until, 13)
  await assertTruth(context)
  const { genesisUnix, slotSeconds, slotsPerEpoch } = settings.validators.networks.hoodi
  assert.deepEqual([genesisUnix, slotSeconds, slotsPerEpoch], [1_794_705_870, 2, 8])
})

test('the registry contains the validators of the state', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  await ingest(context, node)
  const entry = await readValidator(context.ingest, 'hoodi', 0)
  assert.equal(
    entry?.pubkey,
    '0xa99a76ed7796f7be22d5b7e85deeb7c5677e88e511e0b337618f8c4eb61349b4bf2d153f649f7b53359fe8b94a38e44c',
  )
  assert.deepEqual([entry?.activationEpoch, entry?.exitEpoch, entry?.withdrawalAddress], [0, null, null])
})

test('with a watch list, only its validators are stored, with the same figures', async () => {
  await using node = await openReplay()
  const third = '0xa3a32b0f8b4ddb83f1a0a853d81dd725dfe577d4f4c3db8ece52ce2b026eca84815c1a7e8e92a4de3d755733bf7e4a9b'
  await using context = await contextFor(node, { watch: ['7', third] })
  await ingest(context, node)
  const rows = await rowsOf(context, 'utcDays')
  assert.deepEqual(
    rows.map(({ validator }) => validator),
    [2, 7],
  )
  const expectedRows = expected(0, 13)
  for (const row of rows) assert.equal(row.inclusions, expectedRows.get(row.validator)?.inclusions)
  assert.equal(await readValidator(context.ingest, 'hoodi', 3), undefined)
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

test('a node that lacks blocks is detected, and nothing is stored', async () => {
  await using node = await openReplay({
    meddle: (exchange) =>
      /beacon\/(blocks|headers)\/(9|10|11)$/.test(exchange.path) ? { ...exchange, status: 404, body: '{}' } : exchange,
  })
  await using context = await contextFor(node)
  await assert.rejects(
    ingest(context, node),
    /slot 12: the parent root of the block is 0x\w+, but the root of the block of slot 8 is 0x\w+: the node lacks blocks/,
  )
  assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [])
})

test('closed connections, truncated bodies and status 500 do not change the result', async () => {
  await using node = await openReplay({
    meddle: (exchange, count) => {
      if (count % 11 === 3) return undefined
      if (count % 13 === 5) return { ...exchange, status: 500, body: '{}' }
      if (count % 17 === 7 && exchange.status === 200) return { ...exchange, body: exchange.body.slice(0, 40) }
      return exchange
    },
  })
  await using context = await contextFor(node)
  // Five failures in a row end an attempt, as in a server. The next attempt continues.
  for (let round = 0; round < 10; round++) {
    const ended = await ingest(context, node).catch((error: Error) => error)
    if (!(ended instanceof Error)) break
    assert.equal(ended.name, 'BeaconError', String(ended.stack))
  }
  await assertTruth(context)
})

test('with an execution node, fees and payments are stored, and a missed proposal counts their mean as missed', async () => {
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
      const sameEpoch = made.filter((block) => Math.floor(block.slot / 8) === Math.floor(slot / 8))
      return Math.floor(sameEpoch.reduce((sum, block) => sum + block.slot + 1, 0) / sameEpoch.length)
    })
  assert.equal(total('execution_unknown'), 0)
  assert.equal(total('priority_fee'), fees)
  assert.equal(total('baseline_mev'), made.length)
  assert.equal(total('external_reward'), 2 * made.length)
  assert.equal(
    total('missed_execution_reward'),
    missed.reduce((sum, gwei) => sum + gwei, 0),
  )
})
