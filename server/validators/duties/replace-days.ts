// Replaces the figures of one day part in days, short spans and long spans (called by replace.ts).
//
// 1. Readers add up all levels. So the figures of a changed validator are removed from the rows of all levels, and the
//    new figures are written to the row of the day, which is merged into its span later. Other validators are not
//    touched.
// 2. A damaged row of a day is replaced, because its whole part was read again. A damaged row of a span also holds
//    other parts. It stays, so that reading it fails, until the last part of the span has been read again; that part's
//    transaction deletes it.
import type { Range } from '#core/ranges.ts'
import type { StateWriter } from '#storage/state.ts'
import { executionAmounts, measures } from '../method/measures.ts'
import { isDamaged, repairCommand, storedEpochsOf } from './damage.ts'
import { dayLevels, dayPartAt, groupOf, type Level, levels, networkId, rowId } from './layout.ts'
import { packCells } from './pack-row.ts'
import { addCells, addRow, RowReader } from './packed-row.ts'
import { addValidator } from './presence.ts'
import type { Replacement } from './replace.ts'
import { Cells } from './row-format.ts'
import { type PackedRow, putRows, rowsByGroup } from './rows.ts'
import { addUnit } from './units.ts'

/** The epochs that were read again cannot replace the stored ones. Nothing was changed. */
export class RepairRefused extends Error {
  override readonly name = 'RepairRefused'
}

const groupSize = levels.days.validators
const reader = new RowReader(measures.length)
const groupCells = () => new Cells(groupSize, measures.length)
const [before, after, day] = [groupCells(), groupCells(), groupCells()]
const rowCells = new Map<Level, Cells>(
  dayLevels.map((level) => [level, new Cells(level.validators * level.partsPerRow, measures.length)]),
)
const singles = Array.from({ length: groupSize }, (_, cell) => Int32Array.of(cell))

export function isSameCell(a: Cells, b: Cells, cell: number): boolean {
  if (a.isPresent[cell] !== b.isPresent[cell]) return false
  for (let column = 0; column < a.columns.length; column++) {
    const [one, other] = [a.columns[column]?.[cell] as number, b.columns[column]?.[cell] as number]
    if (one !== other && !(Number.isNaN(one) && Number.isNaN(other))) return false
  }
  return true
}

function clearCell(cells: Cells, cell: number): void {
  cells.isPresent[cell] = 0
  for (const column of cells.columns) column[cell] = 0
}

function copyCell(from: Cells, to: Cells, cell: number): void {
  clearCell(to, cell)
  to.isPresent[cell] = from.isPresent[cell] as number
  for (let column = 0; column < from.columns.length; column++)
    to.add(cell, column, from.columns[column]?.[cell] as number)
}

/** Rows of one level that hold the part. */
interface PartRows {
  readonly level: Level
  readonly unit: number
  /** Id of the row with the first validators (group 0); add the number of a group for its row. */
  readonly firstRowId: number
  /** The index of the part among a validator's cells. */
  readonly offset: number
  readonly rows: ReadonlyMap<number, Uint8Array>
  readonly changed: PackedRow[]
  readonly deleted: number[]
}

export async function replaceDays(tx: StateWriter, replacement: Replacement, validators: Range): Promise<void> {
  const { network, part, units } = replacement
  const levelRows: PartRows[] = []
  for (const [at, level] of dayLevels.entries()) {
    const unit = Math.floor(part.number / level.partsPerRow)
    const firstRowId = rowId(level, networkId(network), unit, 0)
    const ids = {
      from: firstRowId + groupOf(level, validators.from),
      until: firstRowId + groupOf(level, validators.until),
    }
    const rows = units[at]?.includes(unit) ? await rowsByGroup(tx, level, ids) : new Map<number, Uint8Array>()
    levelRows.push({ level, unit, firstRowId, offset: part.number % level.partsPerRow, rows, changed: [], deleted: [] })
  }
  const groups = { from: groupOf(levels.days, validators.from), until: groupOf(levels.days, validators.until) }
  for (let at = groups.from; at < groups.until; at++) replaceGroup(replacement, levelRows, at)
  for (const { level, changed, deleted } of levelRows) {
    await putRows(tx, level.table, changed)
    for (const id of deleted) await tx.run(`delete from ${level.table} where id = ?`, id)
  }
  if ((levelRows[0]?.changed.length ?? 0) > 0) await addUnit(tx, networkId(network), 0, part.number)
}

function replaceGroup(replacement: Replacement, levelRows: readonly PartRows[], group: number): void {
  const staged = replacement.segments.map(({ figures }) => figures.get(group)).filter((data) => data !== undefined)
  if (staged.length === 0 && levelRows.every((partRows) => rowsOf(partRows, group).next().done)) return
  after.clear()
  for (const data of staged) addRow(reader, data, after)
  const first = group * groupSize
  for (let cell = 0; cell < groupSize; cell++)
    if (after.isPresent[cell] === 1) addValidator(replacement.presence, first + cell)
  const { damaged, isLost } = readBefore(levelRows, group)
  const differing: number[] = []
  for (let cell = 0; cell < groupSize; cell++) {
    const differs = !isSameCell(before, after, cell)
    if (!(differs || isLost[cell] === 1)) continue
    differing.push(cell)
    if (differs) replacement.changed[first + cell] = 1
    if (isLost[cell] === 0) refuseLostRewards(replacement, cell, first + cell)
  }
  for (const { partRows, row } of damaged) if (mayDelete(replacement, partRows)) deleteRow(partRows, row)
  if (differing.length === 0) return
  const [days, ...spans] = levelRows as [PartRows, ...PartRows[]]
  for (const partRows of spans) removeFromSpans(partRows, group, differing)
  day.clear()
  const known = days.rows.get(group)
  if (known && !damaged.some(({ partRows }) => partRows === days)) addRow(reader, known, day)
  for (const cell of differing) copyCell(after, day, cell)
  putRow(days, group, day)
}

/** Rows of a level that hold a group of 64 validators. `first`: the cell of the group that the row begins with. */
function* rowsOf(
  { level, rows }: PartRows,
  group: number,
): Generator<{ row: number; data: Uint8Array; first: number }> {
  const count = groupSize / level.validators
  for (let at = 0; at < count; at++) {
    const data = rows.get(group * count + at)
    if (data) yield { row: group * count + at, data, first: at * level.validators }
  }
}

/** Adds up the stored figures of the group in `before`. `isLost`: validators with a row that cannot be read. */
function readBefore(levelRows: readonly PartRows[], group: number) {
  const damaged: { partRows: PartRows; row: number }[] = []
  const isLost = new Uint8Array(groupSize)
  before.clear()
  for (const partRows of levelRows) {
    const { level, offset } = partRows
    for (const { row, data, first } of rowsOf(partRows, group)) {
      if (isDamaged(() => reader.open(data))) {
        isLost.fill(1, first, first + level.validators)
        damaged.push({ partRows, row })
        continue
      }
      for (let at = 0; at < level.validators; at++)
        addCells(reader, before, at * level.partsPerRow + offset, 1, singles[first + at] as Int32Array)
    }
  }
  return { damaged, isLost }
}

/**
 * A row of a day is replaced anyway. A row of a span is deleted with its last part, if all of its parts are replaced.
 */
function mayDelete({ network, time, part, parts, covered }: Replacement, { level, unit }: PartRows): boolean {
  if (level === levels.days) return false
  const epochs = storedEpochsOf(time, level, unit, covered)
  const spanParts = {
    from: dayPartAt(time, epochs.from as never),
    until: dayPartAt(time, (epochs.until - 1) as never) + 1,
  }
  if (spanParts.from < parts.from || spanParts.until > parts.until) throw spanIsDamaged(network, epochs)
  return part.number === spanParts.until - 1
}

export const spanIsDamaged = (network: Replacement['network'], epochs: Range): RepairRefused =>
  new RepairRefused(
    `A stored row with epochs ${epochs.from} to ${epochs.until - 1} is damaged, so all of these epochs must be read again. ` +
      `Run \`${repairCommand(network, epochs)}\`, or restore a backup`,
  )

/** Removes the part from rows of spans, for these cells of the group. */
function removeFromSpans(partRows: PartRows, group: number, differing: readonly number[]): void {
  const { level, offset } = partRows
  for (const { row, data, first } of rowsOf(partRows, group)) {
    const ownCells = differing.filter((cell) => cell >= first && cell < first + level.validators)
    if (ownCells.length === 0 || isDamaged(() => reader.open(data))) continue
    const cells = rowCells.get(level) as Cells
    cells.clear()
    addRow(reader, data, cells)
    for (const cell of ownCells) clearCell(cells, (cell - first) * level.partsPerRow + offset)
    putRow(partRows, row, cells)
  }
}

function putRow(partRows: PartRows, row: number, cells: Cells): void {
  if (cells.isPresent.includes(1)) partRows.changed.push({ id: partRows.firstRowId + row, data: packCells(cells) })
  else deleteRow(partRows, row)
}

function deleteRow(partRows: PartRows, row: number): void {
  if (partRows.rows.has(row)) partRows.deleted.push(partRows.firstRowId + row)
}

const executionColumns = executionAmounts.map((name) => measures.indexOf(name))
const executionUnknown = measures.indexOf('execution_unknown')

/** Known execution rewards must not become unknown because the execution node is no longer configured. */
function refuseLostRewards({ network }: Replacement, cell: number, validator: number): void {
  const unknown = (cells: Cells) => cells.columns[executionUnknown]?.[cell] as number
  const hasRewards = executionColumns.some((column) => before.columns[column]?.[cell] !== 0)
  if (!(hasRewards && unknown(after) > unknown(before))) return
  const setting = `validators.networks.${network}.execution`
  throw new RepairRefused(
    `Execution rewards are stored (for example of validator ${validator}), but no configured node supplies them. ` +
      `Set ${setting} as it was when these epochs were first read`,
  )
}
