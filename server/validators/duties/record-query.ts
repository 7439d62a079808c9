// Plans a query about records: which rows of which levels hold its days and windows.
//
// 1. A grain is one validator's sums over a day, or over an hour with `granularity=hour` (4.6). With `filterType=hour`
//    (4.5), a day is cut at the given hours and is still one grain. Scores are computed for grains; the score of a
//    record is the mean over its grains (method.ts).
// 2. A record exists if one of its grains has a row, even if all figures are zero.
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type DayCalendar, type Epoch, utcDays } from '#core/chain-time.ts'
import { holes, type Range, within } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import { type DayPart, dayLevels, type Level, levels, networkId, partsIn, rowId, segmentAt } from './layout.ts'
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
  /** The id of the row of group 0. */
  readonly firstId: number
  /** The first of a validator's cells to read, and the grain of each cell from there on; −1: skip the cell. */
  readonly first: number
  readonly grains: Int32Array
}

const sourceOf = ({ network }: RecordQuery, level: Level, unit: number, first: number, grains: Int32Array): Source => ({
  level,
  first,
  grains,
  firstId: rowId(level, networkId(network), unit, 0),
})

export interface Plan {
  readonly grains: readonly Grain[]
  /** Which hours to read. */
  readonly hours: readonly Source[]
  /** The grain of each day part to read, from part number `first` on; −1: skip the part. */
  readonly days: { readonly first: number; readonly grainOf: Int32Array }
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

export const dayIn = ({ isUtc }: RecordQuery, { day, utcDay }: DayPart): number => (isUtc ? utcDay : day)

/** The index of the grain that contains an epoch; −1: none. */
export function grainAt(query: RecordQuery, grains: readonly Grain[], epoch: number): number {
  const { part, hourPart } = segmentAt(query.time, epoch as Epoch)
  const [day, hour] = [dayIn(query, part), query.grain === 'hours' ? hourPart - part.part : -1]
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
      if (!(last && last.hour === hour && last.day === day)) grains.push({ day, hour, window: hour + day })
      hours.push(sourceOf(query, levels.hours, hour + part.part, 0, Int32Array.of(grains.length - 1)))
    }
  }
  return { grains, hours, days: { first: 0, grainOf: new Int32Array() } }
}

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
      const grains = Int32Array.of(dayIn(query, part) - query.days.from)
      const [from, until] = [Math.max(hours.from, part.hours.from), Math.min(hours.until, part.hours.until)]
      return Array.from({ length: Math.max(0, until - from) }, (_, at) =>
        sourceOf(query, levels.hours, from + at + part.part, 0, grains),
      )
    }),
  )
}

/** Units of a level that may hold the plan's days. */
export function unitsOf({ days: { first, grainOf } }: Plan, level: Level): Range {
  const end = first + grainOf.length
  return { from: Math.floor(first / level.units), until: first < end ? Math.floor((end - 1) / level.units) + 1 : 0 }
}

/** The rows of a unit; undefined: it holds none of the plan's days. */
export function daySource(query: RecordQuery, { days }: Plan, level: Level, unit: number): Source | undefined {
  const { first, grainOf } = days
  const start = Math.max(first, unit * level.units)
  const grains = grainOf.slice(start - first, Math.max(0, (unit + 1) * level.units - first))
  return grains.some((grain) => grain >= 0) ? sourceOf(query, level, unit, start % level.units, grains) : undefined
}

/** The rows of all units that exist now. */
export async function daySources(reader: StateReader, query: RecordQuery, plan: Plan): Promise<Source[]> {
  if (plan.days.grainOf.length === 0) return []
  const units = await allUnits(reader, networkId(query.network))
  return dayLevels.flatMap((level, index) =>
    (units[index] ?? []).flatMap((unit) => daySource(query, plan, level, unit) ?? []),
  )
}

/** −1: the number has no epochs. */
function grainsOfParts(query: RecordQuery, days: Range): Plan['days'] {
  const { time, isUtc } = query
  const [chain, utc] = [chainDays(time), utcDays(time)]
  const [calendar, other]: [DayCalendar, DayCalendar] = isUtc ? [utc, chain] : [chain, utc]
  const grains: number[] = []
  let first = 0
  for (let day = days.from; day < days.until; day++) {
    const { from, until } = calendar.epochsOf(day)
    if (from >= until) continue
    const [firstPart, lastPart] = [day + other.dayOf(from), day + other.dayOf((until - 1) as Epoch)]
    if (grains.length === 0) first = firstPart
    while (first + grains.length < firstPart) grains.push(-1)
    while (first + grains.length <= lastPart) grains.push(day - query.days.from)
  }
  return { first, grainOf: Int32Array.from(grains) }
}
