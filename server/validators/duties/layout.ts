// Where duties lie in the store (server/storage/schema/duties.ts has the tables).
//
// Time. A day part is the epochs that share their chain day and their UTC day; its number is the sum of both day numbers. So both kinds of
// days are exact sums of parts, and each figure is stored once for both. An hour piece is the epochs of one chain hour within one part; its
// number is the sum of hour and part. Both numbers rise with time; some of them have no epochs.
//
// Levels. Figures arrive by hour piece and are added to their day part. When the 16 parts (about 8 days) of a short block are over, their rows
// become one row for every 8 of the 64 validators; when the 8 short blocks of a long block are over, they become one row for each validator. What is read is the sum over
// all levels, so that it does not matter how far this has come, or whether something was added to an old day later.
import { strict as assert } from 'node:assert'
import { type Network, networks } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch, type Epochs, hourOf, overlap, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { type Measure, measures } from '../ratings/measures.ts'
import type { Cells } from './chunk-format.ts'

/** Stored as its place in the contract's list: new networks go to the end of that list. */
export const networkId = (network: Network): number => networks.indexOf(network) + 1

// ------------------------------------------------------------------------------------------------------------------- time

/** Chain time alone, of settings that hold more: what goes to another thread. */
export const plainTime = ({
  genesisUnix,
  slotSeconds,
  slotsPerEpoch,
  epochsPerHour,
  epochsPerDay,
}: ChainTime): ChainTime => ({
  ...{ genesisUnix, slotSeconds, slotsPerEpoch, epochsPerHour, epochsPerDay },
})

export const partOf = (time: ChainTime, epoch: Epoch): number =>
  chainDays(time).dayOf(epoch) + utcDays(time).dayOf(epoch)

/** The part's epochs, its days and the hours that it has epochs of; undefined: no epoch has this number. */
export interface DayPart {
  readonly part: number
  readonly epochs: Epochs
  readonly day: number
  readonly utcDay: number
  readonly hours: Range
}

/** All parts that have epochs in the range, in order. */
export function partsIn(time: ChainTime, { from, until }: Range): DayPart[] {
  const [chain, utc] = [chainDays(time), utcDays(time)]
  const parts: DayPart[] = []
  for (let epoch = from as Epoch; epoch < until; ) {
    const [day, utcDay] = [chain.dayOf(epoch), utc.dayOf(epoch)]
    const epochs = overlap(chain.epochsOf(day), utc.epochsOf(utcDay))
    const hours = { from: hourOf(time, epochs.from), until: hourOf(time, (epochs.until - 1) as Epoch) + 1 }
    parts.push({ part: day + utcDay, epochs, day, utcDay, hours })
    epoch = epochs.until
  }
  return parts
}

/** Epochs that share their hour and both of their days, from `from` on. */
export function segmentAt(
  time: ChainTime,
  from: Epoch,
): { readonly piece: number; readonly part: DayPart; readonly epochs: Epochs } {
  const [part] = partsIn(time, { from, until: from + 1 })
  assert(part)
  const hour = hourOf(time, from)
  const ofHour = { from: (hour * time.epochsPerHour) as Epoch, until: ((hour + 1) * time.epochsPerHour) as Epoch }
  return { piece: hour + part.part, part, epochs: overlap(ofHour, part.epochs) }
}

// ----------------------------------------------------------------------------------------------------------------- levels

export interface Level {
  readonly table: string
  /** Validators of one row. */
  readonly validators: number
  /** Day parts (or hour pieces) of one validator in one row: its cells lie side by side. */
  readonly units: number
  /** How many validators a unit can have room for in an id. */
  readonly places: number
}

const groupSize = 64
const groupPlaces = 2 ** 22

/** No validator has this index or a higher one: there would be no room for it in an id. */
export const validatorsMax = groupSize * groupPlaces

export const levels = {
  hours: { table: 'duty_hours', validators: groupSize, units: 1, places: groupPlaces },
  days: { table: 'duty_days', validators: groupSize, units: 1, places: groupPlaces },
  shortBlocks: { table: 'duty_short_blocks', validators: 8, units: 16, places: 8 * groupPlaces },
  longBlocks: { table: 'duty_long_blocks', validators: 1, units: 128, places: groupSize * groupPlaces },
} as const satisfies Record<string, Level>

/** Levels that hold days; `place` is how the list of what exists names them. */
export const dayLevels = [levels.days, levels.shortBlocks, levels.longBlocks] as const

export const placeOf = ({ validators }: Level, validator: number): number => Math.floor(validator / validators)

/** A row's key: network, unit and place in one whole number, so that a lookup is one step and rows of a unit lie side by side. */
export function rowId(level: Level, network: number, unit: number, place: number): number {
  const units = 2 ** 46 / level.places
  if (unit >= units || place >= level.places)
    assert.fail(`no room for unit ${unit} and place ${place} in ${level.table}`)
  return (network * units + unit) * level.places + place
}

/** Ids of all rows of these units. */
export const unitIds = (level: Level, network: number, { from, until }: Range): Range => ({
  from: rowId(level, network, from, 0),
  until: rowId(level, network, until, 0),
})

export const placeIn = (level: Level, id: number): number => id % level.places

export const unitIn = (level: Level, id: number): number => Math.floor(id / level.places) % (2 ** 46 / level.places)

export const networkIn = (id: number): Network => networks[Math.floor(id / 2 ** 46) - 1] as Network

const unitAt = (time: ChainTime, level: Level, epoch: Epoch): number =>
  level === levels.hours ? hourOf(time, epoch) + partOf(time, epoch) : Math.floor(partOf(time, epoch) / level.units)

/** All epochs whose figures are in rows of this unit. */
export function epochsOfUnit(time: ChainTime, level: Level, unit: number): Epochs {
  const firstFrom = (wanted: number): Epoch => {
    let [low, high] = [0, 2 ** 32]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (unitAt(time, level, middle as Epoch) < wanted) low = middle + 1
      else high = middle
    }
    return low as Epoch
  }
  return { from: firstFrom(unit), until: firstFrom(unit + 1) }
}

/** Missed duties: by day part and 64 validators. */
export const missedLevel: Level = { table: 'missed_duties', validators: groupSize, units: 1, places: groupPlaces }

/** Presence: by day part and 32 768 validators. */
export const presenceLevel: Level = { table: 'duty_presence', validators: 32_768, units: 1, places: groupPlaces }

// ---------------------------------------------------------------------------------------------------------------- columns

const columnOf = (measure: Measure): number => measures.indexOf(measure)

/**
 * A measure that nearly follows from others is stored as its difference from them, which is mostly zero. Differences add up like the
 * measures themselves. In order: what a measure follows from comes before it.
 */
const expected: readonly (readonly [measure: number, from: readonly number[]])[] = (
  [
    ['included', ['assigned']],
    ['inclusions', ['included']],
    ['inclusion_delay', ['included']],
    ['correct_source', ['included']],
    ['correct_target', ['included']],
    ['correct_head', ['included']],
    [
      'earnings',
      [
        'attestation_reward',
        'sync_reward',
        'block_reward',
        'late_source_penalty',
        'late_target_penalty',
        'wrong_target_penalty',
        'wrong_head_penalty',
        'missed_attestation_penalty',
        'sync_penalty',
      ],
    ],
  ] satisfies [Measure, Measure[]][]
).map(([measure, from]) => [columnOf(measure), from.map(columnOf)])

/** Measures → what is stored, in place. */
export function toStored(cells: Cells): void {
  for (const [column, from] of expected.toReversed()) {
    if (cells.isUsed[column] === 0 && from.every((one) => cells.isUsed[one] === 0)) continue
    const values = cells.columns[column] as Float64Array
    for (const one of from) {
      if (cells.isUsed[one] === 0) continue
      const others = cells.columns[one] as Float64Array
      for (let cell = 0; cell < cells.count; cell++) values[cell] = (values[cell] as number) - (others[cell] as number)
    }
    cells.isUsed[column] = 1
  }
}

/** The columns that these measures take to read. */
export function columnsFor(wanted: readonly Measure[]): Set<number> {
  const needed = new Set(wanted.map(columnOf))
  for (const [column, from] of expected.toReversed()) if (needed.has(column)) for (const one of from) needed.add(one)
  return needed
}

/**
 * What is stored → measures, in place, in these columns. What they follow from must be there, as measures already where it is not among
 * them.
 */
export const toMeasures = (columns: readonly (Float64Array | undefined)[], which: readonly number[]): void =>
  addExpected(columns, which, (into, from) => {
    for (let at = 0; at < into.length; at++) into[at] = (into[at] as number) + (from[at] as number)
  })

/** As toMeasures, with a loop of its own: one loop for both kinds of arrays is several times as slow. */
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
    if (which.includes(column)) for (const one of from) add(columns[column] as C, columns[one] as C)
}
