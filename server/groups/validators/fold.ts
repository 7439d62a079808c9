// The questions that 4.5 and 4.6 put to the facts store. The store folds, page by page: a pool may hold 10 000
// validators over years, a page holds at most 1 000 records.
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { Cell, FactRow, FactsReader } from '#store/facts.ts'
import { measures } from './measures.ts'
import type { Windows } from './windows.ts'

/** One row per validator and grain, from which records are folded. */
export type Grain = 'day' | 'utcDay' | 'hour' | 'utcHour'

export interface Fold {
  readonly network: Network
  /** Distinct. */
  readonly who: readonly number[]
  readonly grain: Grain
  /** By the grain's own count of days. */
  readonly days: Range
  /** Bounds inside days: those hours only. `whole` are the days that lie inside completely. Only with grain `day`. */
  readonly hours?: { readonly bounds: Range; readonly whole: Range } | undefined
  readonly windows: Pick<Windows, 'sql'>
  /** One record per window and validator, or one per window. */
  readonly byValidator: boolean
  /** Leaves out this window's validators up to this index. */
  readonly after?: Place | undefined
}

export interface Place {
  readonly key: number
  readonly validator: number
}

/** A record's window and, when folded by validator, its validator. */
export interface KeyRow {
  readonly key: number
  readonly validator: number
}

export interface Order {
  readonly by: string
  readonly limit: number
  readonly offset?: number
}

/** Newest window first, then by index. */
export const newestFirst = (limit: number): Order => ({ by: 'record_key desc, validator', limit })

export async function countRecords(facts: FactsReader, fold: Fold): Promise<number> {
  const inner = keysSql(fold)
  const [row] = await facts.query<{ total: number }>(
    `select count(*) as total from (${inner.sql}) as records`,
    inner.values,
    listsOf(fold),
  )
  return row?.total ?? 0
}

export async function firstKeys(facts: FactsReader, fold: Fold, count: number): Promise<KeyRow[]> {
  const inner = keysSql(fold)
  return facts.query<KeyRow>(
    `select record_key as key, validator from (${inner.sql}) as records order by ${newestFirst(count).by} limit ?`,
    [...inner.values, count],
    listsOf(fold),
  )
}

/** Each field's SQL over the measures, evaluated for every record; only the columns that it needs are read. */
export function foldRecords<F extends string>(
  facts: FactsReader,
  fold: Fold,
  fields: Readonly<Record<F, string>>,
  order: Order,
): Promise<(KeyRow & Record<F, Cell>)[]> {
  const sqls = Object.values<string>(fields)
  const needed = measures.filter((measure) => sqls.some((sql) => new RegExp(`\\b${measure}\\b`).test(sql)))
  const inner = rowsSql(fold, [...(isHourly(fold) ? ['hour'] : []), 'day', ...needed])
  const selected = Object.entries<string>(fields).map(([name, sql]) => `${sql} as "${name}"`)
  const keys = fold.byValidator ? ['record_key', 'validator'] : ['record_key']
  return facts.query<FactRow>(
    `select * from (
       select record_key, ${['record_key as key', fold.byValidator ? 'validator' : '0 as validator', ...selected].join()}
       from (${inner.sql}) as grains group by ${keys.join()}
     ) as records order by ${order.by} limit ? offset ?`,
    [...inner.values, order.limit, order.offset ?? 0],
    listsOf(fold),
  ) as Promise<(KeyRow & Record<F, Cell>)[]>
}

interface Sql {
  readonly sql: string
  readonly values: readonly Cell[]
}

const isHourly = (fold: Fold): boolean => fold.grain === 'hour' || fold.grain === 'utcHour'

const listsOf = (fold: Fold) => ({ who: fold.who, ...fold.windows.sql.lists })

/** The keys of all records. Day rows are unique already, so a record per validator and day needs no grouping. */
function keysSql(fold: Fold): Sql {
  const inner = rowsSql(fold, ['day'])
  if (fold.byValidator && fold.windows.sql.key === 'day') {
    return { ...inner, sql: `select record_key, validator from (${inner.sql}) as grains` }
  }
  const [columns, grouping] = fold.byValidator
    ? ['record_key, validator', 'record_key, validator']
    : ['record_key, 0 as validator', 'record_key']
  return { ...inner, sql: `select ${columns} from (${inner.sql}) as grains group by ${grouping}` }
}

/** Grains with the number of their window, without those that come before the page. */
function rowsSql(fold: Fold, columns: readonly string[]): Sql {
  const grains = grainsSql(
    fold,
    columns.filter((column) => column !== 'hour' && column !== 'day'),
  )
  const { key, join } = fold.windows.sql
  const rows = `select ${key} as record_key, validator, ${columns.join()} from (${grains.sql}) as days ${join}`
  if (!fold.after) return { sql: rows, values: grains.values }
  return {
    sql: `select * from (${rows}) as placed where record_key < ? or validator > ?`,
    values: [...grains.values, fold.after.key, fold.after.validator],
  }
}

const chosen = 'validator in (select id from {who})'
const sumOf = (columns: readonly string[]) =>
  columns.map((column) => `, cast(sum(${column}) as bigint) as ${column}`).join('')
const plain = (columns: readonly string[]) => columns.map((column) => `, ${column}`).join('')

function grainsSql(fold: Fold, columns: readonly string[]): Sql {
  const { network, days, hours } = fold
  if (fold.grain === 'utcDay') {
    return {
      sql: `select validator, utc_day as day${plain(columns)} from duty_utc_days
            where network = ? and utc_day >= ? and utc_day < ? and ${chosen}`,
      values: [network, days.from, days.until],
    }
  }
  if (isHourly(fold)) {
    const day = fold.grain === 'hour' ? 'day' : 'utc_day'
    return {
      sql: `select validator, hour, ${day} as day${sumOf(columns)} from duty_hours
            where network = ? and ${day} >= ? and ${day} < ? and ${chosen} group by validator, hour, ${day}`,
      values: [network, days.from, days.until],
    }
  }
  const whole = hours
    ? { from: Math.max(days.from, hours.whole.from), until: Math.min(days.until, hours.whole.until) }
    : days
  const wholeDays: Sql = {
    sql: `select validator, day${plain(columns)} from duty_days
          where network = ? and day >= ? and day < ? and ${chosen}`,
    values: [network, whole.from, whole.until],
  }
  if (!hours) return wholeDays
  return {
    sql: `${wholeDays.sql} union all
          select validator, day${sumOf(columns)} from duty_hours
          where network = ? and hour >= ? and hour < ? and day >= ? and day < ? and (day < ? or day >= ?) and ${chosen}
          group by validator, day`,
    values: [
      ...wholeDays.values,
      network,
      hours.bounds.from,
      hours.bounds.until,
      days.from,
      days.until,
      whole.from,
      whole.until,
    ],
  }
}
