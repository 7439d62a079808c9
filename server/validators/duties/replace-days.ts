// The figures of one day part in days, short blocks and long blocks (replace.ts).
//
// 1. What is read is the sum over all levels. So a validator whose figures have changed is taken out of the rows of all levels, and its new
//    figures go to the row of the day, which is merged into its block later. All others stay where they are.
// 2. A damaged row of a day is replaced: all of its part was read again. A damaged row of a block holds other parts as well. It stays, so that
//    reading it fails, until the last part of the block has been read again, and is deleted in that part's transaction.
import type { Range } from '#core/ranges.ts'
import type { StateWriter } from '#storage/state.ts'
import { type Measure, measures } from '../ratings/measures.ts'
import { addCells, addChunk, ChunkReader } from './chunk.ts'
import { Cells } from './chunk-format.ts'
import { isDamaged, repairCommand, storedEpochsOf } from './damage.ts'
import { dayLevels, type Level, levels, networkId, partOf, placeIn, placeOf, presenceLevel, rowId } from './layout.ts'
import { packCells } from './pack-chunk.ts'
import { addMember, emptySet } from './presence.ts'
import type { Replacement } from './replace.ts'
import { type PackedRow, putRows, rowsBetween } from './rows.ts'

/** Nothing was replaced: what is stored cannot be replaced by what was read again. */
export class RepairRefused extends Error {
  override readonly name = 'RepairRefused'
}

const groupSize = levels.days.validators
const reader = new ChunkReader(measures.length)
const group = () => new Cells(groupSize, measures.length)
const [before, after, day] = [group(), group(), group()]
const rowCells = new Map<Level, Cells>(
  dayLevels.map((level) => [level, new Cells(level.validators * level.units, measures.length)]),
)
const singles = Array.from({ length: groupSize }, (_, cell) => Int32Array.of(cell))

export function isSameCell(a: Cells, b: Cells, cell: number): boolean {
  if (a.isPresent[cell] !== b.isPresent[cell]) return false
  for (let column = 0; column < a.columns.length; column++) {
    const [own, other] = [a.columns[column]?.[cell] as number, b.columns[column]?.[cell] as number]
    if (own !== other && !(Number.isNaN(own) && Number.isNaN(other))) return false
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
interface Source {
  readonly level: Level
  readonly unit: number
  /** The part's place among a validator's cells. */
  readonly offset: number
  readonly rows: ReadonlyMap<number, Uint8Array>
  readonly changed: PackedRow[]
  readonly deleted: number[]
}

export async function replaceDays(tx: StateWriter, replacement: Replacement, validators: Range): Promise<void> {
  const { network, part, units } = replacement
  const sources: Source[] = []
  for (const [at, level] of dayLevels.entries()) {
    const unit = Math.floor(part.part / level.units)
    const rows = new Map<number, Uint8Array>()
    if (units[at]?.includes(unit)) {
      const from = rowId(level, networkId(network), unit, placeOf(level, validators.from))
      const ids = { from, until: from + (validators.until - validators.from) / level.validators }
      for await (const some of rowsBetween(tx, level.table, ids))
        for (const { id, data } of some) rows.set(placeIn(level, id), data)
    }
    sources.push({ level, unit, offset: part.part % level.units, rows, changed: [], deleted: [] })
  }
  const groups = { from: placeOf(levels.days, validators.from), until: placeOf(levels.days, validators.until) }
  for (let at = groups.from; at < groups.until; at++) replaceGroup(replacement, sources, at)
  for (const { level, changed, deleted } of sources) {
    await putRows(tx, level.table, changed)
    for (const id of deleted) await tx.run(`delete from ${level.table} where id = ?`, id)
  }
  if ((sources[0]?.changed.length ?? 0) > 0)
    await tx.run(
      'insert into duty_units (network, level, unit) values (?, 0, ?) on conflict (network, level, unit) do nothing',
      networkId(network),
      part.part,
    )
}

function replaceGroup(replacement: Replacement, sources: readonly Source[], place: number): void {
  const staged = replacement.segments.map(({ figures }) => figures.get(place)).filter((data) => data !== undefined)
  if (staged.length === 0 && sources.every((source) => rowsOf(source, place).next().done)) return
  after.clear()
  for (const data of staged) addChunk(reader, data, after)
  const first = place * groupSize
  for (let cell = 0; cell < groupSize; cell++)
    if (after.isPresent[cell] === 1) markPresent(replacement.presence, first + cell)
  const { damaged, isLost } = readBefore(sources, place)
  const differing: number[] = []
  for (let cell = 0; cell < groupSize; cell++) {
    const differs = !isSameCell(before, after, cell)
    if (!(differs || isLost[cell] === 1)) continue
    differing.push(cell)
    if (differs) replacement.changed[first + cell] = 1
    if (isLost[cell] === 0) refuseLoss(replacement, cell, first + cell)
  }
  for (const { source, row } of damaged) if (mayDelete(replacement, source)) deleteRow(replacement, source, row)
  if (differing.length === 0) return
  const [days, ...blocks] = sources as [Source, ...Source[]]
  for (const source of blocks) takeOut(replacement, source, place, differing)
  day.clear()
  const known = days.rows.get(place)
  if (known && !damaged.some(({ source }) => source === days)) addChunk(reader, known, day)
  for (const cell of differing) copyCell(after, day, cell)
  putRow(replacement, days, place, day)
}

function markPresent(presence: Replacement['presence'], validator: number): void {
  const place = placeOf(presenceLevel, validator)
  const set = presence.get(place) ?? emptySet()
  presence.set(place, set)
  addMember(set, validator - place * presenceLevel.validators)
}

/** Rows of a level that a group of 64 is in, each with the first of its validators as a cell of the group. */
function* rowsOf({ level, rows }: Source, place: number): Generator<{ row: number; data: Uint8Array; first: number }> {
  const count = groupSize / level.validators
  for (let at = 0; at < count; at++) {
    const data = rows.get(place * count + at)
    if (data) yield { row: place * count + at, data, first: at * level.validators }
  }
}

/** Adds up what is stored of the group. `isLost`: validators with a row that cannot be read. */
function readBefore(sources: readonly Source[], place: number) {
  const damaged: { source: Source; row: number }[] = []
  const isLost = new Uint8Array(groupSize)
  before.clear()
  for (const source of sources) {
    const { level, offset } = source
    for (const { row, data, first } of rowsOf(source, place)) {
      if (isDamaged(() => reader.open(data))) {
        isLost.fill(1, first, first + level.validators)
        damaged.push({ source, row })
        continue
      }
      for (let at = 0; at < level.validators; at++)
        addCells(reader, before, at * level.units + offset, 1, singles[first + at] as Int32Array)
    }
  }
  return { damaged, isLost }
}

/** A day's row is replaced anyway. A block's row is deleted with the last of its parts, if all of them are replaced. */
function mayDelete({ network, time, part, parts, covered }: Replacement, { level, unit }: Source): boolean {
  if (level === levels.days) return false
  const epochs = storedEpochsOf(time, level, unit, covered)
  const own = { from: partOf(time, epochs.from as never), until: partOf(time, (epochs.until - 1) as never) + 1 }
  if (own.from < parts.from || own.until > parts.until) throw blockIsDamaged(network, epochs)
  return part.part === own.until - 1
}

export const blockIsDamaged = (network: Replacement['network'], epochs: Range): RepairRefused =>
  new RepairRefused(
    `A stored row that holds epochs ${epochs.from} to ${epochs.until - 1} is damaged, so all of them must be read again: ` +
      `run \`${repairCommand(network, epochs)}\`, or restore a backup`,
  )

/** Takes the part out of rows of blocks, for these cells of the group. */
function takeOut(replacement: Replacement, source: Source, place: number, differing: readonly number[]): void {
  const { level, offset } = source
  for (const { row, data, first } of rowsOf(source, place)) {
    const own = differing.filter((cell) => cell >= first && cell < first + level.validators)
    if (own.length === 0 || isDamaged(() => reader.open(data))) continue
    const cells = rowCells.get(level) as Cells
    cells.clear()
    addChunk(reader, data, cells)
    for (const cell of own) clearCell(cells, (cell - first) * level.units + offset)
    putRow(replacement, source, row, cells)
  }
}

const idOf = ({ network }: Replacement, { level, unit }: Source, row: number): number =>
  rowId(level, networkId(network), unit, row)

function putRow(replacement: Replacement, source: Source, row: number, cells: Cells): void {
  if (cells.isPresent.includes(1)) source.changed.push({ id: idOf(replacement, source, row), data: packCells(cells) })
  else deleteRow(replacement, source, row)
}

function deleteRow(replacement: Replacement, source: Source, row: number): void {
  if (source.rows.has(row)) source.deleted.push(idOf(replacement, source, row))
}

const ofExecution = (['missed_execution_reward', 'priority_fee', 'baseline_mev', 'external_reward'] as Measure[]).map(
  (name) => measures.indexOf(name),
)
const executionUnknown = measures.indexOf('execution_unknown')

/** Execution rewards that were known must not become unknown because no execution node is configured any more. */
function refuseLoss({ network }: Replacement, cell: number, validator: number): void {
  const unknown = (cells: Cells) => cells.columns[executionUnknown]?.[cell] as number
  const hasRewards = ofExecution.some((column) => before.columns[column]?.[cell] !== 0)
  if (!(hasRewards && unknown(after) > unknown(before))) return
  const setting = `validators.networks.${network}.execution`
  throw new RepairRefused(
    `Execution rewards are stored (of validator ${validator}, for one) that the configured nodes do not supply: set ${setting} as it was`,
  )
}
