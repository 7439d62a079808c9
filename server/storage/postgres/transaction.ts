// The statements inside a transaction on PostgreSQL.
import type { StateWriter } from '../state.ts'
import type { TransactionGuard } from '../transaction-guard.ts'
import { type PostgresSession, sessionReader } from './session.ts'

/** From this number of rows on, COPY is faster, although it needs three more statements. */
const copyRowsMin = 50

export function createTransaction(session: PostgresSession, guard: TransactionGuard): StateWriter {
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    guard.checkOpen()
    try {
      return await work()
    } catch (error) {
      throw guard.markFailed(error)
    }
  }
  return {
    ...sessionReader((read) => run(() => read(session))),
    run: (sql, ...values) => run(() => session.run(sql, values)),
    /** COPY into a temporary table, then one insert (decisions/load-many-rows-with-copy.md). */
    insertMany: (into, columns, rows, onConflict = '') =>
      run(async () => {
        const list = columns.join(', ')
        if (rows.length < copyRowsMin) {
          const sql = `insert into ${into} (${list}) values (${columns.map(() => '?').join(', ')}) ${onConflict}`
          let changed = 0
          for (const row of rows) changed += await session.run(sql, row)
          return changed
        }
        const stage = `${into}_stage`
        await session.script(
          `create temp table if not exists ${stage} on commit delete rows as select * from ${into} with no data`,
          `delete from ${stage}`,
        )
        await session.copyIn(`copy ${stage} (${list}) from stdin`, rows)
        return session.run(`insert into ${into} (${list}) select ${list} from ${stage} where true ${onConflict}`)
      }),
  }
}
