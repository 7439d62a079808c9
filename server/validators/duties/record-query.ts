// Plans what 4.5 and 4.6 read: which rows of which tables hold the requested days of the requested validators, and to
// which record each stored figure belongs. Terms: layout.ts, and the glossary of CONTRIBUTING.md.
//
// 1. A grain is one validator's sums over a day, or over an hour with `granularity=hour` (4.6). With `filterType=hour`
//    (4.5), a day is cut at the given hours and is still one grain. Scores are computed for grains; the score of a
//    record is the mean over its grains (method.ts).
// 2. A record exists if one of its grains has a row, even if all figures are zero.
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, chainDays, type DayCalendar, type Epoch, utcDays } from '#core/chain-time.ts'
import { holes, type Range, within } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import {
  type DayPart,
  dayLevels,
  dayPartNumber,
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
export interface RecordQuery {
  readonly network: Network
  readonly time: ChainTime
  /** Distinct, in ascending order. */
  readonly validators: readonly number[]
  /** Whether `days` are UTC days or chain days. */
  readonly isUtc: boolean
  readonly days: Range
  /** `hours`: grains are hours, and each is its own record. */
  readonly grain: 'days' | 'hours'
  /** Only these hours of chain days. `wholeDays` are the days that lie completely within them. */
  readonly cut?: { readonly hours: Range; readonly wholeDays: Range } | undefined
  /** For each day the number of its window. Numbers ascend with time. Not used with hours. */
  readonly windowOf: readonly number[]
  /** One record per window and validator, or one per window. */
  readonly byValidator: boolean
}

/** Identifies a record. `validator` is 0 unless there is one record per validator. */
export interface RecordKey {
  readonly window: number
  readonly validator: number
}

/** Rows of one unit that the query reads. */
export interface Source {
  readonly level: Level
  /** Id of the row with the first validators (group 0); add the number of a group for its row. */
  readonly firstRowId: number
  /** A validator has one cell for each part of the row. The cells from `firstCell` on are read. */
  readonly firstCell: number
  /** For each of these cells, the index of the grain that it belongs to; −1: skip the cell. */
  readonly grainOfCell: Int32Array
}

function sourceOf(query: RecordQuery, level: Level, unit: number, firstCell: number, grainOfCell: Int32Array): Source {
  return { level, firstCell, grainOfCell, firstRowId: rowId(level, networkId(query.network), unit, 0) }
}

export interface Plan {
  readonly grains: readonly Grain[]
  /** Which hours to read. */
  readonly hours: readonly Source[]
  /** For each day part from number `firstPart` on, the index of the grain that it belongs to; −1: skip the part. */
  readonly days: { readonly firstPart: number; readonly grainOfPart: Int32Array }
}

export interface Grain {
  readonly day: number
  /** −1: the grain is a day. */
  readonly hour: number
  readonly window: number
}

const calendarOf = ({ time, isUtc }: RecordQuery): DayCalendar => (isUtc ? utcDays(time) : chainDays(time))

/** The day parts of these days. */
export function partsOf(query: RecordQuery, days: Range): DayPart[] {
  if (days.from >= days.until) return []
  const calendar = calendarOf(query)
  return partsIn(query.time, {
    from: calendar.epochsOf(days.from).from,
    until: calendar.epochsOf(days.until - 1).until,
  })
}

export const planOf = (query: RecordQuery): Plan => (query.grain === 'hours' ? hourPlan(query) : dayPlan(query))

export const dayIn = ({ isUtc }: RecordQuery, { chainDay, utcDay }: DayPart): number => (isUtc ? utcDay : chainDay)

/** The index of the grain that contains an epoch; −1: none. */
export function grainAt(query: RecordQuery, grains: readonly Grain[], epoch: number): number {
  const { part, hourPart } = segmentAt(query.time, epoch as Epoch)
  const chainHour = hourPart - part.number
  const [day, hour] = [dayIn(query, part), query.grain === 'hours' ? chainHour : -1]
  return grains.findIndex((grain) => grain.day === day && grain.hour === hour)
}

function hourPlan(query: RecordQuery): Plan {
  const grains: Grain[] = []
  const hours: Source[] = []
  for (const part of partsOf(query, query.days)) {
    const day = dayIn(query, part)
    for (let hour = part.hours.from; hour < part.hours.until; hour++) {
      const last = grains.at(-1)
      // An hour that crosses the other kind of midnight has two hour parts, which are one grain.
      if (!(last && last.hour === hour && last.day === day)) grains.push({ day, hour, window: hourWindow(hour, day) })
      hours.push(hourSource(query, hour, part, grains.length - 1))
    }
  }
  return { grains, hours, days: { firstPart: 0, grainOfPart: new Int32Array() } }
}

/** Ascends with time, also if an hour lies in two days. */
const hourWindow = (hour: number, day: number): number => hour + day

/** The row of one chain hour in one day part, which has one cell per validator. */
const hourSource = (query: RecordQuery, hour: number, part: DayPart, grain: number): Source =>
  sourceOf(query, levels.hours, hourPartNumber(hour, part.number), 0, Int32Array.of(grain))

function dayPlan(query: RecordQuery): Plan {
  const { days, cut, windowOf } = query
  const grains: Grain[] = []
  for (let day = days.from; day < days.until; day++)
    grains.push({ day, hour: -1, window: windowOf[day - days.from] as number })
  const whole = within([cut?.wholeDays ?? days], days)
  const hours = cut ? cutSources(query, cut.hours, holes(whole, days)) : []
  return { grains, hours, days: grainsOfParts(query, whole[0] ?? { from: 0, until: 0 }) }
}

/** The requested hours of days that are requested in part, added up into those days. */
function cutSources(query: RecordQuery, hours: Range, cutDays: readonly Range[]): Source[] {
  return cutDays.flatMap((span) =>
    partsOf(query, span).flatMap((part) => {
      const grain = dayIn(query, part) - query.days.from
      const [from, until] = [Math.max(hours.from, part.hours.from), Math.min(hours.until, part.hours.until)]
      return Array.from({ length: Math.max(0, until - from) }, (_, at) => hourSource(query, from + at, part, grain))
    }),
  )
}

/** Units of a level that may hold the plan's days. */
export function unitsOf({ days: { firstPart, grainOfPart } }: Plan, level: Level): Range {
  if (grainOfPart.length === 0) return { from: 0, until: 0 }
  const lastPart = firstPart + grainOfPart.length - 1
  return { from: Math.floor(firstPart / level.partsPerRow), until: Math.floor(lastPart / level.partsPerRow) + 1 }
}

/** The rows of a unit; undefined: it holds none of the plan's days. */
export function daySource(query: RecordQuery, { days }: Plan, level: Level, unit: number): Source | undefined {
  const { firstPart, grainOfPart } = days
  const [partOfUnit, partOfNext] = [unit * level.partsPerRow, (unit + 1) * level.partsPerRow]
  const start = Math.max(firstPart, partOfUnit)
  const grains = grainOfPart.slice(start - firstPart, Math.max(0, partOfNext - firstPart))
  return grains.some((grain) => grain >= 0) ? sourceOf(query, level, unit, start - partOfUnit, grains) : undefined
}

/** The rows of all units that exist now. */
export async function daySources(reader: StateReader, query: RecordQuery, plan: Plan): Promise<Source[]> {
  if (plan.days.grainOfPart.length === 0) return []
  const units = await allUnits(reader, networkId(query.network))
  return dayLevels.flatMap((level, index) =>
    (units[index] ?? []).flatMap((unit) => daySource(query, plan, level, unit) ?? []),
  )
}

/** The day parts of these days. A part number between them that has no epochs is skipped (−1). */
function grainsOfParts(query: RecordQuery, days: Range): Plan['days'] {
  const { time, isUtc } = query
  const [chain, utc] = [chainDays(time), utcDays(time)]
  const [calendar, other]: [DayCalendar, DayCalendar] = isUtc ? [utc, chain] : [chain, utc]
  const grains: number[] = []
  let firstPart = 0
  for (let day = days.from; day < days.until; day++) {
    const { from, until } = calendar.epochsOf(day)
    if (from >= until) continue
    const partAtStart = dayPartNumber(day, other.dayOf(from))
    const partAtEnd = dayPartNumber(day, other.dayOf((until - 1) as Epoch))
    if (grains.length === 0) firstPart = partAtStart
    while (firstPart + grains.length < partAtStart) grains.push(-1)
    while (firstPart + grains.length <= partAtEnd) grains.push(day - query.days.from)
  }
  return { firstPart, grainOfPart: Int32Array.from(grains) }
}
