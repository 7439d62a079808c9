// Pins the bytes and ids of every packed row, because later versions must read what this version has stored.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { Epoch } from '#core/chain-time.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { storedRows } from '#test/stored-duties.ts'
import { writeEpochs } from '#test/validators-world.ts'
import type { Measure } from '../method/measures.ts'
import { readSummaries } from './daily-summaries.ts'
import { plainTime } from './layout.ts'
import { listMissedDuties, type MissedDuty, writeMissedDuties } from './missed.ts'

// A day part has one or two epochs: a short span has about 19 epochs, a long one 154.
const windows = { genesisUnix: 1_700_005_400, slotSeconds: 3600, slotsPerEpoch: 8, epochsPerHour: 3, epochsPerDay: 2 }
const network = 'hoodi'
const validator = 70
/** In a long span, a short span, and a day that is not merged. */
const [longEpoch, shortEpoch, dayEpoch] = [1, 160, 203]
const until = dayEpoch + 1

/** Every measure has a value of its own, so that each column can be told apart. */
const figures: Readonly<Record<Measure, number>> = {
  assigned: 225,
  inclusions: 231,
  included: 224,
  inclusion_delay: 240,
  correct_source: 223,
  correct_target: 222,
  correct_head: 220,
  late_source: 3,
  late_target: 4,
  proposer_duties: 9,
  proposed: 8,
  proposed_empty: 5,
  sync_signatures: 6000,
  slashes_collected: 6,
  slashes_received: 7,
  execution_unknown: 10,
  attestation_reward: 2_000_001,
  sync_reward: 2_000_002,
  block_reward: 40_000_003,
  late_source_penalty: -101,
  late_target_penalty: -102,
  wrong_target_penalty: -103,
  wrong_head_penalty: -104,
  missed_attestation_penalty: -105,
  sync_penalty: -106,
  missed_attestation_reward: 1001,
  missed_sync_reward: 1002,
  missed_block_reward: 1003,
  missed_execution_reward: 1004,
  priority_fee: 1005,
  baseline_mev: 1006,
  external_reward: 1007,
  earnings: 44_444_444,
  deposited: 2001,
  withdrawn: 2002,
  consolidated: -107,
  slashing_penalty: -108,
}
const missedDuty: MissedDuty = {
  ...{ validator, epoch: dayEpoch, kind: 3, slot: dayEpoch * 8 + 5 },
  ...{ delay: 7, best_delay: 2, wrong: 1, missing: 6, payload: 9, builder: 8, ether: 4, gwei: 11 },
}

/** The columns of a packed row with `figures` in one cell. */
const columns =
  'ffffffff1f00e1010007800100108001800280040003000400090008000500f02e00060007000a0081897a0082897a0083b4891380658066806780688069806a00e90700ea0700eb0700ec0700ed0700ee0700ef070083951b00d10f00d20f806b806c'
const dayRow = `0125245e5c4740000000014000000000000000${columns}`
/** Of each score: the number of validators, the mean and nine percentiles, which are equal. Then the measures. */
const summary = [
  '01467f00c36d0100000000ffffffffffffffff3f',
  ...['00e083c6a022', '008ec9ddcb11', '00e2edde801c'].map((score) => `0001${score.repeat(10)}`),
  '00e10100e70100e00100f00100df0100de0100dc010003000400090008000500f02e00060007000a0081897a0082897a0083b4891380658066806780688069806a00e90700ea0700eb0700ec0700ed0700ee0700ef07009cd6981500d10f00d20f806b806c',
].join('')
const golden: readonly string[] = [
  `duty_hours 8796094070785: ${dayRow}`,
  `duty_hours 8796289105921: ${dayRow}`,
  `duty_hours 8796340486145: ${dayRow}`,
  `duty_days 8796270231553: ${dayRow}`,
  `duty_short_spans 8796160131080: 012583a62dd2800000000100000000000000000000000040000000${columns}`,
  `duty_long_spans 8796093022278: 01250202640f800000000102000000000000000000000000000000${columns}`,
  'missed_duties 8796270231553: 010c592475ae0100000000ff0f00060001000300050007000200010006000900080004000b',
  'duty_presence 8796094070784: 013dcbe1fe4600',
  'duty_presence 8796233531392: 013dcbe1fe4600',
  'duty_presence 8796270231552: 013dcbe1fe4600',
  `duty_summaries 0 : ${summary}`,
  `duty_summaries 1 a pool: ${summary}`,
  `duty_summaries 2 an operator: ${summary}`,
]

const packedTables = [
  'duty_hours',
  'duty_days',
  'duty_short_spans',
  'duty_long_spans',
  'missed_duties',
  'duty_presence',
]

async function packedRows({ duties }: TestContext): Promise<string[]> {
  const lines: string[] = []
  for (const table of packedTables)
    for (const { id, data } of await duties.all<{ id: number; data: Uint8Array }>(
      `select id, data from ${table} order by id`,
    ))
      lines.push(`${table} ${id}: ${Buffer.from(data).toString('hex')}`)
  for (const { kind, name, data } of await duties.all<{ kind: number; name: string; data: Uint8Array }>(
    'select kind, name, data from duty_summaries order by kind',
  ))
    lines.push(`duty_summaries ${kind} ${name}: ${Buffer.from(data).toString('hex')}`)
  return lines
}

test('the packed rows of every table have the bytes and ids that version 0.1.0 stores', async () => {
  await using context = await openContext({ validators: { networks: { [network]: windows } } })
  const { duties, dutiesState } = context
  const time = plainTime(context.settings.validators.networks[network])
  const { signal } = new AbortController()
  const rows = [longEpoch, shortEpoch, dayEpoch].map((epoch) => ({ epoch, validator, ...figures }))
  await writeEpochs(context, network, { from: 0, until }, rows)
  const missed = Object.fromEntries(Object.entries(missedDuty).map(([field, value]) => [field, Int32Array.of(value)]))
  const epochs = { from: dayEpoch as Epoch, until: until as Epoch }
  await dutiesState.write((tx) => writeMissedDuties(tx, network, time, [{ epochs, missed: missed as never }]))
  await duties.update('mergeSpans', { network, time, until }, { signal })
  const entities = {
    ...{ version: 1, changes: [] },
    list: [
      { kind: 'pool', name: 'a pool' },
      { kind: 'operator', name: 'an operator' },
    ] as const,
    validators: Int32Array.of(validator, validator),
    entityIndices: Int32Array.of(0, 1),
    ...{ fromDays: Int32Array.of(0, 0), untilDays: Int32Array.of(1e6, 1e6) },
  }
  await duties.update('summarizeDays', { network, time, until, entities, daysMax: 1 }, { signal })

  assert.deepEqual(
    await packedRows(context),
    golden,
    'a new measure is one more column; other changes need a new format version, and a reader for both',
  )

  for (const grain of ['hours', 'days'] as const)
    for (const { validator: index, day, hour, ...sums } of await storedRows(context, network, grain))
      assert.deepEqual({ index, ...sums }, { index: validator, ...figures }, `day ${day}, hour ${hour}`)
  const listed = await listMissedDuties(dutiesState, { network, time, validators: [validator], epochs })
  assert.deepEqual(listed, [missedDuty])
  for (const [kind, name] of Object.entries({ network: '', pool: 'a pool', operator: 'an operator' })) {
    const days = { from: 0, until: 1000 }
    const [summary] = await readSummaries(duties, { network, kind: kind as never, names: [name], days })
    assert.deepEqual(summary?.sums, figures, kind)
  }
})
