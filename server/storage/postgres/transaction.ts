// The statements inside a transaction on PostgreSQL. Many rows are one statement (row-arrays.ts).
import type { StateWriter, Value } from '../state.ts'
import { groupOfTable, groupsWrittenBy, type TableGroup } from '../table-groups.ts'
import type { TransactionGuard } from '../transaction-guard.ts'
import { type RowArrays, toRowArrays } from './row-arrays.ts'
import { type PostgresSession, sessionReader } from './session.ts'

/** Adds the groups of tables that it changes to `changed`. */
export function createTransaction(
  session: PostgresSession,
  guard: TransactionGuard,
  changed: Set<TableGroup>,
): StateWriter {
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    guard.checkOpen()
    try {
      return await work()
    } catch (error) {
      throw guard.markFailed(error)
    }
  }
  const note = (groups: readonly TableGroup[]): void => {
    for (const group of groups) changed.add(group)
  }
  const runEach = (table: string, arrays: Iterable<RowArrays>, sqlOf: (rows: RowArrays) => string): Promise<number> =>
    run(async () => {
      let count = 0
      for (const rows of arrays) count += await session.run(sqlOf(rows), rows.values)
      if (count > 0) note([groupOfTable(table)])
      return count
    })
  const reader = sessionReader((read) => run(() => read(session)))
  return {
    get: <R>(sql: string, ...values: Value[]) => {
      note(groupsWrittenBy(sql))
      return reader.get<R>(sql, ...values)
    },
    all: <R>(sql: string, ...values: Value[]) => {
      note(groupsWrittenBy(sql))
      return reader.all<R>(sql, ...values)
    },
    run: (sql, ...values) =>
      run(async () => {
        const count = await session.run(sql, values)
        const groups = groupsWrittenBy(sql)
        if (count > 0 || groups.includes('other')) note(groups)
        return count
      }),
    insertMany: (into, columns, rows, end = '') =>
      runEach(
        into,
        toRowArrays('new', columns, rows),
        ({ unnested, selected }) =>
          `insert into ${into} (${columns.join(', ')}) select ${selected.join(', ')} from ${unnested} ${end}`,
      ),
    updateMany: (table, key, columns, rows) =>
      runEach(table, toRowArrays('new', [...key, ...columns], rows), ({ unnested, selected }) => {
        const set = columns.map((column, at) => `${column} = ${selected[key.length + at]}`)
        return `update ${table} set ${set.join(', ')} from ${unnested} where ${isSame(table, key, 'new')}`
      }),
    deleteMany: (from, key, rows) =>
      runEach(
        from,
        toRowArrays('old', key, rows),
        ({ unnested }) => `delete from ${from} using ${unnested} where ${isSame(from, key, 'old')}`,
      ),
  }
}

const isSame = (table: string, key: readonly string[], rows: string): string =>
  key.map((column) => `${table}.${column} = ${rows}.${column}`).join(' and ')
