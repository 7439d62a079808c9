// The statements inside a transaction on PostgreSQL.
import type { Row, StateWriter, Value } from '../state.ts'
import type { TransactionGuard } from '../transaction-guard.ts'
import type { PostgresSession } from './session.ts'

/** From this number of rows on, COPY is faster, although it needs three more statements. */
const copyRowsMin = 50

export class PostgresTransaction implements StateWriter {
  readonly #session: PostgresSession
  readonly #guard: TransactionGuard

  constructor(session: PostgresSession, guard: TransactionGuard) {
    this.#session = session
    this.#guard = guard
  }

  get<R = Row>(sql: string, ...values: Value[]): Promise<R | undefined> {
    return this.#do(async (session) => (await session.rows<R>(sql, values))[0])
  }

  all<R = Row>(sql: string, ...values: Value[]): Promise<R[]> {
    return this.#do((session) => session.rows<R>(sql, values))
  }

  run(sql: string, ...values: Value[]): Promise<number> {
    return this.#do((session) => session.run(sql, values))
  }

  /** COPY into a temporary table, then one insert (decisions/load-many-rows-with-copy.md). */
  insertMany(
    into: string,
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
    onConflict = '',
  ): Promise<number> {
    return this.#do(async (session) => {
      const list = columns.join(', ')
      if (rows.length < copyRowsMin) {
        const sql = `insert into ${into} (${list}) values (${columns.map(() => '?').join(', ')}) ${onConflict}`
        let changed = 0
        for (const row of rows) changed += await session.run(sql, row)
        return changed
      }
      const stage = `${into}_stage`
      await session.script(
        `create temp table if not exists ${stage} on commit delete rows as select ${list} from ${into} with no data`,
        `delete from ${stage}`,
      )
      await session.copyIn(`copy ${stage} (${list}) from stdin`, rows)
      return session.run(`insert into ${into} (${list}) select ${list} from ${stage} where true ${onConflict}`)
    })
  }

  async #do<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    this.#guard.checkOpen()
    try {
      return await work(this.#session)
    } catch (error) {
      throw this.#guard.markFailed(error)
    }
  }
}
