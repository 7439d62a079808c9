// Commits of epochs: each epoch is counted once, and a failed commit stores nothing.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Network } from '#api/contract/wire/validators.ts'
import { chainDays, type Epoch, hourOf, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { everythingStored, type Grain, storedRows } from '#test/stored-duties.ts'
import { type EpochRow, perfect, segmentsOf, writeEpochs } from '#test/validators-world.ts'
import { type Measure, measures } from '../method/measures.ts'
import type { CommitSegment, EpochCommit } from './commit.ts'
import { coveredEpochs } from './coverage.ts'
import { hourEpochs } from './hours.ts'
import { partsIn, plainTime } from './layout.ts'
import { listMissedDuties, type MissedField, missedEpochs, missedFields } from './missed.ts'

// Epochs of 8 slots of 200 s = 1600 s, 3 to the hour, 9 to the day (4 h); a UTC day has 54. Genesis is 1000 s before a
// midnight, so that hours cross it.
const small = {
  genesisUnix: 1_700_005_400, // 2023-11-14T23:43:20Z
  slotSeconds: 200,
  slotsPerEpoch: 8,
  epochsPerHour: 3,
  epochsPerDay: 9,
}
const overrides = { validators: { networks: { mainnet: small } } }

const row = (epoch: number, validator: number): EpochRow => ({
  ...perfect,
  epoch,
  validator,
  earnings: 1000 * validator + epoch,
  sync_penalty: -epoch,
})
/** Three validators in two rows of 64. The last one starts later. */
const rowsOf = ({ from, until }: Range, validators = [3, 7, 70]): EpochRow[] =>
  validators.flatMap((validator) =>
    Array.from({ length: until - from }, (_, at) => row(from + at, validator)).filter(
      ({ epoch }) => validator !== 70 || epoch >= 20,
    ),
  )
const write = (context: TestContext, range: Range) => writeEpochs(context, 'mainnet', range, rowsOf(range))

const commitOf = (
  context: TestContext,
  range: Range,
  rows = rowsOf(range),
  network: Network = 'mainnet',
): EpochCommit => {
  const time = plainTime(networkSettings(context.settings, network))
  return { network, time, segments: segmentsOf(time, range, rows) }
}

const all: Range = { from: 0, until: 120 }

const keysOf: Readonly<Record<Grain, (epoch: Epoch) => readonly [day: number, hour: number]>> = {
  hours: (epoch) => [chainDays(small).dayOf(epoch), hourOf(small, epoch)],
  utcHours: (epoch) => [utcDays(small).dayOf(epoch), hourOf(small, epoch)],
  days: (epoch) => [chainDays(small).dayOf(epoch), -1],
  utcDays: (epoch) => [utcDays(small).dayOf(epoch), -1],
}

test('hours, chain days and UTC days each add up to what was written, for every measure', async () => {
  await using context = await openContext(overrides)
  const rows = rowsOf(all).map((one) => ({
    ...one,
    ...Object.fromEntries(measures.map((name, at) => [name, ((one.epoch * 31 + one.validator * 7 + at) % 11) - 4])),
  }))
  await writeEpochs(context, 'mainnet', all, rows)
  for (const grain of ['hours', 'utcHours', 'days', 'utcDays'] as const) {
    const sums = new Map<string, Record<string, number>>()
    for (const { epoch, validator, ...values } of rows) {
      const [day, hour] = keysOf[grain](epoch as Epoch)
      const key = `${validator} ${day} ${hour}`
      const sum = sums.get(key) ?? { validator, day, hour }
      for (const name of measures) sum[name] = (sum[name] ?? 0) + ((values as Record<string, number>)[name] ?? 0)
      sums.set(key, sum)
    }
    const stored = await storedRows(context, 'mainnet', grain)
    assert.equal(stored.length, sums.size, grain)
    for (const one of stored) assert.deepEqual(one, sums.get(`${one.validator} ${one.day} ${one.hour}`), grain)
  }
})

test('an hour that crosses a UTC midnight is two UTC hours and one chain hour', async () => {
  await using context = await openContext(overrides)
  await write(context, { from: 0, until: 9 })
  const assigned = async (grain: Grain) =>
    (await storedRows(context, 'mainnet', grain))
      .filter(({ validator }) => validator === 3)
      .map((one) => [one.day, one.hour, one.assigned])
  // Epoch 0 starts at 23:43:20, epoch 1 at 00:10:00.
  assert.deepEqual(await assigned('utcHours'), [
    [0, 0, 1],
    [1, 0, 2],
    [1, 1, 3],
    [1, 2, 3],
  ])
  assert.deepEqual(await assigned('hours'), [
    [0, 0, 3],
    [0, 1, 3],
    [0, 2, 3],
  ])
})

describe('every epoch is counted once', () => {
  test('epochs in any order and division are stored as by one commit', async () => {
    await using whole = await openContext(overrides)
    await write(whole, all)
    const expected = await everythingStored(whole)
    const range = fc.tuple(fc.nat({ max: all.until - 1 }), fc.integer({ min: 1, max: 40 }))
    const batches = fc.array(
      range.map(([from, length]) => ({ from, until: Math.min(from + length, all.until) })),
      { maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(batches, async (some) => {
        await using context = await openContext(overrides)
        // `writeEpochs` skips covered epochs.
        for (const batch of some) await write(context, batch)
        await write(context, all)
        assert.deepEqual(await everythingStored(context), expected)
      }),
      { numRuns: 10 },
    )
  })

  test('single epochs are stored as by one commit', async () => {
    await using whole = await openContext(overrides)
    await using single = await openContext(overrides)
    // Epoch 0 ends the first UTC day; the next midnight lies between epochs 54 and 55.
    await write(whole, { from: 0, until: 60 })
    for (let epoch = 0; epoch < 60; epoch++) await write(single, { from: epoch, until: epoch + 1 })
    assert.deepEqual(await everythingStored(single), await everythingStored(whole))
  })

  test('a commit may hold several segments of one hour', async () => {
    await using whole = await openContext(overrides)
    await using parts = await openContext(overrides)
    await write(whole, { from: 0, until: 12 })
    const cuts = [0, 1, 2, 3, 5, 6, 9, 12]
    const segments = cuts.slice(1).flatMap((until, at) => commitOf(parts, { from: cuts[at] as number, until }).segments)
    await parts.duties.update('commitEpochs', { ...commitOf(parts, all), segments })
    assert.deepEqual(await everythingStored(parts), await everythingStored(whole))
  })

  test('a commit that overlaps covered epochs is refused as a whole', async () => {
    await using context = await openContext(overrides)
    await write(context, { from: 3, until: 6 })
    const before = await everythingStored(context)
    for (const range of [
      { from: 3, until: 6 },
      { from: 0, until: 4 },
      { from: 5, until: 8 },
      { from: 0, until: 12 },
    ]) {
      await assert.rejects(context.duties.update('commitEpochs', commitOf(context, range)), /written already/)
      assert.deepEqual(await everythingStored(context), before)
    }
    await context.duties.update('commitEpochs', commitOf(context, { from: 6, until: 8 }))
    assert.deepEqual(await coveredEpochs(context.duties, 'mainnet'), [{ from: 3, until: 8 }])
  })

  test('networks are independent', async () => {
    await using context = await openContext(overrides)
    await write(context, { from: 0, until: 5 })
    const before = await storedRows(context, 'mainnet', 'utcHours')
    await writeEpochs(context, 'hoodi', { from: 2, until: 7 }, rowsOf({ from: 2, until: 7 }))
    await writeEpochs(context, 'holesky', { from: 0, until: 5 }, rowsOf({ from: 0, until: 5 }, [3, 7, 64]))
    assert.deepEqual(await storedRows(context, 'mainnet', 'utcHours'), before)
    // Epochs 0–4: one before midnight, the rest of hour 0, hour 1; two validators.
    assert.equal(before.length, 6)
    assert.deepEqual(await coveredEpochs(context.duties, 'mainnet'), [{ from: 0, until: 5 }])
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 2, until: 7 }])
  })
})

describe('a failed commit stores nothing', () => {
  const wrong: readonly (readonly [string, Range, EpochRow[], RegExp])[] = [
    ['a fraction', { from: 0, until: 9 }, [{ ...row(3, 3), earnings: 0.5 }], /exact whole numbers/],
    ['a number that is not exact', { from: 0, until: 9 }, [{ ...row(3, 3), assigned: 2 ** 53 }], /exact whole numbers/],
    // By then, all but the last of 300 rows have been written.
    [
      'a fraction in the last row',
      { from: 12, until: 24 },
      Array.from({ length: 300 }, (_, at) => ({ ...row(12, at * 64), priority_fee: at === 299 ? 0.5 : 1 })),
      /exact whole numbers/,
    ],
  ]
  for (const [name, range, rows, message] of wrong) {
    test(name, async () => {
      await using context = await openContext(overrides)
      await write(context, { from: 9, until: 12 })
      const before = await everythingStored(context)
      const counts = await context.duties.query('countRows', undefined)
      await assert.rejects(context.duties.update('commitEpochs', commitOf(context, range, rows)), message)
      assert.deepEqual(await everythingStored(context), before)
      assert.deepEqual(await context.duties.query('countRows', undefined), counts)
    })
  }

  test('refuses a segment that extends into the next hour', async () => {
    await using context = await openContext(overrides)
    const [segment] = commitOf(context, { from: 3, until: 6 }).segments as [CommitSegment]
    const wide = { ...segment, epochs: { from: 3 as Epoch, until: 7 as Epoch } }
    const commit = { ...commitOf(context, all), segments: [wide] }
    await assert.rejects(context.duties.update('commitEpochs', commit), /are not in one hour part/)
    assert.deepEqual(await coveredEpochs(context.duties, 'mainnet'), [])
  })

  test('if any statement fails, neither figures nor coverage or missed duties are stored', async () => {
    await using context = await openContext(overrides)
    await write(context, { from: 0, until: 9 })
    const before = await everythingStored(context)
    const plain = commitOf(context, { from: 9, until: 20 })
    const missed = missedOf([{ validator: 3, epoch: 9, kind: 0, slot: 75 }])
    const commit: EpochCommit = {
      ...plain,
      segments: plain.segments.map((one, at) => ({ ...one, ...(at === 0 && { missed }) })),
      head: { hoursKeptDays: 1, missedKeptDays: 1 },
    }
    for (const table of ['duty_hours', 'duty_days', 'duty_presence', 'duty_units', 'missed_duties']) {
      await context.dutiesState.write((tx) => tx.run(`alter table ${table} rename to elsewhere`))
      await assert.rejects(context.duties.update('commitEpochs', commit), new RegExp(table))
      await context.dutiesState.write((tx) => tx.run(`alter table elsewhere rename to ${table}`))
      assert.deepEqual(await everythingStored(context), before, table)
    }
    await context.duties.update('commitEpochs', commit)
    assert.deepEqual(await coveredEpochs(context.duties, 'mainnet'), [{ from: 0, until: 20 }])
    assert.equal(
      (await listMissedDuties(context.dutiesState, { network: 'mainnet', time: small, validators: [3], epochs: all }))
        .length,
      0,
      'its day is over',
    )
  })
})

const missedOf = (rows: readonly Partial<Record<MissedField, number>>[]) =>
  Object.fromEntries(
    missedFields.map((field) => [field, Int32Array.from(rows, (one) => one[field] ?? 0)]),
  ) as CommitSegment['missed']

describe('validators with duties', () => {
  const partAt = (epoch: number) => partsIn(small, { from: epoch, until: epoch + 1 })[0]?.number ?? assert.fail()
  const validatorsAt = async (context: TestContext, epoch: number) => [
    ...(await context.duties.query('validatorsIn', { network: 'mainnet', part: partAt(epoch) })),
  ]

  test('a new validator has rows from its first epoch on, also with a distant index', async () => {
    await using context = await openContext(overrides)
    const far = 5 * 32_768 + 17
    await write(context, { from: 0, until: 12 })
    const range = { from: 12, until: 30 }
    const rows = [...rowsOf(range), ...rowsOf({ from: 25, until: 30 }, [far])]
    await writeEpochs(context, 'mainnet', range, rows)
    assert.deepEqual(await validatorsAt(context, 5), [3, 7])
    assert.deepEqual(await validatorsAt(context, 16), [3, 7])
    assert.deepEqual(await validatorsAt(context, 18), [3, 7, 70, far])
    const days = (await storedRows(context, 'mainnet', 'days')).map(({ validator, day }) => [validator, day])
    assert.deepEqual(
      days.filter(([validator]) => validator === 70),
      [
        [70, 2],
        [70, 3],
      ],
    )
    assert.deepEqual(
      days.filter(([validator]) => validator === far),
      [
        [far, 2],
        [far, 3],
      ],
    )
  })

  test('a validator that exits during a day has a row for it', async () => {
    await using context = await openContext(overrides)
    await writeEpochs(context, 'mainnet', { from: 9, until: 12 }, rowsOf({ from: 9, until: 12 }, [3, 9]))
    await writeEpochs(context, 'mainnet', { from: 12, until: 20 }, rowsOf({ from: 12, until: 20 }, [3]))
    assert.deepEqual(await validatorsAt(context, 16), [3, 9])
    assert.deepEqual(await validatorsAt(context, 18), [3])
  })

  test('a row with only zeros is stored', async () => {
    await using context = await openContext(overrides)
    await writeEpochs(context, 'mainnet', { from: 0, until: 3 }, [{ epoch: 1, validator: 9 }])
    const [only, ...others] = await storedRows(context, 'mainnet', 'days')
    assert.deepEqual([only?.validator, only?.day, others], [9, 0, []])
    assert(only && measures.every((name: Measure) => only[name] === 0))
  })
})

test('hours and missed duties are deleted by age when a new day begins, days stay', async () => {
  await using context = await openContext(overrides)
  const head = { hoursKeptDays: 2, missedKeptDays: 3 }
  const commit = (from: number, until: number) =>
    context.duties.update('commitEpochs', { ...commitOf(context, { from, until }), head })
  await commit(9, 35)
  assert.deepEqual(await hourEpochs(context.duties, 'mainnet'), [{ from: 18, until: 35 }])
  assert.deepEqual(await missedEpochs(context.duties, 'mainnet'), [{ from: 9, until: 35 }])
  // Filled epochs stay until a new day begins.
  await write(context, { from: 0, until: 9 })
  await commit(35, 36)
  assert.deepEqual(await hourEpochs(context.duties, 'mainnet'), [
    { from: 0, until: 9 },
    { from: 18, until: 36 },
  ])
  await commit(36, 37)
  assert.deepEqual(await hourEpochs(context.duties, 'mainnet'), [{ from: 27, until: 37 }])
  assert.deepEqual(await missedEpochs(context.duties, 'mainnet'), [{ from: 18, until: 37 }])
  const daysOf = async (grain: Grain) => [
    ...new Set((await storedRows(context, 'mainnet', grain)).map(({ day }) => day)),
  ]
  assert.deepEqual(await daysOf('hours'), [3, 4])
  assert.deepEqual(await daysOf('days'), [0, 1, 2, 3, 4])
})
