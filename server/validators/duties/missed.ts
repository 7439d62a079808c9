// Missed duties: the late, wrong and missing duties of validators, one by one. The figures of a day tell how many votes were late, these tell
// which ones (decisions/store-missed-duties-one-by-one.md). They are packed by day part and 64 validators.
//
// 1. They and the coverage that speaks of them are written in the transaction of the figures they belong to.
// 2. No entry for an epoch that is covered means that nothing was wrong in it.
// 3. Those that are deleted take their coverage with them.
import type { Network } from '#api/wire/validators.ts'
import { type ChainDay, type ChainTime, chainDays, type Epochs } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { addCoverage, coverageOf, removeCoverageBefore } from '#storage/coverage.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { addCells, ChunkReader } from './chunk.ts'
import { Cells } from './chunk-format.ts'
import { type DayPart, missedLevel, networkId, partOf, partsIn, placeOf, rowId, segmentAt, unitIds } from './layout.ts'
import { packCells } from './pack-chunk.ts'
import { dataByIds, type PackedRow, putRows, removeBetween, rowsByIds } from './rows.ts'

/** Stored by their place in this list: new ones go to its end. */
export const missedKinds = ['vote', 'noBlock', 'emptyBlock', 'sync', 'slashed'] as const
export type MissedKind = (typeof missedKinds)[number]

export const wrongTarget = 1
export const wrongHead = 2

/**
 * `slot`: of the vote's duty, of the block, of the slashing; of sync signatures the first that lacks. `delay`: of the vote, 0 when no block
 * took it; `best_delay`: what the blocks that are there allowed, 0 when there is none. `wrong`: flags above, of a vote that was
 * taken. `missing`: sync signatures.
 */
export const missedFields = ['validator', 'epoch', 'kind', 'slot', 'delay', 'best_delay', 'wrong', 'missing'] as const
export type MissedField = (typeof missedFields)[number]
export type MissedDuty = Readonly<Record<MissedField, number>>
/** Sorted by validator, then epoch. */
export type MissedDutyColumns = Readonly<Record<MissedField, Int32Array>>

const stream = (network: Network): string => `missed/${network}`

/** Epochs whose missed duties are known. */
export const missedEpochs = (duties: StateReader, network: Network): Promise<Range[]> =>
  coverageOf(duties, stream(network))

const reader = new ChunkReader(missedFields.length)

/** Numbers are stored relative to their group, day part and epoch, which makes them small. */
const relative: Readonly<Partial<Record<MissedField, (row: MissedDuty, time: ChainTime, start: Start) => number>>> = {
  validator: (_row, _time, { validator }) => validator,
  epoch: (_row, _time, { epoch }) => epoch,
  slot: (row, { slotsPerEpoch }) => row.epoch * slotsPerEpoch,
}

interface Start {
  readonly validator: number
  readonly epoch: number
}

const startOf = ({ epochs }: DayPart, place: number): Start => ({
  validator: place * missedLevel.validators,
  epoch: epochs.from,
})

export async function writeMissedDuties(
  tx: StateWriter,
  network: Network,
  time: ChainTime,
  segments: readonly { readonly epochs: Epochs; readonly missed: MissedDutyColumns }[],
): Promise<void> {
  for (const { epochs } of segments) await addCoverage(tx, stream(network), epochs.from, epochs.until)
  for (const own of Map.groupBy(segments, ({ epochs }) => partOf(time, epochs.from)).values()) {
    const { part } = segmentAt(time, (own[0] as { epochs: Epochs }).epochs.from)
    const groups = Map.groupBy(
      own.flatMap(({ missed }) => missedDutiesIn(missed)),
      ({ validator }) => placeOf(missedLevel, validator),
    )
    const places = [...groups.keys()]
    const ids = places.map((place) => rowId(missedLevel, networkId(network), part.part, place))
    const before = await dataByIds(tx, missedLevel.table, ids)
    const rows = places.map((place, at): PackedRow => {
      const id = ids[at] as number
      return { id, data: pack(time, startOf(part, place), groups.get(place) ?? [], before.get(id)) }
    })
    await putRows(tx, missedLevel.table, rows)
  }
}

export function missedDutiesIn(columns: MissedDutyColumns): MissedDuty[] {
  return Array.from(columns.validator, (_, at) => {
    return Object.fromEntries(missedFields.map((field) => [field, columns[field][at] as number])) as Record<
      MissedField,
      number
    >
  })
}

/** What was there, then what is new. */
function pack(time: ChainTime, start: Start, added: readonly MissedDuty[], before: Uint8Array | undefined): Uint8Array {
  const known = before ? reader.open(before).cells : 0
  const cells = new Cells(known + added.length, missedFields.length)
  if (before)
    addCells(
      reader,
      cells,
      0,
      known,
      Int32Array.from({ length: known }, (_, at) => at),
    )
  cells.isPresent.fill(1)
  added.forEach((row, at) => {
    missedFields.forEach((field, column) => {
      cells.add(known + at, column, row[field] - (relative[field]?.(row, time, start) ?? 0))
    })
  })
  return packCells(cells)
}

function unpack(time: ChainTime, start: Start, data: Uint8Array): MissedDuty[] {
  const count = reader.open(data).cells
  const cells = new Cells(count, missedFields.length)
  addCells(
    reader,
    cells,
    0,
    count,
    Int32Array.from({ length: count }, (_, at) => at),
  )
  return Array.from({ length: count }, (_, at) => {
    const row = {} as Record<MissedField, number>
    // In order: a slot is relative to its epoch.
    missedFields.forEach((field, column) => {
      row[field] = (cells.columns[column]?.[at] as number) + (relative[field]?.(row, time, start) ?? 0)
    })
    return row
  })
}

/** The missed duties of epochs of one day part as they are stored, by group of 64 validators. */
export function packMissedDuties(
  time: ChainTime,
  part: DayPart,
  missed: readonly MissedDuty[],
): ReadonlyMap<number, Uint8Array> {
  const groups = Map.groupBy(missed, ({ validator }) => placeOf(missedLevel, validator))
  return new Map(Array.from(groups, ([place, rows]) => [place, pack(time, startOf(part, place), rows, undefined)]))
}

/** By validator, epoch, kind and slot. */
export const unpackMissedDuties = (time: ChainTime, part: DayPart, place: number, data: Uint8Array): MissedDuty[] =>
  unpack(time, startOf(part, place), data).sort(
    (a, b) => a.validator - b.validator || a.epoch - b.epoch || a.kind - b.kind || a.slot - b.slot,
  )

/** Deletes those of all chain days before this one. */
export async function dropMissedDuties(tx: StateWriter, network: Network, time: ChainTime, day: number): Promise<void> {
  const { from: until } = chainDays(time).epochsOf(day as ChainDay)
  const ids = unitIds(missedLevel, networkId(network), { from: 0, until: partOf(time, until) })
  await removeBetween(tx, missedLevel.table, ids)
  await removeCoverageBefore(tx, stream(network), until)
}

/** By epoch, kind and slot. */
export async function readMissedDuties(
  duties: StateReader,
  network: Network,
  time: ChainTime,
  validator: number,
  { from, until }: Range,
): Promise<MissedDuty[]> {
  if (from >= until) return []
  const place = placeOf(missedLevel, validator)
  const partAt = new Map(
    partsIn(time, { from, until }).map((part) => [rowId(missedLevel, networkId(network), part.part, place), part]),
  )
  return (await rowsByIds(duties, missedLevel.table, [...partAt.keys()]))
    .flatMap(({ id, data }) => unpack(time, startOf(partAt.get(id) as DayPart, place), data))
    .filter((row) => row.validator === validator && row.epoch >= from && row.epoch < until)
    .sort((a, b) => a.epoch - b.epoch || a.kind - b.kind || a.slot - b.slot)
}
