// The statements inside a transaction on PostgreSQL. Many rows are one statement (row-arrays.ts).
import type { StateWriter } from '../state.ts'
import type { TransactionGuard } from '../transaction-guard.ts'
import { type RowArrays, toRowArrays } from './row-arrays.ts'
import { type PostgresSession, sessionReader } from './session.ts'

export function createTransaction(session: PostgresSession, guard: TransactionGuard): StateWriter {
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    guard.checkOpen()
    try {
      return await work()
    } catch (error) {
      throw guard.markFailed(error)
    }
  }
  const runEach = (arrays: Iterable<RowArrays>, sqlOf: (rows: RowArrays) => string): Promise<number> =>
    run(async () => {
      let changed = 0
      for (const rows of arrays) changed += await session.run(sqlOf(rows), rows.values)
      return changed
    })
  return {
    ...sessionReader((read) => run(() => read(session))),
    run: (sql, ...values) => run(() => session.run(sql, values)),
    insertMany: (into, columns, rows, end = '') =>
      runEach(
        toRowArrays('new', columns, rows),
        ({ unnested, selected }) =>
          `insert into ${into} (${columns.join(', ')}) select ${selected.join(', ')} from ${unnested} ${end}`,
      ),
    updateMany: (table, key, columns, rows) =>
      runEach(toRowArrays('new', [...key, ...columns], rows), ({ unnested, selected }) => {
        const set = columns.map((column, at) => `${column} = ${selected[key.length + at]}`)
        return `update ${table} set ${set.join(', ')} from ${unnested} where ${isSame(table, key, 'new')}`
      }),
    deleteMany: (from, key, rows) =>
      runEach(
        toRowArrays('old', key, rows),
        ({ unnested }) => `delete from ${from} using ${unnested} where ${isSame(from, key, 'old')}`,
      ),
  }
}

const isSame = (table: string, key: readonly string[], rows: string): string =>
  key.map((column) => `${table}.${column} = ${rows}.${column}`).join(' and ')
