// Conditions on rows of `market_list`, as parts of statements.
import type { Value } from '#storage/state.ts'
import type { KeyFilter, ListKind } from './list-query.ts'

export interface Condition {
  readonly sql: string
  readonly values: readonly Value[]
}

export const placeholders = (values: readonly unknown[]): string => values.map(() => '?').join()

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
