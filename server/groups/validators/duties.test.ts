import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Epoch } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { openDesk, type TestDesk } from '#test/desk.ts'
import { everyRow } from '#test/facts-rows.ts'
import { type EpochRow, perfect, writeEpochs } from '#test/validators-world.ts'
import { coveredEpochs, writePieces } from './duties.ts'
import { type Measure, measures } from './measures.ts'

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
const rowsOf = ({ from, until }: Range, validators = [3, 7, 11]): EpochRow[] =>
  validators.flatMap((validator) =>
    Array.from({ length: until - from }, (_, at) => row(from + at, validator)).filter(
      // One comes late, so that not all have rows everywhere.
      ({ epoch }) => validator !== 11 || epoch >= 20,
    ),
  )
const write = (desk: TestDesk, range: Range) => writeEpochs(desk, 'mainnet', range, rowsOf(range))

const keys = { duty_hours: 'hour, day, utc_day', duty_days: 'day', duty_utc_days: 'utc_day' }
const everything = (desk: TestDesk): Promise<unknown> => everyRow(desk.facts)

const all: Range = { from: 0, until: 120 }

test('the columns of the store are the measures', async () => {
  await using desk = await openDesk()
  for (const [table, own] of Object.entries(keys)) {
    const columns = await desk.facts.query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_name = '${table}'`,
    )
    const expected = ['network', 'validator', ...own.split(', '), ...measures]
    assert.deepEqual(columns.map(({ name }) => name).sort(), expected.sort(), table)
  }
})

test('hours, chain days and UTC days each add up to what was written', async () => {
  await using desk = await openDesk(overrides)
  await write(desk, all)
  const rows = rowsOf(all)
  for (const table of Object.keys(keys)) {
    const [sums] = await desk.facts.query(
      `select sum(assigned) as assigned, sum(earnings) as earnings, sum(sync_penalty) as penalty from ${table}`,
    )
    assert.deepEqual(
      sums,
      {
        assigned: rows.length,
        earnings: rows.reduce((sum, { earnings }) => sum + (earnings ?? 0), 0),
        penalty: rows.reduce((sum, { sync_penalty }) => sum + (sync_penalty ?? 0), 0),
      },
      table,
    )
  }
})

test('an hour that crosses a midnight is kept as two pieces', async () => {
  await using desk = await openDesk(overrides)
  await write(desk, { from: 0, until: 9 })
  // Epoch 0 starts at 23:43:20, epoch 1 at 00:10:00.
  const pieces = await desk.facts.query(
    'select hour, day, utc_day, assigned from duty_hours where validator = 3 order by hour, utc_day',
  )
  assert.deepEqual(pieces, [
    { hour: 0, day: 0, utc_day: 0, assigned: 1 },
    { hour: 0, day: 0, utc_day: 1, assigned: 2 },
    { hour: 1, day: 0, utc_day: 1, assigned: 3 },
    { hour: 2, day: 0, utc_day: 1, assigned: 3 },
  ])
})

describe('every epoch is counted once, decision 0036', () => {
  test('writing the same batch again changes nothing', async () => {
    await using desk = await openDesk(overrides)
    assert.deepEqual(await write(desk, { from: 4, until: 40 }), [{ from: 4, until: 40 }])
    const before = await everything(desk)
    assert.deepEqual(await write(desk, { from: 4, until: 40 }), [])
    assert.deepEqual(await everything(desk), before)
  })

  test('however the epochs are cut, ordered and repeated, the rows are those of one batch', async () => {
    await using whole = await openDesk(overrides)
    await write(whole, all)
    const expected = await everything(whole)
    const range = fc.tuple(fc.nat({ max: all.until - 1 }), fc.integer({ min: 1, max: 40 }))
    const batches = fc.array(
      range.map(([from, length]) => ({ from, until: Math.min(from + length, all.until) })),
      { maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(batches, async (some) => {
        await using desk = await openDesk(overrides)
        for (const batch of some) await write(desk, batch)
        await write(desk, all)
        assert.deepEqual(await everything(desk), expected)
      }),
      { numRuns: 12 },
    )
  })

  test('networks do not touch each other', async () => {
    await using desk = await openDesk(overrides)
    const ofMainnet = async () =>
      (await everyRow(desk.facts)).duty_hours?.filter(({ network }) => network === 'mainnet')
    await write(desk, { from: 0, until: 5 })
    const before = await ofMainnet()
    await writeEpochs(desk, 'hoodi', { from: 2, until: 7 }, rowsOf({ from: 2, until: 7 }))
    assert.deepEqual(await ofMainnet(), before)
    // Pieces of epochs 0–4: one before midnight, the rest of hour 0, hour 1; two validators.
    assert.equal(before?.length, 6)
    assert.deepEqual(await coveredEpochs(desk.facts, 'mainnet'), [{ from: 0, until: 5 }])
    assert.deepEqual(await coveredEpochs(desk.facts, 'hoodi'), [{ from: 2, until: 7 }])
  })
})

describe('a batch that cannot be right leaves nothing behind', () => {
  const wrong: [string, EpochRow[], RegExp][] = [
    ['a fraction', [{ ...row(3, 3), earnings: 0.5 }], /earnings: 0\.5 is not an exact whole number/],
    ['a validator twice in an epoch', [row(3, 3), row(3, 3)], /validator 3 comes twice in epoch 3/],
    ['an epoch outside', [row(30, 3)], /epoch 30 lies outside its batch/],
    // Refused by the store: a count must fit its column.
    ['more than a column holds', [{ ...row(3, 3), assigned: 2 ** 40 }], /./],
  ]
  for (const [name, rows, words] of wrong) {
    test(name, async () => {
      await using desk = await openDesk(overrides)
      await write(desk, { from: 9, until: 12 })
      const before = await everything(desk)
      await assert.rejects(writeEpochs(desk, 'mainnet', { from: 0, until: 9 }, rows), words)
      assert.deepEqual(await everything(desk), before)
    })
  }
})

test('epoch by epoch, or in pieces that were added up before, gives the rows of one batch, across midnights', async () => {
  await using whole = await openDesk(overrides)
  await using single = await openDesk(overrides)
  await using piecewise = await openDesk(overrides)
  const range: Range = { from: 0, until: 60 }
  await write(whole, range)
  for (let epoch = range.from; epoch < range.until; epoch++) await write(single, { from: epoch, until: epoch + 1 })
  const time = piecewise.settings.validators.networks.mainnet
  // Epoch 0 ends the first day; the next midnight lies between epochs 54 and 55.
  const pieces = [
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 5],
    [5, 6],
    [6, 9],
    [9, 12],
  ].map(([from = 0, until = 0]) => {
    return {
      network: 'mainnet',
      time,
      epochs: { from: from as Epoch, until: until as Epoch },
      ...added(from, until),
    } as const
  })
  for (const piece of pieces) await writePieces(piecewise.facts, [piece])
  await using grouped = await openDesk(overrides)
  for (const [from, until] of [
    [0, 2],
    [2, 4],
    [4, 7],
  ])
    await writePieces(grouped.facts, pieces.slice(from, until))
  assert.deepEqual(await everything(single), await everything(whole))
  await using twelve = await openDesk(overrides)
  await write(twelve, { from: 0, until: 12 })
  assert.deepEqual(await everything(piecewise), await everything(twelve))
  assert.deepEqual(await everything(grouped), await everything(twelve))
  await using halved = await openDesk(overrides)
  await assert.rejects(writePieces(halved.facts, pieces.slice(0, 3)), /two parts of one piece/)
})

function added(from: number, until: number): { validator: Int32Array; sums: Record<Measure, Float64Array> } {
  const validators = [3, 7]
  const rows = rowsOf({ from, until }, validators)
  const sum = (validator: number, name: Measure) =>
    rows.filter((one) => one.validator === validator).reduce((all, one) => all + (one[name] ?? 0), 0)
  return {
    validator: Int32Array.from(validators),
    sums: Object.fromEntries(
      measures.map((name) => [name, Float64Array.from(validators, (validator) => sum(validator, name))]),
    ) as Record<Measure, Float64Array>,
  }
}

test('a piece of which something has been written is refused as a whole', async () => {
  await using desk = await openDesk(overrides)
  await write(desk, { from: 3, until: 4 })
  const before = await everything(desk)
  const time = desk.settings.validators.networks.mainnet
  const batch = { network: 'mainnet', time, epochs: { from: 3 as Epoch, until: 5 as Epoch }, ...added(3, 5) } as const
  await assert.rejects(writePieces(desk.facts, [batch]), /written already/)
  assert.deepEqual(await everything(desk), before)
})
