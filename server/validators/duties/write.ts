// Writes figures of epochs, inside the caller's transaction.
//
// 1. Each epoch is counted once: the caller brings epochs that are not covered, and covers them in the same transaction.
// 2. A segment is epochs of one hour piece, added up for each validator. It is added to the row of its hour piece and to that of its day part.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/wire/validators.ts'
import type { ChainTime, Epochs } from '#core/chain-time.ts'
import { type Range, within } from '#core/ranges.ts'
import type { StateWriter } from '#storage/state.ts'
import { type Measure, measures } from '../ratings/measures.ts'
import { addChunk, ChunkReader } from './chunk.ts'
import { Cells } from './chunk-format.ts'
import {
  type DayPart,
  type Level,
  levels,
  networkId,
  placeOf,
  presenceLevel,
  rowId,
  segmentAt,
  toStored,
} from './layout.ts'
import { packCells } from './pack-chunk.ts'
import { addMember, addSet, emptySet, packSet, unpackSet } from './presence.ts'
import { dataByIds, type PackedRow, putRows } from './rows.ts'

/** One column per measure. Counts may be narrow: with a million validators that is a sixth of the memory. */
export type SumColumns = Readonly<Record<Measure, Float64Array | Int32Array>>

/** Sums of the segment's epochs: one entry per validator, in rising order. */
export interface Segment {
  readonly epochs: Epochs
  readonly validator: Int32Array
  readonly sums: SumColumns
}

/** Rows that are read, changed and written at a time. */
const rowsAtOnce = 256

/** `covered`: what was covered before. Where nothing of a row's epochs was, there is no row to add to. */
export async function writeSegments(
  tx: StateWriter,
  network: Network,
  time: ChainTime,
  segments: readonly Segment[],
  covered: readonly Range[],
): Promise<void> {
  const placed = segments.map((segment) => {
    const { piece: hourUnit, part, epochs } = segmentAt(time, segment.epochs.from)
    assert(segment.epochs.until <= epochs.until, 'the epochs of a segment lie in one hour piece')
    return { segment: new SegmentRows(segment), piece: hourUnit, part, pieceEpochs: epochs }
  })
  for (const [hourUnit, own] of Map.groupBy(placed, (one) => one.piece)) {
    const isNew = within(covered, own[0]?.pieceEpochs as Epochs).length === 0
    await addToUnit(
      tx,
      levels.hours,
      network,
      hourUnit,
      own.map(({ segment }) => segment),
      isNew,
    )
  }
  for (const [, own] of Map.groupBy(placed, ({ part }) => part.part)) {
    const { part } = own[0] as { part: DayPart }
    const isNew = within(covered, part.epochs).length === 0
    const rows = own.map(({ segment }) => segment)
    await addToUnit(tx, levels.days, network, part.part, rows, isNew)
    await tx.run(
      'insert into duty_units (network, level, unit) values (?, 0, ?) on conflict (network, level, unit) do nothing',
      networkId(network),
      part.part,
    )
    await addPresence(tx, network, part.part, rows, isNew)
  }
}

/** A segment by rows of 64 validators. */
export class SegmentRows {
  readonly segment: Segment
  /** Groups of 64 that it has validators of, and where each begins among them. */
  readonly places: readonly number[]
  readonly #starts = new Map<number, number>()

  constructor(segment: Segment) {
    this.segment = segment
    const { validator } = segment
    const places: number[] = []
    for (let at = 0; at < validator.length; at++) {
      const place = placeOf(levels.days, validator[at] as number)
      if (places.at(-1) === place) continue
      places.push(place)
      this.#starts.set(place, at)
    }
    this.places = places
  }

  addTo(cells: Cells, place: number): void {
    const start = this.#starts.get(place)
    if (start === undefined) return
    const { validator, sums } = this.segment
    const first = place * levels.days.validators
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
const reader = new ChunkReader(measures.length)

async function addToUnit(
  tx: StateWriter,
  level: Level,
  network: Network,
  unit: number,
  segments: readonly SegmentRows[],
  isNew: boolean,
): Promise<void> {
  const places = unionOf(segments.map((one) => one.places))
  for (let at = 0; at < places.length; at += rowsAtOnce) {
    const some = places.slice(at, at + rowsAtOnce)
    const ids = some.map((place) => rowId(level, networkId(network), unit, place))
    const present = isNew ? undefined : await dataByIds(tx, level.table, ids)
    const rows = some.map((place, row): PackedRow => {
      const id = ids[row] as number
      cells.clear()
      for (const segment of segments) segment.addTo(cells, place)
      toStored(cells)
      const before = present?.get(id)
      if (before) addChunk(reader, before, cells)
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
  for (const { segment } of segments) {
    for (const validator of segment.validator) {
      const place = placeOf(presenceLevel, validator)
      let set = sets.get(place)
      if (!set) {
        set = emptySet()
        sets.set(place, set)
      }
      addMember(set, validator - place * presenceLevel.validators)
    }
  }
  const ids = Array.from(sets.keys(), (place) => rowId(presenceLevel, networkId(network), part, place))
  const present = isNew ? undefined : await dataByIds(tx, presenceLevel.table, ids)
  const rows = Array.from(sets.values(), (set, at): PackedRow => {
    const id = ids[at] as number
    const before = present?.get(id)
    if (before) addSet(set, unpackSet(before))
    return { id, data: packSet(set) }
  })
  await putRows(tx, presenceLevel.table, rows)
}
