// Writes figures of epochs, inside the caller's transaction.
//
// 1. Each epoch of a validator is counted once: the caller passes epochs that are not covered, and covers them in the
//    same transaction. For validators that are added to covered epochs, the watch ranges do the same (commit-past.ts).
// 2. A segment has the sums of epochs of one hour part, by validator. They are added to the rows of the hour part and
//    of the day part.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/contract/wire/validators.ts'
import type { ChainTime, Epochs } from '#core/chain-time.ts'
import { type Range, within } from '#core/ranges.ts'
import type { StateWriter } from '#storage/state.ts'
import { type Measure, measures } from '../method/measures.ts'
import {
  type DayPart,
  groupOf,
  type Level,
  levels,
  networkId,
  presenceLevel,
  rowId,
  segmentAt,
  toStored,
} from './layout.ts'
import { packCells } from './pack-row.ts'
import { addRow, RowReader } from './packed-row.ts'
import { addSet, addValidator, packSet, unpackSet } from './presence.ts'
import { Cells } from './row-format.ts'
import { dataByIds, type PackedRow, putRows } from './rows.ts'
import { addUnit } from './units.ts'

/** One column per measure. Counts may be Int32: with a million validators that saves a sixth of the memory. */
export type SumColumns = Readonly<Record<Measure, Float64Array | Int32Array>>

/** Sums of the segment's epochs: one entry per validator, in ascending order. */
export interface Segment {
  readonly epochs: Epochs
  readonly validator: Int32Array
  readonly sums: SumColumns
}

/** Rows per batch of reads and writes. */
const rowsAtOnce = 256

/**
 * `covered`: epochs that were covered before. If none of a unit's epochs was, its rows are new and need not be read.
 * `withHours`: false if the hours of these epochs have been deleted.
 */
export async function writeSegments(
  tx: StateWriter,
  network: Network,
  time: ChainTime,
  segments: readonly Segment[],
  covered: readonly Range[],
  { withHours = true } = {},
): Promise<void> {
  const placed = segments.map((segment) => {
    const { hourPart, part, epochs } = segmentAt(time, segment.epochs.from)
    assert(segment.epochs.until <= epochs.until, 'the epochs of a segment are not in one hour part')
    return { segment: new SegmentRows(segment), hourPart, part, hourPartEpochs: epochs }
  })
  for (const [hourPart, ownSegments] of Map.groupBy(withHours ? placed : [], (entry) => entry.hourPart)) {
    const isNew = within(covered, ownSegments[0]?.hourPartEpochs as Epochs).length === 0
    const rows = ownSegments.map(({ segment }) => segment)
    await addToUnit(tx, levels.hours, network, hourPart, rows, isNew)
  }
  for (const [, ownSegments] of Map.groupBy(placed, ({ part }) => part.number)) {
    const { part } = ownSegments[0] as { part: DayPart }
    const isNew = within(covered, part.epochs).length === 0
    const rows = ownSegments.map(({ segment }) => segment)
    await addToUnit(tx, levels.days, network, part.number, rows, isNew)
    await addUnit(tx, networkId(network), 0, part.number)
    await addPresence(tx, network, part.number, rows, isNew)
  }
}

/** Divides a segment into rows of 64 validators. */
export class SegmentRows {
  readonly segment: Pick<Segment, 'validator' | 'sums'>
  /** Groups of 64 validators that have figures, and the index of the first validator of each. */
  readonly groups: readonly number[]
  readonly #starts = new Map<number, number>()

  constructor(segment: Pick<Segment, 'validator' | 'sums'>) {
    this.segment = segment
    const { validator } = segment
    const groups: number[] = []
    for (let at = 0; at < validator.length; at++) {
      const group = groupOf(levels.days, validator[at] as number)
      if (groups.at(-1) === group) continue
      groups.push(group)
      this.#starts.set(group, at)
    }
    this.groups = groups
  }

  addTo(cells: Cells, group: number): void {
    const start = this.#starts.get(group)
    if (start === undefined) return
    const { validator, sums } = this.segment
    const first = group * levels.days.validators
    const end = first + levels.days.validators
    let until = start
    for (; until < validator.length && (validator[until] as number) < end; until++)
      cells.isPresent[(validator[until] as number) - first] = 1
    for (let column = 0; column < measures.length; column++) {
      const values = sums[measures[column] as Measure]
      for (let at = start; at < until; at++) {
        const value = values[at] as number
        if (value !== 0) cells.add((validator[at] as number) - first, column, value)
      }
    }
  }
}

const cells = new Cells(levels.days.validators, measures.length)
const reader = new RowReader(measures.length)

async function addToUnit(
  tx: StateWriter,
  level: Level,
  network: Network,
  unit: number,
  segments: readonly SegmentRows[],
  isNew: boolean,
): Promise<void> {
  const groups = unionOf(segments.map((segment) => segment.groups))
  for (let at = 0; at < groups.length; at += rowsAtOnce) {
    const batch = groups.slice(at, at + rowsAtOnce)
    const ids = batch.map((group) => rowId(level, networkId(network), unit, group))
    const stored = isNew ? undefined : await dataByIds(tx, level.table, ids)
    const rows = batch.map((group, row): PackedRow => {
      const id = ids[row] as number
      cells.clear()
      for (const segment of segments) segment.addTo(cells, group)
      toStored(cells)
      const before = stored?.get(id)
      if (before) addRow(reader, before, cells)
      return { id, data: packCells(cells) }
    })
    await putRows(tx, level.table, rows)
  }
}

const unionOf = (lists: readonly (readonly number[])[]): readonly number[] =>
  lists.length === 1 ? (lists[0] as readonly number[]) : [...new Set(lists.flat())].sort((a, b) => a - b)

async function addPresence(
  tx: StateWriter,
  network: Network,
  part: number,
  segments: readonly SegmentRows[],
  isNew: boolean,
): Promise<void> {
  const sets = new Map<number, Uint8Array>()
  for (const { segment } of segments) for (const validator of segment.validator) addValidator(sets, validator)
  const ids = Array.from(sets.keys(), (group) => rowId(presenceLevel, networkId(network), part, group))
  const stored = isNew ? undefined : await dataByIds(tx, presenceLevel.table, ids)
  const rows = Array.from(sets.values(), (set, at): PackedRow => {
    const id = ids[at] as number
    const before = stored?.get(id)
    if (before) addSet(set, unpackSet(before))
    return { id, data: packSet(set) }
  })
  await putRows(tx, presenceLevel.table, rows)
}
