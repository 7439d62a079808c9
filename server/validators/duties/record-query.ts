// Plans what 4.5 and 4.6 read: which rows of which tables hold the requested days or hours of the requested validators,
// and to which grain each stored cell belongs. Terms such as grain, unit, level, cell and day part are in the glossary of
// CONTRIBUTING.md ("How ratings are stored"); layout.ts explains the numbers of day parts and hour parts.
//
// 1. A grain is what scores are computed for: one validator's sums over a day, or over an hour with `granularity=hour`.
//    With `filterType=hour` (4.5), the first and the last day may be incomplete, and each is still one grain. The score of
//    a record is the mean over its grains (method.ts).
// 2. A record exists if one of its grains has a row, even if all figures are zero.
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, chainDays, type DayCalendar, type Epoch, utcDays } from '#core/chain-time.ts'
import { holes, type Range, within } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import {
  chainHourOf,
  type DayPart,
  dayLevels,
  hourPartNumber,
  type Level,
  levels,
  networkId,
  partsIn,
  rowId,
  segmentAt,
} from './layout.ts'
import { allUnits } from './units.ts'

/** Plain values only, because a query may be sent to another thread. */
export type RecordQuery = DayQuery | HourQuery

export interface QueriedValidators {
  readonly network: Network
  readonly time: ChainTime
  /** Distinct, in ascending order. */
  readonly validators: readonly number[]
  /** Whether `days` are UTC days or chain days. */
  readonly isUtc: boolean
  readonly days: Range
  /** One record per window and validator, or one per window. */
  readonly byValidator: boolean
}

/** Grains are days. */
export interface DayQuery extends QueriedValidators {
  readonly grain: 'days'
  /** For each of `days`, the number of its window. Numbers ascend with time. */
  readonly windowOfDay: readonly number[]
  readonly hourBounds?: HourBounds | undefined
}

/** Grains are hours, and each hour is a window of its own. */
export interface HourQuery extends QueriedValidators {
  readonly grain: 'hours'
}

/** Limits the days to these chain hours. `wholeDays`: the days of which all hours are requested. */
export interface HourBounds {
  readonly hours: Range
  readonly wholeDays: Range
}

/** Identifies a record. `validator` is 0 unless there is one record per validator. */
export interface RecordKey {
  readonly window: number
  readonly validator: number
}

/** What to read of one unit: the rows of all validator groups, and in each row the cells from `firstCell` on. */
export interface UnitSelection {
  readonly level: Level
  /** Id of the row with the first validators (group 0); add the number of a group for its row. */
  readonly firstRowId: number
  /** A validator has one cell for each part of the row. */
  readonly firstCell: number
  /** For each cell that is read, the index of its grain; −1: skip the cell. */
  readonly grainOfCell: Int32Array
}

const unitRows = (
  query: RecordQuery,
  level: Level,
  unit: number,
  firstCell: number,
  grainOfCell: Int32Array,
): UnitSelection => ({ level, firstCell, grainOfCell, firstRowId: rowId(level, networkId(query.network), unit, 0) })

export interface Plan {
  readonly grains: readonly Grain[]
  /** The hour parts to read. */
  readonly hourParts: readonly UnitSelection[]
  /** The day parts to read. Entry i of `grainOfPart`: the index of the grain of day part `firstPart + i`; −1: skip it. */
  readonly dayParts: { readonly firstPart: number; readonly grainOfPart: Int32Array }
}

export interface Grain {
  readonly day: number
  /** −1: the grain is a day. */
  readonly hour: number
  readonly window: number
}

/** The day parts of these days. */
export function partsOf({ time, isUtc }: RecordQuery, days: Range): DayPart[] {
  if (days.from >= days.until) return []
  const calendar: DayCalendar = isUtc ? utcDays(time) : chainDays(time)
  return partsIn(time, {
    from: calendar.epochsOf(days.from).from,
    until: calendar.epochsOf(days.until - 1).until,
  })
}

export const planOf = (query: RecordQuery): Plan => (query.grain === 'hours' ? planHours(query) : planDays(query))

export const dayIn = ({ isUtc }: RecordQuery, { chainDay, utcDay }: DayPart): number => (isUtc ? utcDay : chainDay)

/** The index of the grain that contains an epoch; −1: none. */
export function grainAt(query: RecordQuery, grains: readonly Grain[], epoch: number): number {
  const { part, hourPart } = segmentAt(query.time, epoch as Epoch)
  const day = dayIn(query, part)
  const hour = query.grain === 'hours' ? chainHourOf(hourPart, part.number) : -1
  return grains.findIndex((grain) => grain.day === day && grain.hour === hour)
}

function planHours(query: HourQuery): Plan {
  const grains: Grain[] = []
  const hourParts: UnitSelection[] = []
  for (const part of partsOf(query, query.days)) {
    const day = dayIn(query, part)
    for (let hour = part.hours.from; hour < part.hours.until; hour++) {
      const last = grains.at(-1)
      // A chain hour in which a day of the other calendar ends has two hour parts, which are one grain.
      if (!(last && last.hour === hour && last.day === day)) grains.push({ day, hour, window: hourWindow(hour, day) })
      hourParts.push(rowsOfHourPart(query, hour, part, grains.length - 1))
    }
  }
  return { grains, hourParts, dayParts: { firstPart: 0, grainOfPart: new Int32Array() } }
}

/**
 * The number of the window of an hour in a day. With UTC days, one chain hour can lie in two days and is then two windows.
 * In order, each window has a larger hour or a larger day than the one before, and neither is smaller. So the sum ascends.
 */
const hourWindow = (hour: number, day: number): number => hour + day

/** The rows of one chain hour in one day part, which have one cell per validator. */
const rowsOfHourPart = (query: RecordQuery, hour: number, part: DayPart, grain: number): UnitSelection =>
  unitRows(query, levels.hours, hourPartNumber(hour, part.number), 0, Int32Array.of(grain))

function planDays(query: DayQuery): Plan {
  const { days, hourBounds, windowOfDay } = query
  const grains: Grain[] = []
  for (let day = days.from; day < days.until; day++)
    grains.push({ day, hour: -1, window: windowOfDay[day - days.from] as number })
  const whole = within([hourBounds?.wholeDays ?? days], days)
  const hourParts = hourBounds ? rowsOfHours(query, hourBounds.hours, holes(whole, days)) : []
  return { grains, hourParts, dayParts: grainsOfParts(query, whole[0] ?? { from: 0, until: 0 }) }
}

/** Of days that are requested in part: the requested hours, each assigned to the grain of its day. */
function rowsOfHours(query: DayQuery, hours: Range, incompleteDays: readonly Range[]): UnitSelection[] {
  const rows: UnitSelection[] = []
  for (const part of incompleteDays.flatMap((days) => partsOf(query, days))) {
    const grain = dayIn(query, part) - query.days.from
    const until = Math.min(hours.until, part.hours.until)
    for (let hour = Math.max(hours.from, part.hours.from); hour < until; hour++)
      rows.push(rowsOfHourPart(query, hour, part, grain))
  }
  return rows
}

/** Units of a level that may hold the plan's days. */
export function unitRange({ dayParts: { firstPart, grainOfPart } }: Plan, level: Level): Range {
  if (grainOfPart.length === 0) return { from: 0, until: 0 }
  const lastPart = firstPart + grainOfPart.length - 1
  return { from: Math.floor(firstPart / level.partsPerRow), until: Math.floor(lastPart / level.partsPerRow) + 1 }
}

/** What to read of a unit; undefined: it holds none of the plan's days. */
export function unitRowsOf(
  query: RecordQuery,
  { dayParts }: Plan,
  level: Level,
  unit: number,
): UnitSelection | undefined {
  const { firstPart, grainOfPart } = dayParts
  const firstPartOfUnit = unit * level.partsPerRow
  const firstPartOfNextUnit = firstPartOfUnit + level.partsPerRow
  const start = Math.max(firstPart, firstPartOfUnit)
  const grains = grainOfPart.slice(start - firstPart, Math.max(0, firstPartOfNextUnit - firstPart))
  return grains.some((grain) => grain >= 0) ? unitRows(query, level, unit, start - firstPartOfUnit, grains) : undefined
}

/** What to read of all units that exist now. */
export async function allUnitRows(reader: StateReader, query: RecordQuery, plan: Plan): Promise<UnitSelection[]> {
  if (plan.dayParts.grainOfPart.length === 0) return []
  const units = await allUnits(reader, networkId(query.network))
  const rows = dayLevels.flatMap((level, index) =>
    (units[index] ?? []).map((unit) => unitRowsOf(query, plan, level, unit)),
  )
  return rows.filter((found) => found !== undefined)
}

/** The day parts of these days. Part numbers without epochs get −1. */
function grainsOfParts(query: DayQuery, days: Range): Plan['dayParts'] {
  const parts = partsOf(query, days)
  const firstPart = parts[0]?.number ?? 0
  const lastPart = parts.at(-1)?.number ?? firstPart - 1
  const grainOfPart = new Int32Array(lastPart + 1 - firstPart).fill(-1)
  for (const part of parts) grainOfPart[part.number - firstPart] = dayIn(query, part) - query.days.from
  return { firstPart, grainOfPart }
}
