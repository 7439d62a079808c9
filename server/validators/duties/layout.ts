// How duties are arranged in rows (tables: server/storage/schema/duties.ts).
//
// Parts. A chain day begins every `epochsPerDay` epochs, a UTC day at midnight, so one chain day lies in two UTC days. A
// day part is the epochs that share their chain day and their UTC day. Both kinds of days are exact sums of day parts, so
// the same rows serve both calendars. An hour part is the epochs of one chain hour within one day part.
//
// Part numbers. The number of a day part is its chain day plus its UTC day, which grows by one at each midnight of either
// calendar. The number of an hour part is its chain hour plus the number of its day part. Some numbers have no epochs.
//
// Validator groups. A row holds one group of validators: 64, 8 or 1 of them, depending on the level.
//
// Levels. Figures are added to their hour part and their day part. After the 16 day parts (about 8 days) of a short
// span, their rows are merged into rows of 8 validators; after the 8 short spans of a long span, into rows of one
// validator. Readers add up all levels, so the progress of merging, or a late addition to an old day, makes no
// difference.
import { strict as assert } from 'node:assert'
import {
  type ChainTime,
  chainDays,
  type Epoch,
  type Epochs,
  epochsOfHour,
  hourOf,
  overlap,
  utcDays,
} from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { type Measure, measures, penalties, rewards } from '../method/measures.ts'
import type { Cells } from './row-format.ts'

export { networkId } from '#core/network-id.ts'

// ------------------------------------------------------------------------------------------------------------------- time

/** Chain time without the other settings of a network, to send it to another thread. */
export function plainTime(time: ChainTime): ChainTime {
  const { genesisUnix, slotSeconds, slotsPerEpoch, epochsPerHour, epochsPerDay } = time
  return { genesisUnix, slotSeconds, slotsPerEpoch, epochsPerHour, epochsPerDay }
}

/** See "Part numbers" above. */
export const dayPartNumber = (chainDay: number, utcDay: number): number => chainDay + utcDay
export const hourPartNumber = (chainHour: number, dayPart: number): number => chainHour + dayPart
/** The reverse of `hourPartNumber`. */
export const chainHourOf = (hourPart: number, dayPart: number): number => hourPart - dayPart

/** The number of the day part that an epoch belongs to. */
export const dayPartAt = (time: ChainTime, epoch: Epoch): number =>
  dayPartNumber(chainDays(time).dayOf(epoch), utcDays(time).dayOf(epoch))

export interface DayPart {
  readonly number: number
  readonly epochs: Epochs
  readonly chainDay: number
  readonly utcDay: number
  /** Chain hours that have epochs in the part. */
  readonly hours: Range
}

/** All day parts that have epochs in the range, in order. */
export function partsIn(time: ChainTime, { from, until }: Range): DayPart[] {
  const [chain, utc] = [chainDays(time), utcDays(time)]
  const parts: DayPart[] = []
  for (let epoch = from as Epoch; epoch < until; ) {
    const [chainDay, utcDay] = [chain.dayOf(epoch), utc.dayOf(epoch)]
    const epochs = overlap(chain.epochsOf(chainDay), utc.epochsOf(utcDay))
    const hours = { from: hourOf(time, epochs.from), until: hourOf(time, (epochs.until - 1) as Epoch) + 1 }
    parts.push({ number: dayPartNumber(chainDay, utcDay), epochs, chainDay, utcDay, hours })
    epoch = epochs.until
  }
  return parts
}

/** The hour part that holds this epoch. */
export function segmentAt(
  time: ChainTime,
  from: Epoch,
): { readonly hourPart: number; readonly part: DayPart; readonly epochs: Epochs } {
  const [part] = partsIn(time, { from, until: from + 1 })
  assert(part)
  const hour = hourOf(time, from)
  return { hourPart: hourPartNumber(hour, part.number), part, epochs: overlap(epochsOfHour(time, hour), part.epochs) }
}

// ----------------------------------------------------------------------------------------------------------------- levels

export interface Level {
  readonly table: string
  /** Validators of one row. */
  readonly validators: number
  /** Day parts of one row; for hours, hour parts. The cells of one validator are consecutive. */
  readonly partsPerRow: number
  /** Validator groups of one unit that an id has room for. */
  readonly groupsMax: number
}

const groupSize = 64
const groupsMax = 2 ** 20
/** Combinations of a unit and a group that an id has room for. The number of the network has the other eleven bits. */
const rowsMax = 2 ** 42

/** Indices from here on have no room in an id. */
export const validatorsMax = groupSize * groupsMax

export const levels = {
  hours: { table: 'duty_hours', validators: groupSize, partsPerRow: 1, groupsMax: groupsMax },
  days: { table: 'duty_days', validators: groupSize, partsPerRow: 1, groupsMax: groupsMax },
  shortSpans: { table: 'duty_short_spans', validators: 8, partsPerRow: 16, groupsMax: 8 * groupsMax },
  longSpans: { table: 'duty_long_spans', validators: 1, partsPerRow: 128, groupsMax: groupSize * groupsMax },
} as const satisfies Record<string, Level>

/** Levels that hold days. `duty_units.level` is the index in this list. */
export const dayLevels = [levels.days, levels.shortSpans, levels.longSpans] as const

export const groupOf = ({ validators }: Level, validator: number): number => Math.floor(validator / validators)

/** The groups of these validators, each once. */
export const groupsOf = (level: Level, validators: readonly number[]): number[] => [
  ...new Set(validators.map((validator) => groupOf(level, validator))),
]

/** A row's key: network, unit and group in one number, so that the rows of a unit are consecutive. */
export function rowId(level: Level, network: number, unit: number, group: number): number {
  const units = rowsMax / level.groupsMax
  if (unit >= units || group >= level.groupsMax)
    assert.fail(`unit ${unit} and group ${group} do not fit into an id of ${level.table}`)
  return (network * units + unit) * level.groupsMax + group
}

/** Ids of all rows of these units. */
export const unitIds = (level: Level, network: number, { from, until }: Range): Range => ({
  from: rowId(level, network, from, 0),
  until: rowId(level, network, until, 0),
})

/** Ids of all rows of a network. */
export const networkIds = (level: Level, network: number): Range => ({
  from: rowId(level, network, 0, 0),
  until: rowId(level, network + 1, 0, 0),
})

export const groupIn = (level: Level, id: number): number => id % level.groupsMax

export const unitIn = (level: Level, id: number): number =>
  Math.floor(id / level.groupsMax) % (rowsMax / level.groupsMax)

/** The number of its network. */
export const networkIdIn = (id: number): number => Math.floor(id / rowsMax)

const unitAt = (time: ChainTime, level: Level, epoch: Epoch): number =>
  level === levels.hours
    ? hourPartNumber(hourOf(time, epoch), dayPartAt(time, epoch))
    : Math.floor(dayPartAt(time, epoch) / level.partsPerRow)

/** All epochs whose figures are in rows of this unit. */
export function epochsOfUnit(time: ChainTime, level: Level, unit: number): Epochs {
  const firstFrom = (target: number): Epoch => {
    let [low, high] = [0, 2 ** 32]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (unitAt(time, level, middle as Epoch) < target) low = middle + 1
      else high = middle
    }
    return low as Epoch
  }
  return { from: firstFrom(unit), until: firstFrom(unit + 1) }
}

export const missedLevel: Level = {
  table: 'missed_duties',
  validators: groupSize,
  partsPerRow: 1,
  groupsMax: groupsMax,
}

export const presenceLevel: Level = { table: 'duty_presence', validators: 32_768, partsPerRow: 1, groupsMax: groupsMax }

// ---------------------------------------------------------------------------------------------------------------- columns

const columnOf = (measure: Measure): number => measures.indexOf(measure)

/**
 * A measure that mostly equals the sum of others is stored as the difference from them, which is mostly zero.
 * Differences add up like the measures themselves. A measure comes after those that it is derived from.
 */
const expected: readonly (readonly [measure: number, from: readonly number[]])[] = (
  [
    ['included', ['assigned']],
    ['inclusions', ['included']],
    ['inclusion_delay', ['included']],
    ['correct_source', ['included']],
    ['correct_target', ['included']],
    ['correct_head', ['included']],
    ['earnings', [...rewards, ...penalties]],
  ] satisfies [Measure, Measure[]][]
).map(([measure, from]) => [columnOf(measure), from.map(columnOf)])

/** Replaces measures by their differences. */
export function toStored(cells: Cells): void {
  for (const [column, from] of expected.toReversed()) {
    if (cells.isUsed[column] === 0 && from.every((other) => cells.isUsed[other] === 0)) continue
    const values = cells.columns[column] as Float64Array
    for (const other of from) {
      if (cells.isUsed[other] === 0) continue
      const otherValues = cells.columns[other] as Float64Array
      for (let cell = 0; cell < cells.count; cell++)
        values[cell] = (values[cell] as number) - (otherValues[cell] as number)
    }
    cells.isUsed[column] = 1
  }
}

/** The columns that are needed to read these measures. */
export function columnsFor(wanted: readonly Measure[]): Set<number> {
  const needed = new Set(wanted.map(columnOf))
  for (const [column, from] of expected.toReversed())
    if (needed.has(column)) for (const other of from) needed.add(other)
  return needed
}

/**
 * Replaces differences by measures, in these columns. The columns that they are derived from must be present. Those
 * that are not in the list must already be measures.
 */
export const toMeasures = (columns: readonly (Float64Array | undefined)[], which: readonly number[]): void =>
  addExpected(columns, which, (into, from) => {
    for (let at = 0; at < into.length; at++) into[at] = (into[at] as number) + (from[at] as number)
  })

/** Like toMeasures. Its loop is separate, because one loop for both kinds of arrays is several times as slow. */
export const countsToMeasures = (columns: readonly (Int32Array | undefined)[], which: readonly number[]): void =>
  addExpected(columns, which, (into, from) => {
    for (let at = 0; at < into.length; at++) into[at] = (into[at] as number) + (from[at] as number)
  })

function addExpected<C>(
  columns: readonly (C | undefined)[],
  which: readonly number[],
  add: (into: C, from: C) => void,
): void {
  for (const [column, from] of expected)
    if (which.includes(column)) for (const other of from) add(columns[column] as C, columns[other] as C)
}
