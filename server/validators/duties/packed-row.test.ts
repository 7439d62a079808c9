// Packing and reading packed rows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { packCells } from './pack-row.ts'
import { addRow, RowReader } from './packed-row.ts'
import { Cells } from './row-format.ts'

type Row = readonly (number | undefined)[]

/** One list of values for each column; undefined: the cell is absent, in every column. */
function cellsOf(rows: readonly Row[], columns: number): Cells {
  const cells = new Cells(rows.length, columns)
  rows.forEach((row, cell) => {
    if (row[0] === undefined) return
    cells.isPresent[cell] = 1
    for (let column = 0; column < columns; column++) cells.add(cell, column, row[column] as number)
  })
  return cells
}

function unpack(bytes: Uint8Array, count: number, columns: number): Cells {
  const cells = new Cells(count, columns)
  addRow(new RowReader(columns), bytes, cells)
  return cells
}

const plain = ({ isPresent, columns }: Cells) => ({
  isPresent: [...isPresent],
  columns: columns.map((one) => [...one]),
})

const value = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.constant(7) },
  { weight: 3, arbitrary: fc.integer({ min: -3, max: 300 }) },
  { weight: 1, arbitrary: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }) },
  { weight: 1, arbitrary: fc.integer({ min: -(2 ** 51), max: 2 ** 51 }) },
  { weight: 1, arbitrary: fc.constant(Number.NaN) },
)
const columns = 5
const rowsOf = (count: { min: number; max: number }) =>
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.array(value, { minLength: columns, maxLength: columns }) },
      { weight: 1, arbitrary: fc.constant<Row>([undefined]) },
    ),
    { minLength: count.min, maxLength: count.max },
  )

test('unpacking gives the packed cells', () => {
  fc.assert(
    fc.property(rowsOf({ min: 1, max: 300 }), (rows) => {
      const cells = cellsOf(rows, columns)
      assert.deepEqual(plain(unpack(packCells(cells), rows.length, columns)), plain(cells))
    }),
  )
})

test('any range of cells can be read and is added to any targets', () => {
  fc.assert(
    fc.property(
      rowsOf({ min: 1, max: 80 }),
      fc.nat(79),
      fc.nat(80),
      fc.array(fc.integer({ min: -1, max: 9 }), { minLength: 80, maxLength: 80 }),
      (rows, from, length, targets) => {
        const first = from % rows.length
        const count = Math.min(length, rows.length - first)
        const reader = new RowReader(columns).open(packCells(cellsOf(rows, columns)))
        const to = Int32Array.from(targets)
        const chosen = rows.slice(first, first + count)
        assert.equal(
          reader.selectCells(first, count),
          chosen.some((row) => row[0] !== undefined),
        )
        for (let column = 0; column < columns; column++) {
          const [into, expected] = [new Float64Array(10).fill(1), new Float64Array(10).fill(1)]
          if (reader.selectCells(first, count)) reader.addColumn(column, count, into, to)
          chosen.forEach((row, cell) => {
            const target = to[cell] as number
            if (row[0] !== undefined && target >= 0)
              expected[target] = (expected[target] as number) + (row[column] as number)
          })
          assert.deepEqual([...into], [...expected])
        }
      },
    ),
  )
})

test('when packed rows are added up, a cell is present if it is in either', () => {
  const sum = new Cells(3, 2)
  const reader = new RowReader(2)
  addRow(reader, packCells(cellsOf([[1, 2], [undefined], [0, -5]], 2)), sum)
  addRow(reader, packCells(cellsOf([[undefined], [undefined], [4, 5]], 2)), sum)
  assert.deepEqual(plain(sum), {
    isPresent: [1, 0, 1],
    columns: [
      [1, 0, 4],
      [2, 0, 0],
    ],
  })
})

test('the format is pinned byte by byte', () => {
  const rows: Row[] = Array.from({ length: 20 }, (_, cell) =>
    cell === 3 ? [undefined] : [225, cell === 5 ? -70_000 : 0, cell, 1_000_000 + cell * 999, cell % 2],
  )
  assert.equal(
    Buffer.from(packCells(cellsOf(rows, 5))).toString('hex'),
    golden,
    'another layout of bytes needs a new format version, and a reader for both',
  )
  assert.deepEqual(plain(unpack(Buffer.from(golden, 'hex'), 20, 5)), plain(cellsOf(rows, 5)))
})
const golden =
  '010544a3e1131400000001f7ff0f1f00e10114000101f0a204040004000001020405060708090a0b0c0d0e0f1011121305c0843d0000e703ce079c0f83136a17511b381f1f230627ed2ad42ebb32a236893a703e57423e46254a0100525505'

test('columns that a packed row does not have are unknown, not zero', () => {
  const older = packCells(cellsOf([[1, 2], [undefined]], 2))
  const cells = unpack(older, 2, 3)
  assert.deepEqual(plain(cells).columns, [
    [1, 0],
    [2, 0],
    [Number.NaN, 0],
  ])
  assert.throws(() => new RowReader(1).open(older), { code: 'store.unavailable' })
})

test('a packed row with any damaged byte, or of a later version, is refused', () => {
  const bytes = packCells(
    cellsOf(
      [
        [1, 2],
        [3, 40_000],
      ],
      2,
    ),
  )
  for (let at = 0; at < bytes.length; at++) {
    const damaged = Uint8Array.from(bytes)
    damaged[at] = (damaged[at] as number) ^ 4
    assert.throws(() => new RowReader(2).open(damaged), { code: 'store.unavailable' }, `byte ${at}`)
  }
})

test('numbers that are not whole, or too large to be exact, are refused', () => {
  for (const odd of [0.5, 2 ** 53, Number.POSITIVE_INFINITY])
    assert.throws(() => packCells(cellsOf([[odd]], 1)), /exact whole numbers/, String(odd))
})
