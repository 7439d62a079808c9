// Missed duties: the late, wrong and missing duties of validators, one by one, and since Gloas all proposals. The daily
// figures have the number of late votes; these rows have which ones (decisions/store-missed-duties-one-by-one.md). A row
// holds a day part of 64 validators.
//
// 1. They and their coverage are written in the transaction of the figures they belong to.
// 2. A covered epoch without an entry had no missed duty.
// 3. Old entries are deleted together with their coverage.

import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainDay, type ChainTime, chainDays, type Epochs, firstSlotOf } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { recordFrom } from '#core/record-from.ts'
import { addCoverage, coverageOf, removeCoverageBefore } from '#storage/coverage.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import {
  type DayPart,
  dayPartAt,
  groupIn,
  groupOf,
  groupsOf,
  missedLevel,
  networkId,
  partsIn,
  rowId,
  segmentAt,
  unitIds,
} from './layout.ts'
import { packCells } from './pack-row.ts'
import { addCells, identity, RowReader } from './packed-row.ts'
import { Cells } from './row-format.ts'
import { dataByIds, type PackedRow, putRows, removeBetween } from './rows.ts'

/**
 * Stored as their index in this list: append new ones. Since Gloas: `proposal` is a proposed block, whether or not
 * anything is missing; `payloadVote` is a duty in a payload committee whose vote is not on the chain, or contradicts it.
 */
export const missedKinds = ['vote', 'noBlock', 'emptyBlock', 'sync', 'slashed', 'proposal', 'payloadVote'] as const
export type MissedKind = (typeof missedKinds)[number]

export const wrongTarget = 1
export const wrongHead = 2

/**
 * What is known about a payload. `full` and `empty`: whether it became part of the chain. `paid` and `unpaid`: whether
 * its builder pays the proposer. `seen` and `blobsSeen`: what a member of the payload committee reported.
 */
export const payloadFlags = { full: 1, empty: 2, paid: 4, unpaid: 8, seen: 16, blobsSeen: 32 } as const

/**
 * `slot`: of the vote's duty, the block or the slashing; of sync signatures the first missing one. `delay`: of the
 * vote; 0: no block included it. `best_delay`: the shortest delay that existing blocks allowed; 0: none. `wrong`: the
 * flags above, of an included vote. `missing`: the number of missing sync signatures. `payload`: payload flags, of a
 * proposal or a vote about it. `builder`: of a proposal, its index + 1; 0: built by the proposer. `ether` and `gwei`: the
 * value of its bid.
 */
export const missedFields = [
  ...(['validator', 'epoch', 'kind', 'slot', 'delay', 'best_delay', 'wrong', 'missing'] as const),
  ...(['payload', 'builder', 'ether', 'gwei'] as const),
] as const
export type MissedField = (typeof missedFields)[number]
export type MissedDuty = Readonly<Record<MissedField, number>>
/** Sorted by validator, then epoch. */
export type MissedDutyColumns = Readonly<Record<MissedField, Int32Array>>

/** For the fields that do not apply. */
export const emptyMissedDuty: MissedDuty = recordFrom(missedFields, () => 0)

/** Whether a builder did not deliver the payload of a proposal. */
export const isWithheld = ({ kind, payload, builder }: MissedDuty): boolean =>
  missedKinds[kind] === 'proposal' && builder > 0 && (payload & payloadFlags.empty) !== 0

const stream = (network: Network): string => `missed/${network}`

/** Epochs whose missed duties are known. */
export const missedEpochs = (duties: StateReader, network: Network): Promise<Range[]> =>
  coverageOf(duties, stream(network))

const reader = new RowReader(missedFields.length)

/** Numbers are stored relative to the group, day part or epoch, so that they are small. */
const relative: Readonly<Partial<Record<MissedField, (row: MissedDuty, time: ChainTime, start: Start) => number>>> = {
  validator: (_row, _time, { validator }) => validator,
  epoch: (_row, _time, { epoch }) => epoch,
  slot: (row, time) => firstSlotOf(time, row.epoch),
}

interface Start {
  readonly validator: number
  readonly epoch: number
}

const startOf = ({ epochs }: DayPart, group: number): Start => ({
  validator: group * missedLevel.validators,
  epoch: epochs.from,
})

export async function writeMissedDuties(
  tx: StateWriter,
  network: Network,
  time: ChainTime,
  segments: readonly { readonly epochs: Epochs; readonly missed: MissedDutyColumns }[],
): Promise<void> {
  for (const { epochs } of segments) await addCoverage(tx, stream(network), epochs.from, epochs.until)
  for (const partSegments of Map.groupBy(segments, ({ epochs }) => dayPartAt(time, epochs.from)).values()) {
    const { part } = segmentAt(time, (partSegments[0] as { epochs: Epochs }).epochs.from)
    const groups = Map.groupBy(
      partSegments.flatMap(({ missed }) => missedDutiesIn(missed)),
      ({ validator }) => groupOf(missedLevel, validator),
    )
    const groupNumbers = [...groups.keys()]
    const ids = groupNumbers.map((group) => rowId(missedLevel, networkId(network), part.number, group))
    const before = await dataByIds(tx, missedLevel.table, ids)
    const rows = groupNumbers.map((group, at): PackedRow => {
      const id = ids[at] as number
      return { id, data: pack(time, startOf(part, group), groups.get(group) ?? [], before.get(id)) }
    })
    await putRows(tx, missedLevel.table, rows)
  }
}

/** The rows of a range; default: all of them. */
export function missedDutiesIn(
  columns: MissedDutyColumns,
  { from, until }: Range = { from: 0, until: columns.validator.length },
): MissedDuty[] {
  return Array.from({ length: until - from }, (_, row) =>
    recordFrom(missedFields, (field) => columns[field][from + row] as number),
  )
}

/** Appends the new entries to those of the row. */
function pack(time: ChainTime, start: Start, added: readonly MissedDuty[], before: Uint8Array | undefined): Uint8Array {
  const storedCount = before ? reader.open(before).cells : 0
  const cells = new Cells(storedCount + added.length, missedFields.length)
  if (before) addCells(reader, cells, 0, storedCount, identity(storedCount))
  cells.isPresent.fill(1)
  added.forEach((row, at) => {
    missedFields.forEach((field, column) => {
      cells.add(storedCount + at, column, row[field] - (relative[field]?.(row, time, start) ?? 0))
    })
  })
  return packCells(cells)
}

function unpack(time: ChainTime, start: Start, data: Uint8Array): MissedDuty[] {
  const count = reader.open(data).cells
  const cells = new Cells(count, missedFields.length)
  addCells(reader, cells, 0, count, identity(count))
  return Array.from({ length: count }, (_, at) => {
    const row = {} as Record<MissedField, number>
    // The order matters: a slot is relative to its epoch.
    missedFields.forEach((field, column) => {
      row[field] = (cells.columns[column]?.[at] as number) + (relative[field]?.(row, time, start) ?? 0)
    })
    return row
  })
}

/** Packed rows of one day part, by group of 64 validators. */
export function packMissedDuties(
  time: ChainTime,
  part: DayPart,
  missed: readonly MissedDuty[],
): ReadonlyMap<number, Uint8Array> {
  const groups = Map.groupBy(missed, ({ validator }) => groupOf(missedLevel, validator))
  return new Map(Array.from(groups, ([group, rows]) => [group, pack(time, startOf(part, group), rows, undefined)]))
}

const byValidatorAndTime = (a: MissedDuty, b: MissedDuty): number =>
  a.validator - b.validator || a.epoch - b.epoch || a.kind - b.kind || a.slot - b.slot

/** Sorted by validator, epoch, kind and slot. */
export const unpackMissedDuties = (time: ChainTime, part: DayPart, group: number, data: Uint8Array): MissedDuty[] =>
  unpack(time, startOf(part, group), data).sort(byValidatorAndTime)

/** Deletes the missed duties of all chain days before this one. */
export async function dropMissedDuties(tx: StateWriter, network: Network, time: ChainTime, day: number): Promise<void> {
  const { from: until } = chainDays(time).epochsOf(day as ChainDay)
  const ids = unitIds(missedLevel, networkId(network), { from: 0, until: dayPartAt(time, until) })
  await removeBetween(tx, missedLevel.table, ids)
  await removeCoverageBefore(tx, stream(network), until)
}

export interface MissedInput {
  readonly network: Network
  readonly time: ChainTime
  readonly validators: readonly number[]
  readonly epochs: Range
}

/** Sorted by validator, epoch, kind and slot. */
export async function listMissedDuties(
  duties: StateReader,
  { network, time, validators, epochs: { from, until } }: MissedInput,
): Promise<MissedDuty[]> {
  const wanted = new Set(validators)
  const groups = groupsOf(missedLevel, validators)
  const partOfRow = new Map(
    partsIn(time, { from, until }).flatMap((part) =>
      groups.map((group) => [rowId(missedLevel, networkId(network), part.number, group), part]),
    ),
  )
  return [...(await dataByIds(duties, missedLevel.table, [...partOfRow.keys()]))]
    .flatMap(([id, data]) => unpack(time, startOf(partOfRow.get(id) as DayPart, groupIn(missedLevel, id)), data))
    .filter((row) => wanted.has(row.validator) && row.epoch >= from && row.epoch < until)
    .sort(byValidatorAndTime)
}
