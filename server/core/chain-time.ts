// Slots, epochs, chain hours and chain days of a beacon chain, and how they map to the UTC calendar. Everything is
// computed from five settings of the network.
//
// 1. An epoch belongs to exactly one chain hour, one chain day and one UTC day: the UTC day in which it starts.
// 2. Both kinds of days are numbered from genesis; UTC day 0 is the date of genesis (behaviour/validators.md#days-and-hours).
// 3. Later epochs never have a smaller hour or day number.
import type { DateNumber } from './calendar.ts'
import type { Range } from './ranges.ts'

declare const kind: unique symbol
type Kind<K extends string> = number & { readonly [kind]: K }
export type Slot = Kind<'slot'>
export type Epoch = Kind<'epoch'>
export type ChainHour = Kind<'chain hour'>
export type ChainDay = Kind<'chain day'>
export type UtcDay = Kind<'UTC day'>

export interface ChainTime {
  readonly genesisUnix: number
  readonly slotSeconds: number
  readonly slotsPerEpoch: number
  readonly epochsPerHour: number
  readonly epochsPerDay: number
}

/** A half-open range of epochs. */
export interface Epochs extends Range {
  readonly from: Epoch
  readonly until: Epoch
}

const hourSeconds = 3600
const daySeconds = 86_400

type SlotTime = Pick<ChainTime, 'genesisUnix' | 'slotSeconds'>
type EpochTime = SlotTime & Pick<ChainTime, 'slotsPerEpoch'>

export const epochSeconds = (time: Pick<ChainTime, 'slotSeconds' | 'slotsPerEpoch'>): number =>
  time.slotSeconds * time.slotsPerEpoch

/** As many epochs as fit into an hour and a day of the clock. */
export const fittingWindows = (
  times: Pick<ChainTime, 'slotSeconds' | 'slotsPerEpoch'>,
): Pick<ChainTime, 'epochsPerHour' | 'epochsPerDay'> => ({
  epochsPerHour: Math.max(1, Math.floor(hourSeconds / epochSeconds(times))),
  epochsPerDay: Math.max(1, Math.floor(daySeconds / epochSeconds(times))),
})

export const hourOf = (time: ChainTime, epoch: Epoch): ChainHour => Math.floor(epoch / time.epochsPerHour) as ChainHour

export const epochsOfHour = (time: ChainTime, hour: ChainHour): Epochs => ({
  from: (hour * time.epochsPerHour) as Epoch,
  until: ((hour + 1) * time.epochsPerHour) as Epoch,
})

export const chainDayOf = (time: Pick<ChainTime, 'epochsPerDay'>, epoch: number): ChainDay =>
  Math.floor(epoch / time.epochsPerDay) as ChainDay

/** The units of so many epochs that lie in a range completely. Empty if `from` ≥ `until`. */
const wholeUnits = (size: number, { from, until }: Range): Range => ({
  from: Math.ceil(from / size),
  until: Math.floor(Math.min(until, Number.MAX_SAFE_INTEGER) / size),
})

export const wholeHours = (time: Pick<ChainTime, 'epochsPerHour'>, epochs: Range): Range =>
  wholeUnits(time.epochsPerHour, epochs)

export const wholeDays = (time: Pick<ChainTime, 'epochsPerDay'>, epochs: Range): Range =>
  wholeUnits(time.epochsPerDay, epochs)

/** Chain hours that a chain day touches. */
export const hoursPerDay = (time: Pick<ChainTime, 'epochsPerHour' | 'epochsPerDay'>): number =>
  Math.ceil(time.epochsPerDay / time.epochsPerHour)

export const firstSlotOf = (time: Pick<ChainTime, 'slotsPerEpoch'>, epoch: number): Slot =>
  (epoch * time.slotsPerEpoch) as Slot

export const epochOfSlot = (time: Pick<ChainTime, 'slotsPerEpoch'>, slot: number): Epoch =>
  Math.floor(slot / time.slotsPerEpoch) as Epoch

export const slotStartMs = (time: SlotTime, slot: number): number => (time.genesisUnix + slot * time.slotSeconds) * 1000

export const epochStartMs = (time: EpochTime, epoch: Epoch): number =>
  (time.genesisUnix + epoch * epochSeconds(time)) * 1000

/** The slot at this time; negative before genesis. */
export const slotAt = (time: SlotTime, atMs: number): Slot =>
  Math.floor((atMs / 1000 - time.genesisUnix) / time.slotSeconds) as Slot

/** The epoch at this time; negative before genesis. */
export const epochAtTime = (time: EpochTime, atMs: number): Epoch => epochOfSlot(time, slotAt(time, atMs))

/** The first epoch that ends at this time or later. */
export const firstEpochEndingAt = (time: EpochTime, atMs: number): Epoch =>
  Math.max(0, Math.ceil((atMs / 1000 - time.genesisUnix) / epochSeconds(time)) - 1) as Epoch

/** The intersection; it is empty if `from` ≥ `until`. */
export const overlap = (a: Epochs, b: Epochs): Epochs => ({
  from: Math.max(a.from, b.from) as Epoch,
  until: Math.min(a.until, b.until) as Epoch,
})

/** A way of counting days: chain days or UTC days. */
export interface DayCalendar<Day extends number = number> {
  dayOf(epoch: Epoch): Day
  /** May be empty if epochs are longer than days. */
  epochsOf(day: Day): Epochs
  /** UTC date on which the day starts. It determines week, month, quarter and year. */
  dateOf(day: Day): DateNumber
  /** The first day that starts on this date or later. */
  firstFrom(date: DateNumber): Day
  /** The day that contains this time; negative before genesis. */
  dayAt(atMs: number): Day
}

export function chainDays(time: ChainTime): DayCalendar<ChainDay> {
  const lengthSeconds = epochSeconds(time) * time.epochsPerDay
  return {
    dayOf: (epoch) => chainDayOf(time, epoch),
    epochsOf: (day) => ({ from: (day * time.epochsPerDay) as Epoch, until: ((day + 1) * time.epochsPerDay) as Epoch }),
    dateOf: (day) => Math.floor((time.genesisUnix + day * lengthSeconds) / daySeconds) as DateNumber,
    firstFrom: (date) => Math.max(0, Math.ceil((date * daySeconds - time.genesisUnix) / lengthSeconds)) as ChainDay,
    dayAt: (atMs) => Math.floor((atMs / 1000 - time.genesisUnix) / lengthSeconds) as ChainDay,
  }
}

export function utcDays(time: ChainTime): DayCalendar<UtcDay> {
  const genesisDate = Math.floor(time.genesisUnix / daySeconds)
  const firstEpochFrom = (date: number): Epoch =>
    Math.max(0, Math.ceil((date * daySeconds - time.genesisUnix) / epochSeconds(time))) as Epoch
  return {
    dayOf: (epoch) => (Math.floor(epochStartMs(time, epoch) / 1000 / daySeconds) - genesisDate) as UtcDay,
    epochsOf: (day) => ({ from: firstEpochFrom(genesisDate + day), until: firstEpochFrom(genesisDate + day + 1) }),
    dateOf: (day) => (genesisDate + day) as DateNumber,
    firstFrom: (date) => Math.max(0, date - genesisDate) as UtcDay,
    dayAt: (atMs) => (Math.floor(atMs / 1000 / daySeconds) - genesisDate) as UtcDay,
  }
}
