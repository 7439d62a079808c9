// Day parts, hour parts, row ids and stored columns.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import fc from 'fast-check'
import { networks } from '#api/contract/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch, hourOf, utcDays } from '#core/chain-time.ts'
import { measures } from '../method/measures.ts'
import {
  columnsFor,
  dayPartAt,
  groupIn,
  groupOf,
  levels,
  missedLevel,
  networkId,
  partsIn,
  presenceLevel,
  rowId,
  segmentAt,
  toMeasures,
  toStored,
  unitIds,
  validatorsMax,
} from './layout.ts'
import { Cells } from './row-format.ts'

// ------------------------------------------------------------------------------------------------------------------- time

const midnight = 1_700_006_400 // 2023-11-15T00:00:00Z

/** Genesis at midnight, noon or any second; hours that do not divide days; days from minutes to several UTC days. */
const clocks = fc.record({
  genesisUnix: fc.oneof(
    fc.constant(midnight),
    fc.constant(midnight + 43_200),
    fc.integer({ min: midnight, max: midnight + 86_399 }),
  ),
  slotSeconds: fc.constantFrom(1, 5, 12, 200),
  slotsPerEpoch: fc.constantFrom(4, 8, 32),
  epochsPerHour: fc.integer({ min: 1, max: 12 }),
  epochsPerDay: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(225, 500)),
})
const known: readonly ChainTime[] = [
  // Mainnet: genesis at noon.
  { genesisUnix: 1_606_824_023, slotSeconds: 12, slotsPerEpoch: 32, epochsPerHour: 9, epochsPerDay: 225 },
  { genesisUnix: midnight, slotSeconds: 12, slotsPerEpoch: 32, epochsPerHour: 9, epochsPerDay: 225 },
  { genesisUnix: midnight - 1, slotSeconds: 200, slotsPerEpoch: 8, epochsPerHour: 2, epochsPerDay: 7 },
  // An epoch of six hours: as many epochs in an hour as in a day, and days longer than those of UTC.
  { genesisUnix: midnight + 1, slotSeconds: 675, slotsPerEpoch: 32, epochsPerHour: 5, epochsPerDay: 5 },
]
const forClocks = (check: (time: ChainTime, from: number) => void): void => {
  for (const time of known) for (const from of [0, 1, 223, 5000]) check(time, from)
  fc.assert(fc.property(clocks, fc.nat(3000), check), { numRuns: 150 })
}
const epochsMax = 600

test('every epoch is in one day part, with its chain day and UTC day, and numbers ascend', () => {
  forClocks((time, from) => {
    const until = from + epochsMax
    const parts = partsIn(time, { from, until })
    const [chain, utc] = [chainDays(time), utcDays(time)]
    let next = parts[0]?.epochs.from as number
    let number = -1
    assert(next <= from)
    for (const { number: part, epochs, chainDay: day, utcDay, hours } of parts) {
      assert.equal(epochs.from, next, 'no gap and no overlap')
      assert(part > number, 'numbers ascend')
      for (let epoch = epochs.from; epoch < epochs.until; epoch++) {
        assert.deepEqual([chain.dayOf(epoch), utc.dayOf(epoch), dayPartAt(time, epoch)], [day, utcDay, part])
        assert(hourOf(time, epoch) >= hours.from && hourOf(time, epoch) < hours.until)
      }
      assert.equal(hourOf(time, epochs.from), hours.from)
      assert.equal(hourOf(time, (epochs.until - 1) as Epoch), hours.until - 1)
      next = epochs.until
      number = part
    }
    assert(next >= until)
    // The adjacent day parts are not in the result.
    assert((parts[0]?.epochs.until as number) > from && (parts.at(-1)?.epochs.from as number) < until)
    assert.deepEqual(partsIn(time, { from, until: from }), [])
  })
})

test('every epoch is in one hour part, within one hour and one day part, and numbers ascend', () => {
  forClocks((time, from) => {
    let number = -1
    for (let epoch = segmentAt(time, from as Epoch).epochs.from; epoch < from + epochsMax; ) {
      const { hourPart, part, epochs } = segmentAt(time, epoch)
      assert.equal(epochs.from, epoch, 'no gap and no overlap')
      assert(hourPart > number, 'numbers ascend')
      for (let one = epochs.from; one < epochs.until; one++) {
        assert.equal(segmentAt(time, one).hourPart, hourPart)
        assert.deepEqual([hourOf(time, one), dayPartAt(time, one)], [hourOf(time, epoch), part.number])
      }
      assert.equal(hourPart, hourOf(time, epoch) + part.number)
      number = hourPart
      epoch = epochs.until
    }
  })
})

// -------------------------------------------------------------------------------------------------------------------- ids

test('ids are exact, unique and in the order of network, unit and group', () => {
  const all = [...Object.values(levels), missedLevel, presenceLevel]
  assert.equal(new Set(all.map(({ table }) => table)).size, all.length)
  for (const level of all) {
    const units = 2 ** 42 / level.groupsMax
    const keys = networks.flatMap((network) =>
      [0, 1, 2, 4000, units - 1].flatMap((unit) =>
        [0, 1, 63, 64, level.groupsMax - 1].map((group) => [networkId(network), unit, group] as const),
      ),
    )
    const ids = keys.map(([network, unit, group]) => rowId(level, network, unit, group))
    assert(ids.every(Number.isSafeInteger), level.table)
    // The keys are in order.
    assert(
      ids.every((id, at) => at === 0 || id > (ids[at - 1] as number)),
      level.table,
    )
    for (const [at, [, , group]] of keys.entries()) assert.equal(groupIn(level, ids[at] as number), group)
    assert.throws(() => rowId(level, 1, units, 0), /do not fit into an id/)
    assert.throws(() => rowId(level, 1, 0, level.groupsMax), /do not fit into an id/)
    const { from, until } = unitIds(level, 2, { from: 3, until: 5 })
    assert.deepEqual(
      [rowId(level, 2, 2, level.groupsMax - 1), rowId(level, 2, 3, 0), rowId(level, 2, 4, level.groupsMax - 1)].map(
        (id) => id >= from && id < until,
      ),
      [false, true, true],
    )
    assert.equal(until, rowId(level, 2, 5, 0))
    assert(groupOf(level, validatorsMax - 1) < level.groupsMax, `${level.table} has room for every validator`)
  }
})

// ---------------------------------------------------------------------------------------------------------------- columns

type Values = readonly (readonly number[])[]
const cellsMax = 5
const values: fc.Arbitrary<Values> = fc.array(
  fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 3, arbitrary: fc.integer({ min: -1000, max: 1000 }) },
      { weight: 1, arbitrary: fc.integer({ min: -(2 ** 45), max: 2 ** 45 }) },
    ),
    { minLength: measures.length, maxLength: measures.length },
  ),
  { minLength: cellsMax, maxLength: cellsMax },
)

function cellsOf(rows: Values): Cells {
  const cells = new Cells(cellsMax, measures.length)
  rows.forEach((row, cell) => {
    cells.isPresent[cell] = 1
    row.forEach((value, column) => {
      cells.add(cell, column, value)
    })
  })
  return cells
}
const plain = (columns: readonly Float64Array[]) => columns.map((column) => Array.from(column, (value) => value + 0))

test('measures can be restored from stored columns', () => {
  fc.assert(
    fc.property(values, (rows) => {
      const cells = cellsOf(rows)
      const before = plain(cells.columns)
      toStored(cells)
      // A column that is marked as unused is not written.
      for (const [at, column] of cells.columns.entries())
        assert(cells.isUsed[at] === 1 || column.every((value) => value === 0))
      toMeasures(cells.columns, [...measures.keys()])
      assert.deepEqual(plain(cells.columns), before)
    }),
  )
})

test('adding stored columns adds the measures', () => {
  fc.assert(
    fc.property(values, values, (some, others) => {
      const [one, other] = [cellsOf(some), cellsOf(others)]
      const sum = cellsOf(some.map((row, cell) => row.map((value, at) => value + (others[cell]?.[at] as number))))
      const expected = plain(sum.columns)
      toStored(one)
      toStored(other)
      one.columns.forEach((column, at) => {
        for (let cell = 0; cell < cellsMax; cell++)
          column[cell] = (column[cell] as number) + (other.columns[at]?.[cell] as number)
      })
      toMeasures(one.columns, [...measures.keys()])
      assert.deepEqual(plain(one.columns), expected)
    }),
  )
})

test('a perfect day leaves few columns to store', () => {
  const cells = new Cells(2, measures.length)
  const day = {
    assigned: 225,
    inclusions: 225,
    included: 225,
    inclusion_delay: 225,
    correct_source: 225,
    correct_target: 225,
    correct_head: 225,
    attestation_reward: 2_000_000,
    earnings: 2_000_000,
  }
  for (const [name, value] of Object.entries(day))
    for (const cell of [0, 1]) cells.add(cell, measures.indexOf(name as keyof typeof day), value)
  toStored(cells)
  const used = measures.filter((_, column) => cells.columns[column]?.some((value) => value !== 0))
  assert.deepEqual(used, ['assigned', 'attestation_reward'])
})

test('any measures can be read from the columns they need', () => {
  fc.assert(
    fc.property(values, fc.subarray([...measures]), (rows, wanted) => {
      const cells = cellsOf(rows)
      const before = plain(cells.columns)
      toStored(cells)
      const needed = columnsFor(wanted)
      const columns = cells.columns.map((column, at) => (needed.has(at) ? column : undefined))
      toMeasures(columns, [...needed])
      for (const name of wanted) {
        const at = measures.indexOf(name)
        assert.deepEqual(
          [...(columns[at] ?? [])].map((value) => value + 0),
          before[at],
          name,
        )
      }
    }),
  )
})
