// Iterations over results that may not fit in memory, on PostgreSQL. Each has its own connection and snapshot, and reads its
// rows from a cursor.
import type { Row, Value } from '../state.ts'
import { closedFault, iterationsMax, tooManyIterations } from '../write-queue.ts'
import type { PostgresAddress } from './address.ts'
import { explainPostgresError } from './errors.ts'
import { createOutageRetry, type OutageRetry } from './outage.ts'
import { PostgresSession } from './session.ts'

const rowsPerFetch = 1000

export class Iterations {
  readonly #address: PostgresAddress
  readonly #retry: OutageRetry
  readonly #sessions = new Set<PostgresSession>()
  #isClosed = false

  constructor(address: PostgresAddress, waitMs: number) {
    this.#address = address
    this.#retry = createOutageRetry(waitMs)
  }

  async *each<R = Row>(sql: string, values: readonly Value[]): AsyncGenerator<R> {
    if (this.#isClosed) throw closedFault(this.#address.name)
    if (this.#sessions.size >= iterationsMax) throw tooManyIterations(this.#address.name)
    let session: PostgresSession | undefined
    try {
      session = await this.#retry(() => PostgresSession.open(this.#address, 'walk'))
      this.#sessions.add(session)
      await session.begin('')
      await session.run(`declare walk no scroll cursor for ${sql}`, values)
      for (;;) {
        const rows = await session.rows<R>(`fetch ${rowsPerFetch} from walk`)
        yield* rows
        if (rows.length < rowsPerFetch) return
      }
    } catch (error) {
      throw explainPostgresError(error, this.#address.name)
    } finally {
      if (session) this.#sessions.delete(session)
      await session?.close()
    }
  }

  /** Closes all connections, after the server was found dead. */
  dropConnections(): void {
    for (const session of this.#sessions) void session.close()
  }

  /** Ends all iterations. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const session of this.#sessions) await session.close()
  }
}
