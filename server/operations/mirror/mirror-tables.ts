// The tables of the ClickHouse mirror: one row per validator and UTC day, and one per validator and chain hour. Columns
// are those of `tetrad export duties` and the version of the row. docs/mirror.md describes them.
import { formatDate } from '#core/calendar.ts'
import {
  type ChainHour,
  type ChainTime,
  chainDays,
  type Epoch,
  type Epochs,
  epochStartMs,
  epochsOfHour,
  hourOf,
  type UtcDay,
  utcDays,
} from '#core/chain-time.ts'
import type { DayQuery } from '#validators/duties/record-query.ts'
import { amounts, counts } from '#validators/method/measures.ts'

/** A unit is a UTC day or a chain hour, by number. */
export interface MirrorTable {
  readonly name: string
  readonly unitName: string
  /** Name and type of the columns that identify the unit. The first one is part of the key. */
  readonly unitColumns: readonly (readonly [name: string, type: string])[]
  /** The values of `unitColumns`, as text. */
  unitValues(time: ChainTime, unit: number): readonly string[]
  unitOf(time: ChainTime, epoch: number): number
  epochsOf(time: ChainTime, unit: number): Epochs
  /** The part of a query that selects the unit. */
  selectUnit(time: ChainTime, unit: number): Pick<DayQuery, 'isUtc' | 'days' | 'hourBounds' | 'windowOfDay'>
}

export const dailyTable: MirrorTable = {
  name: 'validator_duties_daily',
  unitName: 'days',
  unitColumns: [['date', 'Date']],
  unitValues: (time, day) => [formatDate(utcDays(time).dateOf(day as UtcDay))],
  unitOf: (time, epoch) => utcDays(time).dayOf(epoch as Epoch),
  epochsOf: (time, day) => utcDays(time).epochsOf(day as UtcDay),
  selectUnit: (_, day) => ({ isUtc: true, days: { from: day, until: day + 1 }, windowOfDay: [day] }),
}

export const hourlyTable: MirrorTable = {
  name: 'validator_duties_hourly',
  unitName: 'hours',
  unitColumns: [
    ['hour', `DateTime('UTC')`],
    ['chain_hour', 'UInt32'],
  ],
  unitValues: (time, hour) => {
    const startMs = epochStartMs(time, epochsOfHour(time, hour as ChainHour).from)
    return [new Date(startMs).toISOString().slice(0, 19).replace('T', ' '), String(hour)]
  },
  unitOf: (time, epoch) => hourOf(time, epoch as Epoch),
  epochsOf: (time, hour) => epochsOfHour(time, hour as ChainHour),
  selectUnit: (time, hour) => {
    const epochs = epochsOfHour(time, hour as ChainHour)
    const calendar = chainDays(time)
    const days = { from: calendar.dayOf(epochs.from), until: calendar.dayOf((epochs.until - 1) as Epoch) + 1 }
    return {
      isUtc: false,
      days,
      hourBounds: { hours: { from: hour, until: hour + 1 }, wholeDays: { from: days.from, until: days.from } },
      // One record, also if the hour crosses midnight.
      windowOfDay: Array.from({ length: days.until - days.from }, () => days.from),
    }
  },
}

const columnsOf = ({ unitColumns }: MirrorTable): readonly (readonly [name: string, type: string])[] => [
  ['network', 'String'],
  ...unitColumns,
  ['validator_index', 'UInt32'],
  ['epochs', 'UInt32'],
  ...counts.map((name) => [name, 'UInt32'] as const),
  ...amounts.map((name) => [`${name}_gwei`, 'Nullable(Int64)'] as const),
  ['version', 'UInt64'],
]

export const columnNames = (table: MirrorTable): string[] => columnsOf(table).map(([name]) => name)

/** The column of the unit that is part of the key. */
export const timeColumn = ({ unitColumns }: MirrorTable): string => (unitColumns[0] as readonly string[])[0] as string

/** Sorted by time first, because rows arrive in that order. */
export function createStatement(table: MirrorTable): string {
  const columns = columnsOf(table).map(([name, type]) => `  ${name} ${type}`)
  const time = timeColumn(table)
  return `create table if not exists ${table.name} (
${columns.join(',\n')}
) engine = ReplacingMergeTree(version)
partition by toYYYYMM(${time})
order by (network, ${time}, validator_index)`
}
