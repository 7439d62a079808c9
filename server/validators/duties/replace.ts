// Replaces the stored data of one day part with epochs that were read again (stage.ts), in one transaction: figures in
// days, spans and hours, missed duties, presence and unexplained balance changes. Coverage does not change.
//
// 1. All stored epochs of the part have been staged, so that its rows can be replaced, damaged ones too.
// 2. Only differences are written. A repair without differences changes no figure.
// 3. Hours and missed duties are replaced where they are still stored. Those that were deleted by age stay deleted.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/contract/wire/validators.ts'
import type { ChainTime, Epochs } from '#core/chain-time.ts'
import { merge, type Range, within } from '#core/ranges.ts'
import type { StateWriter } from '#storage/state.ts'
import { measures } from '../method/measures.ts'
import { coveredEpochs } from './coverage.ts'
import { dropNetworkSummary } from './daily-summaries.ts'
import { isDamaged } from './damage.ts'
import { hourEpochs } from './hours.ts'
import {
  type DayPart,
  dayLevels,
  type Level,
  levels,
  missedLevel,
  networkId,
  presenceLevel,
  rowId,
  segmentAt,
} from './layout.ts'
import { type MissedDuty, missedEpochs, packMissedDuties, unpackMissedDuties } from './missed.ts'
import { replaceNetworkRows } from './network-rows.ts'
import { packCells } from './pack-row.ts'
import { addRow, RowReader } from './packed-row.ts'
import { recordPastChange } from './past-changes.ts'
import { emptySet, hasMember, packSet, unpackSet } from './presence.ts'
import { isSameCell, replaceDays } from './replace-days.ts'
import { Cells } from './row-format.ts'
import { type PackedRow, putRows, rowsByGroup } from './rows.ts'
import { type StagedSegment, stagedSegments } from './stage.ts'
import { writeUnexplained } from './unexplained.ts'
import { allUnits, validatorsEnd } from './units.ts'
import { storesEveryone } from './watch-ranges.ts'

export interface ReplaceInput {
  /** Of the repair that staged the epochs (StageInput). */
  readonly id: number
  readonly network: Network
  readonly time: ChainTime
  /** The epochs of the day part. */
  readonly epochs: Epochs
  /** Day parts that this repair replaces, in order. */
  readonly parts: Range
}

export interface Replacement {
  readonly network: Network
  readonly time: ChainTime
  readonly part: DayPart
  readonly parts: Range
  readonly covered: readonly Range[]
  readonly segments: readonly StagedSegment[]
  /** Units that have rows (allUnits). */
  readonly units: readonly (readonly number[])[]
  /** By validator: 1 if its stored data has changed. */
  readonly changed: Uint8Array
  /** Sets of validators that have figures now, by group of 32 768. */
  readonly presence: Map<number, Uint8Array>
}

/** Validators per batch. */
const validatorsAtOnce = 4096

/** Returns the validators with changed data, in ascending order. */
export async function replacePart(
  tx: StateWriter,
  { id, network, time, epochs, parts }: ReplaceInput,
): Promise<Int32Array> {
  const { part } = segmentAt(time, epochs.from)
  const segments = stagedSegments(id)
  const covered = await coveredEpochs(tx, network)
  const staged = merge(segments.map((segment) => segment.epochs))
  assert.deepEqual(staged, within(covered, part.epochs), 'some stored epochs of the day part are not staged')
  const units = await allUnits(tx, networkId(network))
  const end = await validatorsEndOf(tx, network, part, segments)
  const replacement: Replacement = {
    network,
    time,
    part,
    parts,
    covered,
    segments,
    units,
    changed: new Uint8Array(end),
    presence: new Map(),
  }
  const [hours, missed] = [await hourEpochs(tx, network), await missedEpochs(tx, network)]
  const segmentsByHourPart = Map.groupBy(
    segmentsIn(segments, hours),
    ({ epochs: range }) => segmentAt(time, range.from).hourPart,
  )
  const withMissed = segmentsIn(segments, missed)
  for (let first = 0; first < end; first += validatorsAtOnce) {
    const validators = { from: first, until: first + validatorsAtOnce }
    await replaceDays(tx, replacement, validators)
    for (const [hourPart, hourSegments] of segmentsByHourPart)
      await replaceHours(tx, replacement, hourPart, hourSegments, validators)
    if (withMissed.length > 0) await replaceMissed(tx, replacement, withMissed, validators)
  }
  await replacePresence(tx, replacement)
  await replaceUnexplained(tx, replacement)
  await replaceNetwork(tx, replacement)
  await recordPastChange(tx, network, time, part.epochs)
  return Int32Array.from(replacement.changed.keys().filter((validator) => replacement.changed[validator] === 1))
}

/** One more than the highest validator that has or gets rows in the part, rounded up to whole groups of presence. */
async function validatorsEndOf(
  tx: StateWriter,
  network: Network,
  { number: part, hours }: DayPart,
  segments: readonly StagedSegment[],
): Promise<number> {
  const hourParts = Array.from({ length: hours.until - hours.from }, (_, at) => hours.from + at + part)
  const levelUnits: readonly (readonly [Level, readonly number[]])[] = [
    [levels.hours, hourParts],
    ...[...dayLevels, missedLevel, presenceLevel].map(
      (level) => [level, [Math.floor(part / level.partsPerRow)]] as const,
    ),
  ]
  let end = 1
  for (const [level, units] of levelUnits)
    end = Math.max(end, await validatorsEnd(tx, level, networkId(network), units))
  for (const { figures } of segments)
    for (const group of figures.keys()) end = Math.max(end, (group + 1) * levels.days.validators)
  return Math.ceil(end / presenceLevel.validators) * presenceLevel.validators
}

/**
 * The segments within `ranges`. Segments are cut at the limits of stored hours and missed duties, so none is in part.
 */
const segmentsIn = (segments: readonly StagedSegment[], ranges: readonly Range[]): StagedSegment[] =>
  segments.filter(({ epochs }) => {
    const [stored] = within(ranges, epochs)
    assert(
      !stored || (stored.from === epochs.from && stored.until === epochs.until),
      'only a part of the segment is stored',
    )
    return stored
  })

// -------------------------------------------------------------------------------------------------------- rows of one part

/** Compares the stored rows of a unit with the new ones (`rowAt`), and writes those that `differ`. */
async function replaceRows(
  tx: StateWriter,
  network: Network,
  level: Level,
  unit: number,
  validators: Range,
  rowAt: (group: number) => Uint8Array | undefined,
  differ: (group: number, old: Uint8Array | undefined, now: Uint8Array | undefined) => boolean,
): Promise<void> {
  const groups = { from: validators.from / level.validators, until: validators.until / level.validators }
  const firstId = rowId(level, networkId(network), unit, groups.from)
  const ids = { from: firstId, until: firstId + groups.until - groups.from }
  const stored = await rowsByGroup(tx, level, ids)
  const rows: PackedRow[] = []
  for (let group = groups.from; group < groups.until; group++) {
    const [old, now] = [stored.get(group), rowAt(group)]
    if (!(old || now) || !differ(group, old, now)) continue
    const id = ids.from + group - groups.from
    if (now) rows.push({ id, data: now })
    else await tx.run(`delete from ${level.table} where id = ?`, id)
  }
  await putRows(tx, level.table, rows)
}

const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a !== undefined && b !== undefined && Buffer.compare(a, b) === 0

const reader = new RowReader(measures.length)
const [before, after] = [
  new Cells(levels.hours.validators, measures.length),
  new Cells(levels.hours.validators, measures.length),
]

/** Adds up the staged figures of a group of 64 validators. Equal cells give equal bytes, so rows can be compared. */
function hourRow(segments: readonly StagedSegment[], group: number): Uint8Array | undefined {
  const rows = segments.map(({ figures }) => figures.get(group)).filter((data) => data !== undefined)
  if (rows.length < 2) return rows[0]
  after.clear()
  for (const data of rows) addRow(reader, data, after)
  return packCells(after)
}

async function replaceHours(
  tx: StateWriter,
  { network, changed }: Replacement,
  hourPart: number,
  segments: readonly StagedSegment[],
  validators: Range,
): Promise<void> {
  const differ = (group: number, old: Uint8Array | undefined, now: Uint8Array | undefined) => {
    if (isSame(old, now)) return false
    const isLost = old !== undefined && isDamaged(() => reader.open(old))
    before.clear()
    after.clear()
    if (old && !isLost) addRow(reader, old, before)
    if (now) addRow(reader, now, after)
    for (let cell = 0; cell < after.count; cell++)
      if (isLost ? after.isPresent[cell] === 1 : !isSameCell(before, after, cell))
        changed[group * levels.hours.validators + cell] = 1
    return true
  }
  await replaceRows(tx, network, levels.hours, hourPart, validators, (group) => hourRow(segments, group), differ)
}

async function replaceMissed(
  tx: StateWriter,
  { network, time, part, changed }: Replacement,
  segments: readonly StagedSegment[],
  validators: Range,
): Promise<void> {
  const unpack = (group: number, data: Uint8Array | undefined) =>
    data ? unpackMissedDuties(time, part, group, data) : []
  const rowAt = (group: number) => {
    const all = segments.flatMap(({ missed }) => unpack(group, missed.get(group)))
    return packMissedDuties(time, part, all).get(group)
  }
  const differ = (group: number, old: Uint8Array | undefined, now: Uint8Array | undefined) => {
    const isLost = old !== undefined && isDamaged(() => unpack(group, old))
    const [before, after] = [byValidator(isLost ? [] : unpack(group, old)), byValidator(unpack(group, now))]
    const differing = [...new Set([...before.keys(), ...after.keys()])].filter(
      (validator) => before.get(validator) !== after.get(validator),
    )
    for (const validator of differing) changed[validator] = 1
    return isLost || differing.length > 0
  }
  await replaceRows(tx, network, missedLevel, part.number, validators, rowAt, differ)
}

const byValidator = (missed: readonly MissedDuty[]): Map<number, string> =>
  new Map(
    Array.from(
      Map.groupBy(missed, ({ validator }) => validator),
      ([validator, duties]) => [validator, JSON.stringify(duties)],
    ),
  )

async function replacePresence(tx: StateWriter, { network, part, changed, presence }: Replacement): Promise<void> {
  const rowAt = (group: number) => {
    const set = presence.get(group)
    return set && packSet(set)
  }
  const differ = (group: number, old: Uint8Array | undefined, now: Uint8Array | undefined) => {
    if (isSame(old, now)) return false
    const isLost = old !== undefined && isDamaged(() => unpackSet(old))
    const before = old && !isLost ? unpackSet(old) : emptySet()
    const after = presence.get(group) ?? emptySet()
    for (let at = 0; at < presenceLevel.validators; at++)
      if (hasMember(before, at) !== hasMember(after, at)) changed[group * presenceLevel.validators + at] = 1
    return true
  }
  const validators = { from: 0, until: changed.length }
  await replaceRows(tx, network, presenceLevel, part.number, validators, rowAt, differ)
}

async function replaceUnexplained(tx: StateWriter, { network, part, covered, segments }: Replacement): Promise<void> {
  const id = networkId(network)
  for (const { from, until } of within(covered, part.epochs))
    await tx.run(
      'delete from unexplained_balance_changes where network = ? and epoch >= ? and epoch < ?',
      ...[id, from, until],
    )
  for (const { unexplained } of segments) await writeUnexplained(tx, network, unexplained)
}

/**
 * The summary of a network with a watch list cannot be corrected, because what all validators did in the rest of its day
 * may have been deleted. It is deleted, and computed again from what is known.
 */
async function replaceNetwork(tx: StateWriter, { network, time, part, covered, segments }: Replacement): Promise<void> {
  await replaceNetworkRows(tx, network, time, part.epochs, segments)
  if (!(await storesEveryone(tx, network, within(covered, part.epochs))))
    await dropNetworkSummary(tx, network, part.chainDay)
}
