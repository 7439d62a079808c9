// Storing, reading and deleting missed duties.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { chainDays, type Epoch } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { dayPartAt } from './layout.ts'
import {
  dropMissedDuties,
  emptyMissedDuty,
  listMissedDuties,
  type MissedDuty,
  type MissedDutyColumns,
  missedEpochs,
  missedFields,
  missedKinds,
  writeMissedDuties,
} from './missed.ts'

// 4 epochs of 8 slots to the day.
const time = { genesisUnix: 1_700_005_400, slotSeconds: 200, slotsPerEpoch: 8, epochsPerHour: 2, epochsPerDay: 4 }
const everything: Range = { from: 0, until: 1000 }

const missed = (epoch: number, validator: number, more: Partial<MissedDuty> = {}): MissedDuty => ({
  ...emptyMissedDuty,
  validator,
  epoch,
  slot: epoch * 8 + 3,
  best_delay: 1,
  ...more,
})

/** Sorted as by ingest: by validator, then epoch. */
function columnsOf(rows: readonly MissedDuty[]): MissedDutyColumns {
  const sorted = rows.toSorted((a, b) => a.validator - b.validator || a.epoch - b.epoch)
  return Object.fromEntries(
    missedFields.map((field) => [field, Int32Array.from(sorted, (row) => row[field])]),
  ) as MissedDutyColumns
}

/** One commit. Each pair of bounds is a segment of one day. */
const write = ({ dutiesState }: TestContext, bounds: readonly number[], rows: readonly MissedDuty[]) =>
  dutiesState.write((tx) =>
    writeMissedDuties(
      tx,
      'hoodi',
      time,
      bounds.slice(1).map((until, at) => {
        const from = bounds[at] as number
        const segmentRows = rows.filter(({ epoch }) => epoch >= from && epoch < until)
        return { epochs: { from: from as Epoch, until: until as Epoch }, missed: columnsOf(segmentRows) }
      }),
    ),
  )

const read = ({ dutiesState }: TestContext, validator: number, range = everything) =>
  listMissedDuties(dutiesState, { network: 'hoodi', time, validators: [validator], epochs: range })

const inOrder = (rows: readonly MissedDuty[]) =>
  rows.toSorted((a, b) => a.epoch - b.epoch || a.kind - b.kind || a.slot - b.slot)

test('every field of every kind is stored, sorted by epoch, kind and slot', async () => {
  await using context = await openContext()
  const rows = [
    missed(9, 5, { delay: 7, best_delay: 2, wrong: 3 }),
    missed(2, 5, { kind: missedKinds.indexOf('slashed'), slot: 23 }),
    missed(2, 5, { kind: missedKinds.indexOf('sync'), slot: 17, missing: 6 }),
    missed(2, 5, { kind: missedKinds.indexOf('noBlock'), slot: 21 }),
    missed(2, 5, { kind: missedKinds.indexOf('noBlock'), slot: 16 }),
    missed(2, 5, { kind: missedKinds.indexOf('emptyBlock'), slot: 19 }),
    missed(0, 5, { slot: 0, best_delay: 0 }),
  ]
  await write(context, [0, 4, 8, 10], rows)
  assert.deepEqual(await read(context, 5), inOrder(rows))
  assert.deepEqual(
    (await read(context, 5)).map(({ epoch, kind, slot }) => [epoch, missedKinds[kind], slot]),
    [
      [0, 'vote', 0],
      [2, 'noBlock', 16],
      [2, 'noBlock', 21],
      [2, 'emptyBlock', 19],
      [2, 'sync', 17],
      [2, 'slashed', 23],
      [9, 'vote', 75],
    ],
  )
})

test('several commits of a day are appended, in every group of validators', async () => {
  await using context = await openContext()
  const draws = createSeededRandom('missed')
  const validators = [0, 63, 64, 127, 9000, 1_000_000]
  const rows = Array.from({ length: 41 }, (_, epoch) => epoch).flatMap((epoch) =>
    validators
      .filter(() => draws.happens(0.6))
      .map((validator) => missed(epoch, validator, { delay: draws.whole(0, 33), slot: epoch * 8 + draws.whole(0, 8) })),
  )
  // Single epochs, parts of a day and several days; the last commit fills a gap.
  const commits = [
    [0, 1],
    [1, 2],
    [2, 4, 5, 6],
    [6, 8, 12, 16, 17],
    [21, 22, 24],
    [24, 28, 32, 36, 40, 41],
    [17, 20, 21],
  ]
  for (const bounds of commits) await write(context, bounds, rows)
  for (const validator of validators) {
    const ofValidator = rows.filter((row) => row.validator === validator)
    assert(ofValidator.length > 10)
    assert.deepEqual(await read(context, validator), inOrder(ofValidator))
    const range = { from: 6, until: 23 }
    assert.deepEqual(
      await read(context, validator, range),
      inOrder(ofValidator).filter(({ epoch }) => epoch >= 6 && epoch < 23),
    )
  }
  assert.deepEqual(await read(context, 65), [], 'another validator of a group that has rows')
  assert.deepEqual(await read(context, 5000), [])
  assert.deepEqual(await read(context, 0, { from: 7, until: 7 }), [])
  assert.deepEqual(await missedEpochs(context.duties, 'hoodi'), [{ from: 0, until: 41 }])
  const counts = await context.duties.query('countRows', undefined)
  const groups = new Set(rows.map(({ epoch, validator }) => `${dayPartAt(time, epoch as Epoch)} ${validator >> 6}`))
  assert.equal(counts.missed_duties, groups.size, 'one row for each day part and 64 validators')
})

test('epochs without missed duties are covered, other networks are not', async () => {
  await using context = await openContext()
  await write(context, [4, 8], [])
  await write(context, [0, 4], [missed(1, 3)])
  assert.deepEqual(await missedEpochs(context.duties, 'hoodi'), [{ from: 0, until: 8 }])
  assert.deepEqual(await missedEpochs(context.duties, 'mainnet'), [])
  assert.deepEqual(
    await listMissedDuties(context.dutiesState, { network: 'mainnet', time, validators: [3], epochs: everything }),
    [],
  )
})

test('old days are deleted with their coverage, but not those of other networks', async () => {
  await using context = await openContext()
  const rows = [2, 3, 4, 7, 8, 11].map((epoch) => missed(epoch, 70))
  await write(context, [0, 4, 8, 12], rows)
  await context.dutiesState.write((tx) =>
    writeMissedDuties(tx, 'holesky', time, [
      { epochs: { from: 0 as Epoch, until: 4 as Epoch }, missed: columnsOf([missed(1, 70)]) },
    ]),
  )
  await context.dutiesState.write((tx) => dropMissedDuties(tx, 'hoodi', time, chainDays(time).dayOf(8 as Epoch)))
  assert.deepEqual(
    (await read(context, 70)).map(({ epoch }) => epoch),
    [8, 11],
  )
  assert.deepEqual(await missedEpochs(context.duties, 'hoodi'), [{ from: 8, until: 12 }])
  assert.equal(
    (await listMissedDuties(context.dutiesState, { network: 'holesky', time, validators: [70], epochs: everything }))
      .length,
    1,
  )
  assert.equal((await context.duties.all('select id from missed_duties')).length, 2)
})
