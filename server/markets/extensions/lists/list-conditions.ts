// Conditions on rows of `market_list`, as parts of statements.
import type { Value } from '#storage/state.ts'
import { noValue } from '../../write/list-rows.ts'
import type { KeyFilter, ListKind, ListQuery, ValueRange } from './list-query.ts'

export interface Condition {
  readonly sql: string
  readonly values: readonly Value[]
}

export const placeholders = (values: readonly unknown[]): string => values.map(() => '?').join()

export function rangeConditions(ranges: readonly ValueRange[]): Condition[] {
  return ranges.flatMap(({ column, min, max }) => [
    ...(min === undefined ? [] : [{ sql: `${column} >= ?`, values: [min] }]),
    ...(max === undefined ? [] : [{ sql: `${column} <= ? and ${column} > ?`, values: [max, noValue] }]),
  ])
}

export function flagConditions({ flags = {} }: ListQuery): Condition[] {
  return Object.entries(flags).flatMap(([column, value]) =>
    value === undefined ? [] : [{ sql: `${column} = ?`, values: [Number(value)] }],
  )
}

export const joinConditions = (conditions: readonly Condition[]): Condition => ({
  sql: conditions.map(({ sql }) => ` and ${sql}`).join(''),
  values: conditions.flatMap(({ values }) => values),
})

export const inList = (column: string, values: readonly string[]): Condition =>
  values.length === 0 ? { sql: '1 = 0', values } : { sql: `${column} in (${placeholders(values)})`, values }

/** The ids of the records that have one of the values of a key. */
export const selectByKey = (kind: ListKind, { name, values }: KeyFilter): Condition => {
  const isOne = inList('value', values)
  return {
    sql: `select id from market_keys where kind = ? and name = ? and ${isOne.sql}`,
    values: [kind, name, ...values],
  }
}
