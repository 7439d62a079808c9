// The connections with which a process writes to PostgreSQL. A transaction takes one and gives it back. A few idle ones are
// kept for the next transaction of any writer.
import { closedFault } from '../write-queue.ts'
import type { PostgresAddress } from './address.ts'
import { PostgresSession } from './session.ts'

const idleMax = 3

export class WriteSessions {
  readonly #address: PostgresAddress
  readonly #statementMs: number | undefined
  readonly #open = new Set<PostgresSession>()
  readonly #idle: PostgresSession[] = []
  #isClosed = false

  /** `statementMs`: the limit of a statement (session.ts, 5). */
  constructor(address: PostgresAddress, statementMs: number | undefined) {
    this.#address = address
    this.#statementMs = statementMs
  }

  async use<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    const session = this.#takeIdle() ?? (await this.#openNew())
    try {
      return await work(session)
    } finally {
      this.#giveBack(session)
    }
  }

  /** Closes all connections, after the server was found dead. */
  dropConnections(): void {
    for (const session of this.#open) void session.close()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(Array.from(this.#open, (session) => session.close()))
  }

  #takeIdle(): PostgresSession | undefined {
    if (this.#isClosed) throw closedFault(this.#address.name)
    for (let session = this.#idle.pop(); session; session = this.#idle.pop()) {
      if (!session.lost && !session.shouldReplace) return session
      this.#remove(session)
    }
    return undefined
  }

  async #openNew(): Promise<PostgresSession> {
    const session = await PostgresSession.open(this.#address, 'write', this.#statementMs)
    this.#open.add(session)
    return session
  }

  #giveBack(session: PostgresSession): void {
    if (session.lost || this.#isClosed || this.#idle.length >= idleMax) this.#remove(session)
    else this.#idle.push(session)
  }

  #remove(session: PostgresSession): void {
    this.#open.delete(session)
    void session.close()
  }
}
