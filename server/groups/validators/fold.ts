// The questions that 4.5 and 4.6 put to the facts store. The store folds, page by page: a pool may hold 10 000
// validators over years, a page holds at most 1 000 records.
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { Cell, Facts } from '#store/facts.ts'
import { measures } from './measures.ts'
import { grainScores } from './method.ts'
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
  /** Aborts when nobody waits for the records any more. */
  readonly signal?: AbortSignal | undefined
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

export async function countRecords(facts: Facts, fold: Fold): Promise<number> {
  const now = await facts.now(fold.signal)
  const inner = keysSql(fold)
  const [row] = await now.query<{ total: number }>(
    `select count(*) as total from (${inner.sql}) as records`,
    inner.values,
    listsOf(fold),
  )
  return row?.total ?? 0
}

export async function firstKeys(facts: Facts, fold: Fold, count: number): Promise<KeyRow[]> {
  const now = await facts.now(fold.signal)
  const inner = keysSql(fold)
  return now.query<KeyRow>(
    `select record_key as key, validator from (${inner.sql}) as records order by ${newestFirst(count).by} limit ?`,
    [...inner.values, count],
    listsOf(fold),
  )
}

/**
 * Each field's SQL over the record's sums and mean scores (method.ts); also `first_day` and, of hours, `first_hour`. Only the
 * columns that it needs are read, and each is added up once: engines take longer to plan a wide statement than to read a year.
 */
export async function foldRecords<F extends string>(
  facts: Facts,
  fold: Fold,
  fields: Readonly<Record<F, string>>,
  order: Order,
): Promise<Folded<F>[]> {
  const now = await facts.now(fold.signal)
  const { sql, values } = recordsSql(fold, fields)
  const page = [order.limit, order.offset ?? 0]
  return now.query(`${sql} order by ${order.by} limit ? offset ?`, [...values, ...page], listsOf(fold))
}

/** Every record, newest window first. A page that can hold them all is put in order here: planning a sort takes longer. */
export async function foldAll<F extends string>(
  facts: Facts,
  fold: Fold & { readonly byValidator: false },
  fields: Readonly<Record<F, string>>,
): Promise<Folded<F>[]> {
  const now = await facts.now(fold.signal)
  const { sql, values } = recordsSql(fold, fields)
  const rows = await now.query<Folded<F>>(sql, values, listsOf(fold))
  return rows.sort((a, b) => b.key - a.key)
}

type Folded<F extends string> = KeyRow & Record<F, Cell>

function recordsSql(fold: Fold, fields: Readonly<Record<string, string>>): Sql {
  const named = wordsIn(Object.values(fields))
  const scores = Object.entries(grainScores).filter(([name]) => named.has(name))
  const inScores = wordsIn(scores.map(([, sql]) => sql))
  const needed = measures.filter((measure) => named.has(measure) || inScores.has(measure))
  const inner = rowsSql(fold, needed, scores)
  const keys = fold.byValidator ? ['record_key', 'validator'] : ['record_key']
  const folded = [
    ...keys,
    'min(day) as first_day',
    ...(isHourly(fold) ? ['min(hour) as first_hour'] : []),
    ...measures.filter((measure) => named.has(measure)).map((measure) => `sum(${measure}) as ${measure}`),
    ...scores.map(([name]) => `avg(${name}) as ${name}`),
  ]
  const selected = Object.entries(fields).map(([name, sql]) => `${sql} as "${name}"`)
  const shown = ['record_key as key', fold.byValidator ? 'validator' : '0 as validator', ...selected]
  return {
    sql: `select ${shown.join()} from (
            select ${folded.join()} from (${inner.sql}) as grains group by ${keys.join()}
          ) as records`,
    values: inner.values,
  }
}

const wordsIn = (sqls: readonly string[]): Set<string> => new Set(sqls.join(' ').match(/\w+/g))

interface Sql {
  readonly sql: string
  readonly values: readonly Cell[]
}

const isHourly = (fold: Fold): boolean => fold.grain === 'hour' || fold.grain === 'utcHour'

const listsOf = (fold: Fold) => ({ who: fold.who, ...fold.windows.sql.lists })

/** The keys of all records. Grains are unique already, so a record per validator and day needs no grouping. */
function keysSql(fold: Fold): Sql {
  const inner = rowsSql(fold)
  if (fold.byValidator && fold.windows.sql.key === 'day') {
    return { ...inner, sql: `select record_key, validator from (${inner.sql}) as grains` }
  }
  const [columns, grouping] = fold.byValidator
    ? ['record_key, validator', 'record_key, validator']
    : ['record_key, 0 as validator', 'record_key']
  return { ...inner, sql: `select ${columns} from (${inner.sql}) as grains group by ${grouping}` }
}

/** Grains with the number of their window, without those that come before the page. */
function rowsSql(
  fold: Fold,
  columns: readonly string[] = [],
  scores: readonly (readonly [string, string])[] = [],
): Sql {
  const grains = grainsSql(fold, columns)
  const { key, join } = fold.windows.sql
  const plain = ['validator', 'day', ...(isHourly(fold) ? ['hour'] : []), ...columns]
  const made = [[key, 'record_key'], ...scores.map(([name, sql]) => [sql, name])]
  const shown = [...made.map(([sql, name]) => `${sql} as ${name}`), ...plain]
  const rows = `select ${shown.join()} from (${grains.sql}) as days ${join}`
  if (!fold.after) return { sql: rows, values: grains.values }
  const names = [...made.map(([, name]) => name), ...plain]
  return {
    sql: `select ${names.join()} from (${rows}) as placed where record_key < ? or validator > ?`,
    values: [...grains.values, fold.after.key, fold.after.validator],
  }
}

/** The last condition of each part. One alone needs no list, which engines take longer to plan than to read its rows. */
const chosen = ({ who }: Fold): Sql =>
  who.length === 1 ? { sql: 'validator = ?', values: who } : { sql: 'validator in (select id from {who})', values: [] }
const sumOf = (columns: readonly string[]) =>
  columns.map((column) => `, cast(sum(${column}) as bigint) as ${column}`).join('')
const asTheyAre = (columns: readonly string[]) => columns.map((column) => `, ${column}`).join('')
function daysSql(fold: Fold, table: string, day: string, { from, until }: Range, columns: readonly string[]): Sql {
  const who = chosen(fold)
  return {
    sql: `select validator, ${day === 'day' ? day : `${day} as day`}${asTheyAre(columns)} from ${table}
          where network = ? and ${day} >= ? and ${day} < ? and ${who.sql}`,
    values: [fold.network, from, until, ...who.values],
  }
}

function grainsSql(fold: Fold, columns: readonly string[]): Sql {
  const { network, days, hours } = fold
  const who = chosen(fold)
  if (fold.grain === 'utcDay') return daysSql(fold, 'duty_utc_days', 'utc_day', days, columns)
  if (isHourly(fold)) {
    const day = fold.grain === 'hour' ? 'day' : 'utc_day'
    return {
      sql: `select validator, hour, ${day} as day${sumOf(columns)} from duty_hours
            where network = ? and ${day} >= ? and ${day} < ? and ${who.sql} group by validator, hour, ${day}`,
      values: [network, days.from, days.until, ...who.values],
    }
  }
  const whole = hours
    ? { from: Math.max(days.from, hours.whole.from), until: Math.min(days.until, hours.whole.until) }
    : days
  const wholeDays = daysSql(fold, 'duty_days', 'day', whole, columns)
  if (!hours) return wholeDays
  return {
    sql: `${wholeDays.sql} union all
          select validator, day${sumOf(columns)} from duty_hours
          where network = ? and hour >= ? and hour < ? and day >= ? and day < ? and (day < ? or day >= ?) and ${who.sql}
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
      ...who.values,
    ],
  }
}
